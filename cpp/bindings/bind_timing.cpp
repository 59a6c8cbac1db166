// What dvm.profile reads of simulated targets: Programs in time, and graphs that are fused
// otherwise.
#include <pybind11/stl.h>

#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "bindings/bindings.h"
#include "bindings/simulated.h"
#include "core/error.h"
#include "driver/variants.h"
#include "sim/timing/timing.h"
#include "sim/timing/trace.h"
#include "vm/target/launch_words.h"
#include "vm/target/pace.h"

namespace py = pybind11;

namespace dvm::bindings {

const vm::TargetTraits& simulated_target(const std::string& name) {
  const vm::TargetTraits* found = vm::find_target(name);
  if (found == nullptr) {
    core::fail(core::ErrorCode::unknown_target, "no target is named '" + name + "'");
  }
  if (!found->flags) {
    core::fail(core::ErrorCode::unsupported, "target " + name + " is not simulated");
  }
  return *found;
}

vm::TileRequest tile_request(const py::tuple& tile) {
  vm::TileRequest request;
  if (tile.size() == 2) {
    request.split = tile[0].cast<int>();
    request.tile = tile[1].cast<int64_t>();
  } else {
    request.m = tile[1].cast<int64_t>();
    request.n = tile[2].cast<int64_t>();
  }
  return request;
}

py::tuple encoded_tuple(const driver::EncodedRegion& encoded) {
  py::list programs, tilings;
  for (const std::vector<uint64_t>& words : encoded.programs) {
    std::vector<int64_t> buffers(vm::view_launch(words, false).program.globals().size());
    std::iota(buffers.begin(), buffers.end(), 0);
    programs.append(
        py::make_tuple(bytes_of(words.data(), words.size() * sizeof(uint64_t)), buffers));
  }
  if (encoded.cube) {
    py::dict dict;
    dict["split"] = py::none();
    dict["tile"] = std::vector<int64_t>{encoded.cube->m, encoded.cube->n, encoded.cube->k};
    tilings.append(dict);
  }
  for (const vm::Tiling& tiling : encoded.tilings) {
    py::dict dict;
    const auto rank = static_cast<size_t>(tiling.rank);
    dict["sizes"] = std::vector<int64_t>(tiling.sizes, tiling.sizes + rank);
    dict["tile"] = std::vector<int64_t>(tiling.tile, tiling.tile + rank);
    dict["split"] = tiling.split;
    dict["tiles"] = tiling.tile_count;
    dict["elements"] = tiling.tile_elements;
    tilings.append(dict);
  }
  return py::make_tuple(programs, tilings);
}

namespace {

using ProgramBytes = std::pair<std::string, std::vector<int64_t>>;  // and its buffers
using Timings = std::map<std::string, double>;                      // overridden, by name

std::vector<uint64_t> verified_words(const std::string& bytes) {
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  if (bytes.size() % sizeof(uint64_t) != 0) {
    core::fail(core::ErrorCode::bytecode_truncated,
               std::to_string(bytes.size()) + " bytes are not whole 64-bit words");
  }
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

vm::CoreTiming timing_of(const std::string& target, const Timings& overrides) {
  vm::CoreTiming timing = vm::core_timing(simulated_target(target).name);
  for (const auto& [name, value] : overrides) vm::set_timing(timing, name, value);
  return timing;
}

// One array of a member of all items, for numpy.frombuffer.
template <typename To, typename Item, typename Get>
py::bytes column(const std::vector<Item>& items, Get get) {
  std::vector<To> values;
  values.reserve(items.size());
  for (const Item& item : items) values.push_back(static_cast<To>(get(item)));
  return bytes_of(values.data(), values.size() * sizeof(To));
}

std::string wait_name(size_t wait) {
  if (wait < vm::kPipeCount) return std::string(to_string(static_cast<vm::Pipe>(wait)));
  static constexpr const char* kNames[] = {"decode", "result", "room", "done"};
  return kNames[wait - vm::kPipeCount];
}

py::dict pipe_dict(const sim::PipeTimes& pipe) {
  py::dict dict, waits;
  for (size_t w = 0; w < sim::kWaits; ++w) {
    if (pipe.waits[w] > 0) waits[py::str(wait_name(w))] = pipe.waits[w];
  }
  dict["busy"] = pipe.busy;
  dict["waits"] = waits;
  dict["slowed_by_l2"] = pipe.slowed_by_l2;
  dict["slowed_by_hbm"] = pipe.slowed_by_hbm;
  dict["operations"] = pipe.operations;
  dict["bytes"] = pipe.bytes;
  return dict;
}

py::dict events_dict(const sim::ProgramTiming& timing) {
  py::dict dict;
  const auto& events = timing.events;
  dict["core"] = column<int32_t>(events, [](const auto& e) { return e.core; });
  dict["pipe"] = column<int32_t>(events, [](const auto& e) { return static_cast<int>(e.pipe); });
  dict["insn"] = column<int32_t>(events, [](const auto& e) { return e.insn; });
  dict["waits"] = column<int32_t>(events, [](const auto& e) { return e.waits; });
  dict["tile"] = column<int64_t>(events, [](const auto& e) { return e.tile; });
  dict["begin"] = column<double>(events, [](const auto& e) { return e.begin; });
  dict["end"] = column<double>(events, [](const auto& e) { return e.end; });
  dict["done"] = column<double>(events, [](const auto& e) { return e.done; });
  return dict;
}

py::dict flags_dict(const sim::ProgramTiming& timing) {
  py::dict dict;
  const auto& flags = timing.flags;
  dict["core"] = column<int32_t>(flags, [](const auto& f) { return f.core; });
  dict["src"] = column<int32_t>(flags, [](const auto& f) { return static_cast<int>(f.src); });
  dict["dst"] = column<int32_t>(flags, [](const auto& f) { return static_cast<int>(f.dst); });
  dict["event"] = column<int32_t>(flags, [](const auto& f) { return f.event; });
  dict["set"] = column<double>(flags, [](const auto& f) { return f.set; });
  dict["seen"] = column<double>(flags, [](const auto& f) { return f.seen; });
  return dict;
}

// Which global an instruction moves to or from; -1: it computes.
int64_t global_of(const vm::Program& program, const vm::Instruction& insn) {
  if (info(insn.insn).pipe == vm::Pipe::simd) return -1;
  for (int k = 0; k < insn.operand_count(); ++k) {
    if (is_stream(insn.operands()[k])) return program.stream(insn.operands()[k].index).global;
  }
  return -1;
}

std::string name_of(vm::KernelType type) { return std::string(to_string(type)); }

py::list cores_list(const vm::LaunchView& launch, const sim::ProgramTiming& timing, size_t group) {
  py::list cores;
  for (size_t k = 0; k < timing.cores.size(); ++k) {
    const sim::CoreTimes& core = timing.cores[k];
    py::dict one, pipes;
    for (int p = 0; p < vm::kPipeCount; ++p) {
      pipes[py::str(std::string(to_string(static_cast<vm::Pipe>(p))))] =
          pipe_dict(core.pipes[static_cast<size_t>(p)]);
    }
    const bool leads = k % group == 0;
    one["block"] = k / group;
    one["type"] =
        name_of((leads ? launch.program : launch.followers[0].program).header().kernel_type);
    one["begin"] = core.begin;
    one["end"] = core.end;
    one["pipes"] = pipes;
    cores.append(one);
  }
  return cores;
}

py::list instructions_list(const vm::LaunchView& launch, const sim::ProgramTiming& timing) {
  py::list instructions;
  launch.for_each_program([&](const vm::Program& program) {
    const sim::InstructionIndex index(program);
    for (const vm::Instruction* insn : index.all()) {
      const sim::InstructionTimes& times = timing.instructions[instructions.size()];
      py::dict one;
      one["name"] = std::string(info(insn->insn).name) + "." + std::string(to_string(insn->dtype));
      one["pipe"] = std::string(to_string(info(insn->insn).pipe));
      one["busy"] = times.busy;
      one["waits"] = times.waits;
      one["count"] = times.count;
      one["bytes"] = times.bytes;
      one["global"] = global_of(program, *insn);
      instructions.append(one);
    }
  });
  return instructions;
}

py::dict timing_dict(const vm::LaunchView& launch, const sim::ProgramTiming& timing, bool events) {
  py::dict dict;
  dict["begin"] = timing.begin;
  dict["end"] = timing.end;
  dict["launch"] = timing.launch;
  dict["moved_bytes"] = timing.moved_bytes;
  dict["hbm_bytes"] = timing.hbm_bytes;
  const size_t group = launch.followers.empty() ? 1 : sim::kGroupCores;
  dict["kernel_type"] =
      name_of(group == 1 ? launch.program.header().kernel_type : vm::KernelType::mix);
  size_t bytecode = 0;
  launch.for_each_program([&](const vm::Program& one) { bytecode += one.words().size_bytes(); });
  dict["bytecode_bytes"] = bytecode;
  dict["tiles"] = launch.program.header().tile_count;
  dict["cores"] = cores_list(launch, timing, group);
  dict["instructions"] = instructions_list(launch, timing);
  if (events) {
    dict["events"] = events_dict(timing);
    dict["flags"] = flags_dict(timing);
  }
  return dict;
}

// Within `with Pace(tell):` simulations of this thread are ended by a signal whose handler raises,
// and tell(work, done, total), if it is not None, is called as they go on; what that raises ends
// them, too.
class HeardPace final : public vm::Pace {
 public:
  explicit HeardPace(py::object tell) : tell_(std::move(tell)) {}

  void enter() {
    outer_ = current();
    scope_.emplace(*this);
  }
  void exit() { scope_.reset(); }

  bool goes_on(Work work, int64_t done, int64_t total) override {
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool goes_on = PyErr_CheckSignals() == 0 && tell(work, done, total);
    PyGILState_Release(state);
    return goes_on && (outer_ == nullptr || outer_->goes_on(work, done, total));
  }

 private:
  bool tell(Work work, int64_t done, int64_t total) {
    if (tell_.is_none()) return true;
    try {
      tell_(work == Work::tiles ? "tiles" : "operations", done, total);
      return true;
    } catch (py::error_already_set& error) {
      error.restore();
      return false;
    }
  }

  const py::object tell_;
  Pace* outer_ = nullptr;  // that hears of it, too
  std::optional<Scope> scope_;
};

// `stacked`: the places of those that are part of the launch before them.
py::list time_of_programs(const std::vector<ProgramBytes>& programs, const std::string& target,
                          const Timings& overrides, bool events, bool verified,
                          const std::set<size_t>& stacked) {
  const vm::CoreTiming timing = timing_of(target, overrides);
  std::vector<std::vector<uint64_t>> words;
  std::vector<vm::LaunchView> views;
  std::vector<sim::TimedLaunch> launches;
  views.reserve(programs.size());
  for (const auto& [bytes, buffers] : programs) {
    words.push_back(verified_words(bytes));
    // Those of retile() come from the encoder, and may be for fewer cores than the target has.
    const vm::LaunchView& view = views.emplace_back(vm::view_launch(words.back(), !verified));
    view.for_each_program([&given = buffers](const vm::Program& program) {
      if (given.size() < program.globals().size()) {
        core::fail(core::ErrorCode::wrong_arguments, "a Program has more globals than buffers");
      }
    });
    launches.push_back({.program = view.program,
                        .buffers = buffers,
                        .stacked = stacked.contains(launches.size()),
                        .followers = view.followers,
                        .handed = view.handed});
  }
  std::vector<sim::ProgramTiming> timings;
  HeardPace heard{py::none()};
  if (vm::Pace::current() == nullptr) heard.enter();
  try {
    const py::gil_scoped_release unlocked;
    timings = sim::time_programs(launches, timing, events);
  } catch (const vm::Pace::Stopped&) {
    throw py::error_already_set();
  }
  py::list list;
  for (size_t k = 0; k < launches.size(); ++k) {
    list.append(timing_dict(views[k], timings[k], events));
  }
  return list;
}

py::list timing_table(const std::string& target, const Timings& overrides) {
  const vm::CoreTiming timing = timing_of(target, overrides);
  py::list rows;
  for (const vm::TimingRow& row : vm::timing_rows()) {
    const vm::TimingRow own = vm::timing_row_of(target, row);
    const bool overridden = overrides.contains(std::string(row.name));
    rows.append(py::make_tuple(row.name, timing.*row.value,
                               overridden ? std::string_view("overridden") : own.origin,
                               own.synopsis));
  }
  return rows;
}

using Pairs = driver::Pairs;

py::dict fuse_otherwise(const std::string& graph, const std::string& target,
                        const std::map<std::string, int64_t>& sizes, const Pairs& together,
                        const Pairs& apart, const std::map<size_t, py::tuple>& tiles) {
  driver::Choices choices{together, apart, {}};
  for (const auto& [region, tile] : tiles) choices.tiles[region] = tile_request(tile);
  const driver::Variant variant =
      driver::fuse_otherwise(graph, simulated_target(target).name, sizes, choices);
  py::list regions;
  for (const driver::VariantRegion& region : variant.regions) {
    const py::tuple encoded = encoded_tuple(region.encoded);
    py::dict one;
    one["name"] = region.name;
    one["members"] = region.members;
    one["operands"] = region.operands;
    one["programs"] = encoded[0];
    one["tilings"] = encoded[1];
    one["nanoseconds"] = region.encoded.nanoseconds;
    regions.append(one);
  }
  py::dict dict;
  dict["regions"] = regions;
  dict["assumed"] = variant.assumed;
  dict["nanoseconds"] = variant.nanoseconds;
  return dict;
}

}  // namespace

void bind_timing(py::module_& module) {
  py::class_<HeardPace>(module, "Pace")
      .def(py::init<py::object>(), py::arg("tell"))
      .def("__enter__", &HeardPace::enter)
      .def("__exit__", [](HeardPace& pace, const py::args&) { pace.exit(); });
  module.def("time_programs", time_of_programs, py::arg("programs"), py::arg("target"),
             py::arg("overrides") = Timings{}, py::arg("events") = false,
             py::arg("verified") = false, py::arg("stacked") = std::set<size_t>{});
  module.def("timing_table", timing_table, py::arg("target"), py::arg("overrides") = Timings{});
  module.def("fuse_otherwise", fuse_otherwise, py::arg("graph"), py::arg("target"),
             py::arg("sizes"), py::kw_only(), py::arg("together") = Pairs{},
             py::arg("apart") = Pairs{}, py::arg("tiles") = std::map<size_t, py::tuple>{});
  py::list pipes;
#define DVM_PIPE(name, unit, kernel, synopsis) \
  pipes.append(py::make_tuple(#name, #unit, #kernel, synopsis));
#include "vm/isa/pipes.def"
  module.attr("pipe_table") = pipes;
}

}  // namespace dvm::bindings
