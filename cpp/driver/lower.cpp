#include "driver/lower.h"

#include <algorithm>

#include "core/error.h"
#include "driver/sizes.h"

namespace dvm::driver {

namespace {

using core::Op;
using core::OpClass;
using core::Value;
using runtime::PlanOp;
using Registers = std::vector<int32_t>;

class Lowering {
 public:
  Lowering(const core::Graph& graph, fuser::Fusion fusion)
      : graph_(graph),
        fusion_(std::move(fusion)),
        builder_(plan_),
        sizes_(builder_, graph.dims()),
        values_(static_cast<size_t>(graph.size())) {}

  runtime::Plan run() {
    find_lifetimes();
    declare_arguments();
    for (const auto& [a, b] : fusion_.assumed) sizes_.check_equal(a, b, {});
    for (size_t k = 0; k < fusion_.order.size(); ++k) {
      const fuser::Unit& unit = fusion_.order[k];
      if (unit.region >= 0) {
        lower_region(unit.region);
      } else {
        lower_node(unit.node);
      }
      free_after(k);
    }
    Registers results;
    for (Value v : graph_.outputs) results.push_back(at(v).buffer);
    builder_.emit(PlanOp::ret, {results});
    return std::move(plan_);
  }

 private:
  struct Placed {
    int32_t buffer = -1;
    int32_t scalar = -1;   // of an op `scalar`, which may be in a buffer as well
    bool to_host = false;  // roots: leaves the Plan, or is seen by a call
    bool owned = false;    // roots: to be freed after its last use
    size_t last_use = 0;   // roots: position in the order
  };

  Placed& at(Value v) { return values_[static_cast<size_t>(v)]; }
  Value root(Value v) const {
    while (core::op_class(graph_.node(v).op) == OpClass::view) v = graph_.node(v).inputs[0];
    return v;
  }

  void find_lifetimes() {
    for (size_t k = 0; k < fusion_.order.size(); ++k) {
      const fuser::Unit& unit = fusion_.order[k];
      auto use = [&](Value v) { at(root(v)).last_use = k; };
      if (unit.region >= 0) {
        const fuser::FusedRegion& region = fusion_.regions[static_cast<size_t>(unit.region)];
        for (Value v : region.inputs) use(v);
        for (Value v : region.outputs) use(v);
        continue;
      }
      use(unit.node);
      for (Value v : graph_.node(unit.node).inputs) {
        use(v);
        if (graph_.node(unit.node).op == Op::call) at(root(v)).to_host = true;
      }
    }
    for (Value v : graph_.outputs) {
      at(root(v)).to_host = true;
      at(root(v)).last_use = fusion_.order.size();
    }
  }

  void declare_arguments() {
    for (Value v : graph_.inputs()) {
      const core::Type& type = graph_.type(v);
      if (graph_.node(v).op == Op::scalar) {
        at(v).scalar = static_cast<int32_t>(plan_.scalars.size());
        plan_.scalars.push_back(type.dtype);
      } else {
        at(v).buffer = plan_.buffers++;
        plan_.inputs.push_back({type.dtype, type.rank()});
      }
    }
    for (Value v : graph_.inputs()) {
      const core::Node& node = graph_.node(v);
      const std::string note = "%" + std::to_string(v);
      if (node.op == Op::input) {
        sizes_.bind(at(v).buffer, node.type);
      } else if (node.attrs.size) {
        const int32_t number = builder_.emit(PlanOp::number, {at(v).scalar}, note);
        sizes_.define(node.attrs.size, number);
      }
    }
  }

  void lower_region(int index) {
    fuser::FusedRegion& fused = fusion_.regions[static_cast<size_t>(index)];
    const core::Graph& body = fused.region.body;
    check_region(body);
    vm::Kernel kernel = vm::prepare(fused.region);
    Registers inputs, outputs, dims, scalars;
    for (Value v : fused.inputs) inputs.push_back(at(v).buffer);
    for (Value v : fused.scalars) scalars.push_back(at(v).scalar);
    for (core::Dim dim : kernel.dims) dims.push_back(sizes_.value(dim, {}));
    for (Value v : fused.outputs) {
      allocate(v);
      outputs.push_back(at(v).buffer);
    }
    builder_.emit(PlanOp::run, {index, inputs, outputs, dims, scalars});
    plan_.regions.push_back({std::move(fused.region), std::move(kernel)});
  }

  // What the Graph left to run time: do sizes broadcast, and is there a maximum to take?
  void check_region(const core::Graph& body) {
    for (const core::Node& node : body.nodes()) {
      if (node.inputs.empty()) continue;
      const core::Shape& from = body.type(node.inputs[0]).shape;
      if (node.op == Op::broadcast) {
        const size_t lead = node.type.shape.size() - from.size();
        for (size_t d = 0; d < from.size(); ++d) {
          sizes_.check_broadcast(from[d], node.type.shape[lead + d], node.loc);
        }
      }
      if (node.op == Op::max) check_maximum(from, node);
    }
  }

  // No elements have no maximum; NumPy says so even where there is no result to hold one.
  void check_maximum(const core::Shape& from, const core::Node& node) {
    core::Dim reduced = graph_.dims().constant(1);
    for (const int axis : node.attrs.axes) reduced = reduced * from[static_cast<size_t>(axis)];
    sizes_.check_at_least(reduced, graph_.dims().constant(1), node.loc);
  }

  // The result of the Graph that is nothing but another shape of `v`, or -1.
  Value reshaped_result(Value v) const {
    const auto is = [&](Value output) {
      const core::Node& node = graph_.node(output);
      return node.op == Op::reshape && node.inputs[0] == v;
    };
    const auto& outputs = graph_.outputs;
    const auto found = std::find_if(outputs.begin(), outputs.end(), is);
    const bool is_output = std::find(outputs.begin(), outputs.end(), v) != outputs.end();
    return found == outputs.end() || is_output ? -1 : *found;
  }

  void allocate(Value v) {
    const core::Node& node = graph_.node(v);
    const Registers sizes = sizes_.values(node.type.shape, node.loc);
    if (const Value result = reshaped_result(v); result >= 0) {
      // What the program returns owns its memory, so that is allocated and the Region writes it
      // through the view (a sum over an axis, say, whose size 1 the program dropped).
      const core::Type& type = graph_.type(result);
      at(result).buffer =
          builder_.emit(PlanOp::host_alloc, {type.dtype, sizes_.values(type.shape, node.loc)},
                        "%" + std::to_string(result));
      at(v).buffer =
          builder_.emit(PlanOp::reshape, {at(result).buffer, sizes}, "%" + std::to_string(v));
      return;
    }
    const PlanOp op = at(v).to_host ? PlanOp::host_alloc : PlanOp::alloc;
    at(v).buffer = builder_.emit(op, {node.type.dtype, sizes}, "%" + std::to_string(v));
    at(v).owned = true;
  }

  void lower_node(Value v) {
    const core::Node& node = graph_.node(v);
    auto operand = [&](size_t k) { return at(node.inputs[k]).buffer; };
    const std::string note = "%" + std::to_string(v);
    switch (node.op) {
      case Op::transpose:
        at(v).buffer =
            builder_.emit(PlanOp::transpose, {operand(0), Registers(node.attrs.axes)}, note);
        return;
      case Op::reshape:
        if (at(v).buffer >= 0) return;  // a result that its Region has written already
        at(v).buffer = builder_.emit(PlanOp::reshape,
                                     {operand(0), sizes_.values(node.type.shape, node.loc)}, note);
        return;
      case Op::slice: {
        Registers steps;
        for (int64_t step : node.attrs.steps) {
          steps.push_back(sizes_.value(graph_.dims().constant(step), node.loc));
        }
        const Registers starts = sizes_.values(node.attrs.starts, node.loc);
        const Registers counts = sizes_.values(node.type.shape, node.loc);
        at(v).buffer = builder_.emit(PlanOp::slice, {operand(0), starts, steps, counts}, note);
        return;
      }
      case Op::call:
        lower_call(v);
        return;
      default:
        DVM_CHECK(false, "no unit of its own: " + std::string(core::info(node.op).name));
    }
  }

  void lower_call(Value v) {
    const core::Node& node = graph_.node(v);
    Registers arguments;
    for (Value argument : node.inputs) arguments.push_back(at(argument).buffer);
    at(v).buffer = builder_.emit(
        PlanOp::call,
        {builder_.callee(node.attrs.callee), arguments, node.type.dtype, node.type.rank()},
        "%" + std::to_string(v));
    at(v).owned = true;
    sizes_.bind(at(v).buffer, node.type);
  }

  void free_after(size_t k) {
    const fuser::Unit& unit = fusion_.order[k];
    Registers done;
    auto consider = [&](Value v) {
      const Placed& placed = at(root(v));
      if (placed.owned && placed.last_use == k) done.push_back(placed.buffer);
    };
    if (unit.region >= 0) {
      const fuser::FusedRegion& region = fusion_.regions[static_cast<size_t>(unit.region)];
      for (Value v : region.inputs) consider(v);
    } else {
      consider(unit.node);
      for (Value v : graph_.node(unit.node).inputs) consider(v);
    }
    std::sort(done.begin(), done.end());
    done.erase(std::unique(done.begin(), done.end()), done.end());
    for (int32_t buffer : done) builder_.emit(PlanOp::free, {buffer});
  }

  const core::Graph& graph_;
  fuser::Fusion fusion_;
  runtime::Plan plan_;
  runtime::PlanBuilder builder_;
  SizeCode sizes_;
  std::vector<Placed> values_;
};

}  // namespace

runtime::Plan lower(const core::Graph& graph, fuser::Fusion fusion) {
  return Lowering(graph, std::move(fusion)).run();
}

}  // namespace dvm::driver
