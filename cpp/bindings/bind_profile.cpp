// What dvm.profile reads: calls that are watched, and Programs in simulated time.
#include <pybind11/stl.h>

#include <cstring>
#include <map>
#include <memory>

#include "bindings/bindings.h"
#include "bindings/compiled_type.h"
#include "capture/path/path.h"
#include "core/error.h"
#include "sim/timing/timing.h"
#include "sim/timing/trace.h"
#include "vm/encode/encode.h"
#include "vm/run/count_work.h"
#include "vm/target/watch.h"
#include "vm/tile/tiler.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using ProgramBytes = std::pair<std::string, std::vector<int64_t>>;  // and its buffers
using Timings = std::map<std::string, double>;                      // overridden, by name

py::bytes bytes_of(const void* data, size_t size) { return {static_cast<const char*>(data), size}; }

std::vector<uint64_t> verified_words(const std::string& bytes) {
  std::vector<uint64_t> words(bytes.size() / sizeof(uint64_t));
  if (bytes.size() % sizeof(uint64_t) != 0) {
    core::fail(core::ErrorCode::bytecode_truncated,
               std::to_string(bytes.size()) + " bytes are not whole 64-bit words");
  }
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

const vm::TargetTraits& simulated(const std::string& name) {
  const vm::TargetTraits* found = vm::find_target(name);
  if (found == nullptr) {
    core::fail(core::ErrorCode::unknown_target, "no target is named '" + name + "'");
  }
  if (!found->flags) {
    core::fail(core::ErrorCode::unsupported, "target " + name + " is not simulated");
  }
  return *found;
}

vm::CoreTiming timing_of(const std::string& target, const Timings& overrides) {
  vm::CoreTiming timing = vm::core_timing(simulated(target).name);
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

py::dict timing_dict(const vm::Program& program, const sim::ProgramTiming& timing, bool events) {
  py::dict dict;
  dict["begin"] = timing.begin;
  dict["end"] = timing.end;
  dict["launch"] = timing.launch;
  dict["moved_bytes"] = timing.moved_bytes;
  dict["hbm_bytes"] = timing.hbm_bytes;
  dict["kernel_type"] = std::string(to_string(program.header().kernel_type));
  dict["bytecode_bytes"] = program.words().size_bytes();
  dict["tiles"] = program.header().tile_count;
  py::list cores;
  for (const sim::CoreTimes& core : timing.cores) {
    py::dict one, pipes;
    for (int p = 0; p < vm::kPipeCount; ++p) {
      pipes[py::str(std::string(to_string(static_cast<vm::Pipe>(p))))] =
          pipe_dict(core.pipes[static_cast<size_t>(p)]);
    }
    one["begin"] = core.begin;
    one["end"] = core.end;
    one["pipes"] = pipes;
    cores.append(one);
  }
  dict["cores"] = cores;
  py::list instructions;
  const sim::InstructionIndex index(program);
  for (size_t k = 0; k < index.all().size(); ++k) {
    const vm::Instruction& insn = *index.all()[k];
    const sim::InstructionTimes& times = timing.instructions[k];
    py::dict one;
    one["name"] = std::string(info(insn.insn).name) + "." + std::string(to_string(insn.dtype));
    one["pipe"] = std::string(to_string(info(insn.insn).pipe));
    one["busy"] = times.busy;
    one["waits"] = times.waits;
    one["count"] = times.count;
    one["bytes"] = times.bytes;
    instructions.append(one);
  }
  dict["instructions"] = instructions;
  if (events) {
    dict["events"] = events_dict(timing);
    dict["flags"] = flags_dict(timing);
  }
  return dict;
}

py::list time_of_programs(const std::vector<ProgramBytes>& programs, const std::string& target,
                          const Timings& overrides, bool events, bool verified) {
  const vm::CoreTiming timing = timing_of(target, overrides);
  std::vector<std::vector<uint64_t>> words;
  std::vector<sim::TimedLaunch> launches;
  for (const auto& [bytes, buffers] : programs) {
    words.push_back(verified_words(bytes));
    // Those of retile() come from the encoder, and may be for fewer cores than the target has.
    if (!verified) vm::verify(words.back());
    const vm::Program program(words.back());
    if (buffers.size() < program.globals().size()) {
      core::fail(core::ErrorCode::wrong_arguments, "a Program has more globals than buffers");
    }
    launches.push_back({program, buffers});
  }
  std::vector<sim::ProgramTiming> timings;
  {
    const py::gil_scoped_release unlocked;
    timings = sim::time_programs(launches, timing, events);
  }
  py::list list;
  for (size_t k = 0; k < launches.size(); ++k) {
    list.append(timing_dict(launches[k].program, timings[k], events));
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

// A call and all that a Watch was told of it.
class WatchedCall {
 public:
  WatchedCall(const capture::CompiledFunction& function, bool keeps, size_t room)
      : function_(function), watch_(keeps, room) {}

  py::object call(py::handle f, const py::args& args, const py::kwargs& kwargs) {
    struct Watching {
      vm::Watch* before = vm::Watch::current();
      explicit Watching(vm::Watch* watch) { vm::Watch::set(watch); }
      ~Watching() { vm::Watch::set(before); }
    };
    const Watching watching(&watch_);
    begin_ = vm::Watch::now();
    py::object value = f(*args, **kwargs);
    end_ = vm::Watch::now();
    return value;
  }

  // After the call: which path and segment each Plan is.
  void find_plans() {
    const auto& paths = function_.paths();
    for (size_t p = 0; p < paths.size(); ++p) {
      for (size_t s = 0; s < paths[p]->segments.size(); ++s) {
        const auto& segment = paths[p]->segments[s];
        if (!segment->compilation) continue;
        plans_.try_emplace(&segment->compilation->graph.plan(), Place{p, s, segment});
      }
    }
  }

  int64_t wall() const { return end_ - begin_; }
  size_t lost() const { return watch_.lost(); }

  py::list spans() const {
    static constexpr const char* kNames[] = {"plan", "step", "encode", "launch", "tiles", "opaque"};
    py::list list;
    for (const vm::Watch::Span& span : watch_.spans()) {
      list.append(py::make_tuple(kNames[static_cast<size_t>(span.what)], span.label, span.thread,
                                 span.begin - begin_, span.end - begin_, span.tiles));
    }
    return list;
  }

  py::list steps() const {
    py::list list;
    for (const vm::Watch::Step& step : watch_.steps()) {
      py::dict dict;
      const auto found = plans_.find(step.plan);
      const bool known = found != plans_.end();
      dict["path"] = known ? static_cast<int64_t>(found->second.path) : -1;
      dict["segment"] = known ? static_cast<int64_t>(found->second.segment) : -1;
      dict["region"] = step.region;
      dict["name"] = known ? name_of(plan_of(found->second), step) : std::string("a plan");
      list.append(dict);
    }
    return list;
  }

  py::list programs() const {
    std::map<uintptr_t, int64_t> buffers;
    py::list list;
    for (const vm::Watch::Ran& ran : watch_.programs()) {
      const vm::Work work = vm::count_work(vm::Program(ran.words));
      list.append(py::make_tuple(ran.label,
                                 bytes_of(ran.words.data(), ran.words.size() * sizeof(uint64_t)),
                                 numbered(ran.bases, buffers), work.operations, work.bytes));
    }
    return list;
  }

  // The Programs of a step that is a Region, encoded anew: with another tile of its first Program,
  // for another target, for fewer cores, or with less local memory (0: as the target has it).
  py::tuple retile(size_t label, const std::string& target, std::optional<int> split,
                   std::optional<int64_t> tile, int32_t cores, int64_t local_bytes) const {
    const vm::Watch::Step& step = watch_.steps()[label];
    const auto found = plans_.find(step.plan);
    if (found == plans_.end() || step.region < 0) {
      core::fail(core::ErrorCode::unsupported, "the step is no Region of the function's");
    }
    const vm::Kernel& kernel =
        plan_of(found->second).regions[static_cast<size_t>(step.region)].kernel;
    int64_t strides[vm::kMaxGlobals][core::kMaxRank] = {};
    for (size_t k = 0; k < step.strides.size(); ++k) {
      std::copy(step.strides[k].begin(), step.strides[k].end(), strides[k]);
    }
    const vm::Binding binding{step.dims.data(), step.scalars.data(), strides};
    vm::TargetTraits traits = simulated(target);
    if (cores != 0) {
      traits.cores = cores;
      traits.cubes = std::max(1, cores / 2);
    }
    if (local_bytes != 0) traits.local_bytes = local_bytes;
    vm::TileRequest request;
    if (split) request.split = *split;
    if (tile) request.tile = *tile;
    vm::Arena arena;
    std::vector<vm::Tiling> tilings;
    const vm::Compiled compiled =
        vm::encode(kernel, binding, traits, arena, nullptr, tile ? &request : nullptr, &tilings);
    py::list list, tiles;
    for (int k = 0; k < compiled.stage_count; ++k) {
      const std::span<const uint64_t> words = compiled.stages[k].words();
      std::vector<int64_t> buffers(vm::Program(words).globals().size());
      for (size_t g = 0; g < buffers.size(); ++g) buffers[g] = static_cast<int64_t>(g);
      list.append(py::make_tuple(bytes_of(words.data(), words.size_bytes()), buffers));
    }
    for (const vm::Tiling& tiling : tilings) {
      py::dict dict;
      const auto rank = static_cast<size_t>(tiling.rank);
      dict["sizes"] = std::vector<int64_t>(tiling.sizes, tiling.sizes + rank);
      dict["tile"] = std::vector<int64_t>(tiling.tile, tiling.tile + rank);
      dict["split"] = tiling.split;
      dict["tiles"] = tiling.tile_count;
      dict["elements"] = tiling.tile_elements;
      tiles.append(dict);
    }
    return py::make_tuple(list, tiles);
  }

 private:
  struct Place {
    size_t path, segment;
    std::shared_ptr<capture::Segment> owner;  // keeps the Plan
  };
  static const runtime::Plan& plan_of(const Place& place) {
    return place.owner->compilation->graph.plan();
  }

  static std::string name_of(const runtime::Plan& plan, const vm::Watch::Step& step) {
    const runtime::Instruction& insn = plan.code[static_cast<size_t>(step.instruction)];
    const int32_t first = plan.pool[insn.operands];
    switch (insn.op) {
      case runtime::PlanOp::run:
        return plan.regions[static_cast<size_t>(first)].region.name;
      case runtime::PlanOp::call:
      case runtime::PlanOp::call_into:
        return plan.callees[static_cast<size_t>(first)];
      default:
        return std::string(core::info(static_cast<core::Op>(first)).name);
    }
  }

  static std::vector<int64_t> numbered(const std::vector<uintptr_t>& bases,
                                       std::map<uintptr_t, int64_t>& buffers) {
    std::vector<int64_t> numbers;
    for (const uintptr_t base : bases) {
      const auto next = static_cast<int64_t>(buffers.size());
      numbers.push_back(buffers.try_emplace(base, next).first->second);
    }
    return numbers;
  }

  const capture::CompiledFunction& function_;
  vm::Watch watch_;
  int64_t begin_ = 0, end_ = 0;
  std::map<const void*, Place> plans_;
};

}  // namespace

void bind_profile(py::module_& module) {
  py::class_<WatchedCall>(module, "WatchedCall", "A call of a compiled function, and what it did.")
      .def_property_readonly("wall", &WatchedCall::wall)
      .def_property_readonly("lost", &WatchedCall::lost)
      .def_property_readonly("spans", &WatchedCall::spans)
      .def_property_readonly("steps", &WatchedCall::steps)
      .def_property_readonly("programs", &WatchedCall::programs)
      .def("retile", &WatchedCall::retile, py::arg("label"), py::arg("target"), py::kw_only(),
           py::arg("split") = py::none(), py::arg("tile") = py::none(), py::arg("cores") = 0,
           py::arg("local_bytes") = 0);
  // (value, WatchedCall) of calling a compiled function; `keeps`: with its Programs and sizes;
  // `room`: for so many spans.
  module.def("watch_call", [](py::handle f, bool keeps, size_t room, const py::args& args,
                              const py::kwargs& kwargs) {
    if (!is_compiled(f.ptr())) throw py::type_error("expected a function made by dvm.compile");
    auto watched = std::make_unique<WatchedCall>(compiled_of(f.ptr()), keeps, room);
    py::object value = watched->call(f, args, kwargs);
    watched->find_plans();
    return py::make_tuple(value, std::move(watched));
  });
  module.def("time_programs", time_of_programs, py::arg("programs"), py::arg("target"),
             py::arg("overrides") = Timings{}, py::arg("events") = false,
             py::arg("verified") = false);
  module.def("timing_table", timing_table, py::arg("target"), py::arg("overrides") = Timings{});
  py::list pipes;
#define DVM_PIPE(name, unit, kernel, synopsis) \
  pipes.append(py::make_tuple(#name, #unit, #kernel, synopsis));
#include "vm/isa/pipes.def"
  module.attr("pipe_table") = pipes;
}

}  // namespace dvm::bindings
