#include "driver/lower.h"

#include <algorithm>

#include "core/dims/facts.h"
#include "core/error.h"
#include "core/graph/bind_symbols.h"
#include "core/ops/reduce.h"
#include "driver/lower_calls.h"
#include "driver/memory.h"

namespace dvm::driver {

namespace {

using core::Op;
using core::Value;
using runtime::PlanOp;

class Lowering {
 public:
  Lowering(const core::Graph& graph, fuser::Fusion fusion, const CompileBody& compile_body,
           const LowerOptions& options)
      : graph_(graph),
        fusion_(std::move(fusion)),
        to_(graph, options.module),
        calls_(to_, compile_body),
        memory_(graph, fusion_, arrays_among(graph.inputs(), options.own_arguments)),
        dense_results_(options.dense_results),
        reshape_(options.reshapes_are_views ? PlanOp::reshape : PlanOp::reshaped),
        checks_(options.checks) {}

  runtime::Plan run() {
    if (to_.module != nullptr) plan_.callees = to_.module->callees;
    declare_arguments();
    copy_constants();
    for (const auto& [a, b] : fusion_.assumed) sizes_.check_equal(a, b, {});
    for (const auto& [compare, left, right] : checks_) {
      sizes_.check(compare, sizes_.value(left, {}), sizes_.value(right, {}), "as asked for");
    }
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
    for (Value v : graph_.inputs()) {
      // What took its memory over was written there.
      if (graph_.node(v).op == Op::input && memory_[v].last != v)
        plan_.inputs[static_cast<size_t>(at(v).buffer)].ours = true;
    }
    return std::move(plan_);
  }

 private:
  std::vector<Value> arrays_among(std::vector<Value> arguments, size_t count) const {
    arguments.resize(count);
    std::erase_if(arguments, [&](Value v) { return graph_.node(v).op != Op::input; });
    return arguments;
  }

  Placed& at(Value v) { return to_.at(v); }

  void declare_arguments() {
    for (Value v : graph_.inputs()) {
      const core::Type& type = graph_.type(v);
      if (graph_.node(v).op == Op::scalar) {
        at(v).scalar = static_cast<int32_t>(plan_.scalars.size());
        plan_.scalars.push_back(type.dtype);
      } else {
        at(v).buffer = plan_.buffers++;
        plan_.inputs.push_back(to_.argument_of(type));
      }
    }
    for (Value v = 0; v < graph_.size(); ++v) {
      const core::Node& node = graph_.node(v);
      if (node.op != Op::tensor) continue;
      at(v).buffer = plan_.buffers++;
      plan_.constants.push_back(
          runtime::make_constant(node.type, node.attrs.name, node.attrs.values));
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
    sizes_.settle();
  }

  // What leaves the Plan is no memory of dvm's own: it may be written there.
  void copy_constants() {
    for (Value v = 0; v < graph_.size(); ++v) {
      const core::Node& node = graph_.node(v);
      if (node.op != Op::tensor || !node.attrs.name.empty() || !memory_[v].to_host) continue;
      const int32_t constant = at(v).buffer;
      allocate(v);
      copy(constant, node.type, at(v).buffer, node.loc);
    }
  }

  void lower_region(int index) {
    fuser::FusedRegion& fused = fusion_.regions[static_cast<size_t>(index)];
    const core::Graph& body = fused.region.body;
    check_region(body);
    vm::Kernel kernel = vm::prepare(fused.region);
    Registers inputs, outputs, scalars;
    for (Value v : fused.inputs) inputs.push_back(at(v).buffer);
    for (Value v : fused.scalars) scalars.push_back(at(v).scalar);
    const Registers dims = sizes_.values(kernel.dims, {});
    for (Value v : fused.outputs) {
      if (const Value update = memory_.target(v); update >= 0) {
        const Value root = memory_.root(update);
        if (at(root).buffer < 0) lower_node(root);
        at(v).buffer = box(update, at(root).buffer);
      } else if (const Value input = memory_.over(v); input >= 0) {
        at(v).buffer = at(input).buffer;
      } else if (!allocate_transposed(v, body)) {
        allocate(v);
      }
      outputs.push_back(at(v).buffer);
    }
    add_region(std::move(fused.region), std::move(kernel), inputs, outputs, dims, scalars);
  }

  // Regions of the Plan are numbered in their order there: copies are among them.
  void add_region(core::Region region, vm::Kernel kernel, const Registers& inputs,
                  const Registers& outputs, const Registers& dims, const Registers& scalars) {
    const auto index = static_cast<int32_t>(plan_.regions.size());
    region.name = kernel.name = "r" + std::to_string(index);
    builder_.emit(PlanOp::run, {index, inputs, outputs, dims, scalars});
    plan_.regions.push_back({std::move(region), std::move(kernel)});
  }

  void copy(int32_t from, const core::Type& type, int32_t to, core::Loc loc) {
    core::Region region{{}, core::Graph(graph_.shared_dims())};
    const Value source = region.body.input(type, loc);
    region.body.outputs = {region.body.broadcast(source, type.shape, loc)};
    vm::Kernel kernel = vm::prepare(region);
    const Registers dims = sizes_.values(kernel.dims, loc);
    add_region(std::move(region), std::move(kernel), {from}, {to}, dims, {});
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
      if (node.op == Op::attention) check_attention(body, node);
      if (core::op_class(node.op) != core::OpClass::reduce) continue;
      for (const int axis : node.attrs.axes) check_natural(from[static_cast<size_t>(axis)], node);
      if (core::reduce_info(node.op).identity == core::Identity::none) check_maximum(from, node);
    }
  }

  // Is there something to attend to, and a head of k for each of q?
  void check_attention(const core::Graph& body, const core::Node& node) {
    const core::Shape &q = body.type(node.inputs[0]).shape, &k = body.type(node.inputs[1]).shape;
    const size_t rank = q.size();
    const core::Dim one = graph_.dims().constant(1);
    for (size_t d = rank - 2; d < rank; ++d) sizes_.check_at_least(k[d], one, node.loc);
    if (rank < 3 || q[rank - 3] == k[rank - 3]) return;
    const core::Dim rest = core::mod(q[rank - 3], k[rank - 3]);
    sizes_.check_equal(rest, graph_.dims().constant(0), node.loc);
  }

  // A size that is reduced away belongs to no buffer that would be refused with a negative one.
  void check_natural(core::Dim size, const core::Node& node) {
    const core::Dim zero = graph_.dims().constant(0);
    if (core::prove(facts_, core::DimCmp::ge, size, zero) == core::Verdict::yes) return;
    sizes_.check_at_least(size, zero, node.loc);
  }

  // No elements have no maximum; NumPy says so even where there is no result to hold one.
  void check_maximum(const core::Shape& from, const core::Node& node) {
    core::Dim reduced = graph_.dims().constant(1);
    for (const int axis : node.attrs.axes) reduced = reduced * from[static_cast<size_t>(axis)];
    sizes_.check_at_least(reduced, graph_.dims().constant(1), node.loc);
  }

  // The result of the Graph that is nothing but such a view of what `v` becomes, or -1.
  Value result_by_view(Op view, Value v) const {
    v = memory_[v].last;
    const auto is = [&](Value output) {
      const core::Node& node = graph_.node(output);
      return node.op == view && node.inputs[0] == v;
    };
    const auto& outputs = graph_.outputs;
    const auto found = std::find_if(outputs.begin(), outputs.end(), is);
    const bool is_output = std::find(outputs.begin(), outputs.end(), v) != outputs.end();
    return found == outputs.end() || is_output ? -1 : *found;
  }

  void allocate_result(Value result) {
    const core::Node& node = graph_.node(result);
    at(result).buffer = builder_.emit(PlanOp::host_alloc,
                                      {node.type.dtype, sizes_.values(node.type.shape, node.loc)},
                                      "%" + std::to_string(result));
  }

  // An output that a Region writes element by element, in any order: it walks memory as that lies.
  bool allocate_transposed(Value v, const core::Graph& body) {
    const auto in_any_order = [](const core::Node& node) {
      return core::op_class(node.op) == core::OpClass::elementwise ||
             core::op_class(node.op) == core::OpClass::source || node.op == Op::broadcast;
    };
    const Value result = dense_results_ ? result_by_view(Op::transpose, v) : -1;
    if (result < 0 || !std::ranges::all_of(body.nodes(), in_any_order)) return false;
    allocate_result(result);
    const std::vector<int>& axes = graph_.node(result).attrs.axes;
    Registers back(axes.size());
    for (size_t i = 0; i < axes.size(); ++i)
      back[static_cast<size_t>(axes[i])] = static_cast<int32_t>(i);
    at(v).buffer =
        builder_.emit(PlanOp::transpose, {at(result).buffer, back}, "%" + std::to_string(v));
    return true;
  }

  void allocate(Value v) {
    const core::Node& node = graph_.node(v);
    const Registers sizes = sizes_.values(node.type.shape, node.loc);
    if (const Value result = result_by_view(Op::reshape, v); result >= 0) {
      // What the program returns owns its memory, so that is allocated and the Region writes it
      // through the view (a sum over an axis, say, whose size 1 the program dropped).
      allocate_result(result);
      at(v).buffer =
          builder_.emit(PlanOp::reshape, {at(result).buffer, sizes}, "%" + std::to_string(v));
      return;
    }
    const PlanOp op = memory_[v].to_host ? PlanOp::host_alloc : PlanOp::alloc;
    at(v).buffer = builder_.emit(op, {node.type.dtype, sizes}, "%" + std::to_string(v));
    at(v).owned = true;
  }

  void lower_node(Value v) {
    const core::Node& node = graph_.node(v);
    if (core::is_call(node.op)) return calls_.lower(v);
    auto operand = [&](size_t k) { return at(node.inputs[k]).buffer; };
    const std::string note = "%" + std::to_string(v);
    switch (node.op) {
      case Op::transpose:
        if (at(v).buffer >= 0) return;  // a result that its Region has written already
        at(v).buffer =
            builder_.emit(PlanOp::transpose, {operand(0), Registers(node.attrs.axes)}, note);
        return;
      case Op::reshape:
        if (at(v).buffer >= 0) return;  // a result that its Region has written already
        at(v).buffer =
            builder_.emit(reshape_, {operand(0), sizes_.values(node.type.shape, node.loc)}, note);
        return;
      case Op::slice:
        at(v).buffer = slice(operand(0), node, node.type.shape, note);
        return;
      case Op::empty:
        if (at(v).buffer >= 0) return;
        allocate(v);
        builder_.emit(PlanOp::undefined, {at(v).buffer});
        return;
      case Op::update:
        lower_update(v);
        return;
      case Op::scatter:
      case Op::put_along: {
        make_changed(v);
        emit_whole(node, {operand(1), operand(2)}, at(v).buffer);
        return;
      }
      case Op::iota:
      case Op::argmax:
      case Op::argmin:
      case Op::scan:
      case Op::fold:
      case Op::fold_where:
      case Op::fold_at:
      case Op::gather:
      case Op::take_along:
      case Op::compress:
      case Op::nonzero: {
        allocate(v);
        Registers operands;
        for (Value input : node.inputs) operands.push_back(at(input).buffer);
        emit_whole(node, operands, at(v).buffer);
        return;
      }
      case Op::result:  // placed by its call
        return;
      case Op::stored_dim: {
        allocate(v);
        builder_.emit(PlanOp::store, {at(v).buffer, sizes_.value(node.attrs.size, node.loc)});
        return;
      }
      case Op::leave: {
        Registers carried;
        for (Value input : std::span(node.inputs).subspan(1)) carried.push_back(at(input).buffer);
        builder_.emit(PlanOp::leave, {operand(0), carried});
        return;
      }
      default:
        DVM_CHECK(false, "no unit of its own: " + std::string(core::info(node.op).name));
    }
  }

  int32_t slice(int32_t from, const core::Node& node, const core::Shape& shape,
                const std::string& note) {
    Registers steps;
    for (int64_t step : node.attrs.steps) {
      steps.push_back(sizes_.value(graph_.dims().constant(step), node.loc));
    }
    const Registers starts = sizes_.values(node.attrs.starts, node.loc);
    const Registers counts = sizes_.values(shape, node.loc);
    return builder_.emit(PlanOp::slice, {from, starts, steps, counts}, note);
  }

  void emit_whole(const core::Node& node, const Registers& operands, int32_t result) {
    const auto op = static_cast<int32_t>(node.op);
    const int32_t axis = node.attrs.axes.empty() ? 0 : node.attrs.axes[0];
    if (const auto with = core::op_from_text(node.attrs.with)) {
      builder_.emit(PlanOp::fold, {op, static_cast<int32_t>(*with), operands, result, axis});
    } else {
      builder_.emit(PlanOp::whole, {op, operands, result, axis});
    }
  }

  // The memory whose elements are replaced: the operand's, or that of a copy.
  void make_changed(Value v) {
    const core::Node& node = graph_.node(v);
    const Value whole = node.inputs[0];
    if (memory_.in_place(v)) {
      at(v).buffer = at(whole).buffer;
    } else {
      allocate(v);
      copy(at(whole).buffer, node.type, at(v).buffer, node.loc);
    }
  }

  void lower_update(Value v) {
    const core::Node& node = graph_.node(v);
    const Value part = node.inputs[1];
    make_changed(v);
    if (memory_.target(part) == v) return;
    copy(at(part).buffer, graph_.type(part), box(v, at(v).buffer), node.loc);
  }

  // The elements of the buffer that an update replaces.
  int32_t box(Value update, int32_t whole) {
    const core::Node& node = graph_.node(update);
    return slice(whole, node, graph_.type(node.inputs[1]).shape,
                 "part of %" + std::to_string(update));
  }

  void free_after(size_t k) {
    const fuser::Unit& unit = fusion_.order[k];
    Registers done;
    auto consider = [&](Value v) {
      const Placed& placed = at(memory_.root(v));
      if (placed.owned && memory_[v].last_use == k) done.push_back(placed.buffer);
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
  Lowered to_;
  runtime::Plan& plan_ = to_.plan;
  runtime::PlanBuilder& builder_ = to_.builder;
  SizeCode& sizes_ = to_.sizes;
  CallLowering calls_;
  const MemoryMap memory_;
  const bool dense_results_;
  const PlanOp reshape_;
  const std::span<const SizeCheck> checks_;
  const core::Facts facts_{graph_.shared_dims()};
};

}  // namespace

runtime::Plan lower(const core::Graph& graph, fuser::Fusion fusion, const CompileBody& compile_body,
                    const LowerOptions& options) {
  return Lowering(graph, std::move(fusion), compile_body, options).run();
}

}  // namespace dvm::driver
