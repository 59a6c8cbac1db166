// Calls that are watched, for dvm.profile.
#include <pybind11/stl.h>

#include <map>
#include <memory>

#include "bindings/bindings.h"
#include "bindings/compiled_type.h"
#include "bindings/reports.h"
#include "bindings/simulated.h"
#include "capture/path/path.h"
#include "core/error.h"
#include "vm/run/count_work.h"
#include "vm/target/launch_words.h"
#include "vm/target/watch.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

// A call and all that a Watch was told of it.
class WatchedCall {
 public:
  WatchedCall(bool keeps, size_t room) : watch_(keeps, room) {}

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

  // After the call: which path and segment each Plan is. A graph is a path.
  void find_plans(std::span<const py::object> graphs) {
    for (size_t p = 0; p < graphs.size(); ++p) {
      const runtime::Plan* plan = plan_of_graph(graphs[p]);
      if (plan == nullptr) plan = plan_of_torch_graph(graphs[p]);
      if (plan == nullptr) throw py::type_error("expected graphs that were compiled");
      add(*plan, p, 0, std::make_shared<py::object>(graphs[p]));
    }
  }
  void find_plans(py::handle f) {
    const auto& paths = compiled_of(f.ptr()).paths();
    for (size_t p = 0; p < paths.size(); ++p) {
      for (size_t s = 0; s < paths[p]->segments.size(); ++s) {
        const auto& segment = paths[p]->segments[s];
        if (segment->compilation) add(segment->compilation->graph.plan(), p, s, segment);
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
      dict["name"] = known ? name_of(*found->second.plan, step) : std::string("a plan");
      list.append(dict);
    }
    return list;
  }

  py::list programs() const {
    py::list list;
    for (const vm::Watch::Ran& ran : watch_.programs()) {
      vm::Work work;
      vm::view_launch(ran.words, false).for_each_program([&](const vm::Program& program) {
        const vm::Work own = vm::count_work(program);
        work.operations += own.operations;
        work.bytes += own.bytes;
      });
      list.append(py::make_tuple(ran.label,
                                 bytes_of(ran.words.data(), ran.words.size() * sizeof(uint64_t)),
                                 ran.buffers, work.operations, work.bytes));
    }
    return list;
  }

  // Of the symbols of a graph, and of what its Plan computed of them, by their text.
  std::map<std::string, int64_t> sizes(size_t path, size_t segment) const {
    std::map<std::string, int64_t> known;
    for (const auto& [key, place] : plans_) {
      const std::span<const int64_t> sizes = watch_.sizes(key);
      if (sizes.empty() || place.path != path || place.segment != segment) continue;
      for (size_t k = 0; k < place.plan->code.size(); ++k) {
        const runtime::Instruction& insn = place.plan->code[k];
        if (runtime::info(insn.op).result != runtime::File::i) continue;
        known[place.plan->notes[k]] = sizes[static_cast<size_t>(insn.result)];
      }
    }
    return known;
  }

  // The Programs of a step that is a Region, encoded anew: with another tile of its first Program,
  // for another target, for fewer cores, or with less local memory (0: as the target has it).
  py::tuple retile(size_t label, const std::string& target, const std::optional<py::tuple>& tile,
                   int32_t cores, int64_t local_bytes) const {
    const vm::Watch::Step& step = watch_.steps()[label];
    const auto found = plans_.find(step.plan);
    if (found == plans_.end() || step.region < 0) {
      core::fail(core::ErrorCode::unsupported, "the step is no Region of the function's");
    }
    const vm::Kernel& kernel = found->second.plan->regions[static_cast<size_t>(step.region)].kernel;
    int64_t strides[vm::kMaxGlobals][core::kMaxRank] = {};
    for (size_t k = 0; k < step.strides.size(); ++k) {
      std::copy(step.strides[k].begin(), step.strides[k].end(), strides[k]);
    }
    const vm::Binding binding{step.dims.data(), step.scalars.data(), strides};
    vm::TargetTraits traits = simulated_target(target);
    if (cores != 0) {
      traits.cores = cores;
      traits.cubes = std::max(1, cores / 2);
    }
    if (local_bytes != 0) traits.local_bytes = local_bytes;
    std::optional<vm::TileRequest> request;
    if (tile) request = tile_request(*tile);
    return encoded_tuple(driver::encode_region(kernel, binding, traits, request));
  }

 private:
  struct Place {
    size_t path, segment;
    const runtime::Plan* plan;
    std::shared_ptr<const void> owner;  // keeps the Plan
  };
  void add(const runtime::Plan& plan, size_t path, size_t segment,
           std::shared_ptr<const void> owner) {
    plans_.try_emplace(&plan, Place{path, segment, &plan, std::move(owner)});
  }

  static std::string name_of(const runtime::Plan& plan, const vm::Watch::Step& step) {
    const runtime::Instruction& insn = plan.code[static_cast<size_t>(step.instruction)];
    const int32_t first = plan.pool[insn.operands];
    switch (insn.op) {
      case runtime::PlanOp::run:
        return plan.regions[static_cast<size_t>(first)].region.name;
      case runtime::PlanOp::call:
      case runtime::PlanOp::call_fresh:
      case runtime::PlanOp::call_into:
        return plan.callees[static_cast<size_t>(first)];
      default:
        return std::string(core::info(static_cast<core::Op>(first)).name);
    }
  }

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
           py::arg("tile") = py::none(), py::arg("cores") = 0, py::arg("local_bytes") = 0)
      .def("sizes", &WatchedCall::sizes, py::arg("path"), py::arg("segment"));
  // (value, WatchedCall) of calling a compiled function, or what calls the graphs; `keeps`: with
  // its Programs and sizes; `room`: for so many spans.
  module.def("watch_call", [](py::handle f, const std::vector<py::object>& graphs, bool keeps,
                              size_t room, const py::args& args, const py::kwargs& kwargs) {
    auto watched = std::make_unique<WatchedCall>(keeps, room);
    py::object value = watched->call(f, args, kwargs);
    watched->find_plans(graphs);
    if (is_compiled(f.ptr())) watched->find_plans(f);
    return py::make_tuple(value, std::move(watched));
  });
}

}  // namespace dvm::bindings
