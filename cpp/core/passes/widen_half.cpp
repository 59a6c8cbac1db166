// Every half has up to two forms in the new graph: narrow (itself) and wide (f32). A backward
// walk finds which forms are asked for, a forward walk builds exactly those, so that no cast is
// made in vain and data that is only moved is never converted. Nor is what a single op reads that
// only looks at bits.
//
// A half has one value for all that read it: where one reader is given it rounded (a written cast,
// a product, a call), so are those that compute in f32. Otherwise `z - z.mean()`, whose sum casts,
// would subtract from one z the mean of another.
#include <algorithm>

#include "core/ops/elementwise.h"
#include "core/passes/passes.h"

namespace dvm::core {

namespace {

bool computes(const Node& node) {
  const OpClass cls = op_class(node.op);
  const bool stays = node.op == Op::cast || !computes_as_float(node.op);
  return (cls == OpClass::elementwise && !stays) || cls == OpClass::reduce;
}
bool tells_by_bits(Op op) {
  return op == Op::abs || op == Op::fabs || op == Op::neg || op == Op::isnan || op == Op::isinf ||
         op == Op::isfinite || op == Op::signbit;
}
bool moves(const Node& node) {
  return op_class(node.op) == OpClass::view || op_class(node.op) == OpClass::broadcast;
}

class Widening {
 public:
  Widening(const Graph& from, DTypeSet halves)
      : from_(from),
        halves_(halves),
        to_(from.shared_dims()),
        forms_(static_cast<size_t>(from.size())) {}

  Graph run() {
    for (Value v = 0; v < from_.size(); ++v) find_origin(v);
    for (const Value v : from_.outputs) at(v).need_narrow = true;
    for (Value v = from_.size() - 1; v >= 0; --v) spread_needs(v);
    for (Value v = 0; v < from_.size(); ++v) build(v);
    for (const Value v : from_.outputs) to_.outputs.push_back(at(v).narrow);
    return std::move(to_);
  }

 private:
  // For values that are no halves the narrow form is the only one.
  struct Forms {
    bool computed = false;  // a half whose wide form comes first; narrow is rounded from it
    bool rounded = false;   // whether that was so before anything was found to go by bits
    bool by_bits = false;   // of the narrow form of the operand, and itself in no other
    bool need_narrow = false, need_wide = false;
    bool read_rounded = false;  // by something in the graph, which an output is not
    bool widen_again = false;   // the wide form that is read is made of the rounded one
    Value narrow = -1, wide = -1;
  };
  Forms& at(Value v) { return forms_[static_cast<size_t>(v)]; }
  bool is_widened(Value v) const { return halves_.contains(from_.type(v).dtype); }

  void find_origin(Value v) {
    const Node& node = from_.node(v);
    if (!is_widened(v)) return;
    at(v).rounded = at(v).computed = computes(node) || (moves(node) && at(node.inputs[0]).computed);
  }

  // Whether the node reads the wide form of an operand when the given form of it is built.
  bool reads_wide(Value v, Value operand, bool building_wide) const {
    const Node& node = from_.node(v);
    if (!is_widened(operand) || forms_[static_cast<size_t>(v)].by_bits) return false;
    // What the program itself takes out of half precision was rounded to it before.
    if (node.op == Op::cast)
      return node.type.dtype != from_.type(operand).dtype &&
             !forms_[static_cast<size_t>(operand)].rounded;
    return computes(node) || (moves(node) && building_wide);
  }

  void spread_needs(Value v) {
    const Node& node = from_.node(v);
    Forms& forms = at(v);
    // Unused nodes are kept as they are: dropping them is another pass's subject.
    if (!forms.need_wide) forms.need_narrow = true;
    if (tells_by_bits(node.op) && !forms.need_wide && !at(node.inputs[0]).computed) {
      forms.by_bits = true;
      forms.computed = false;
    }
    if (forms.read_rounded && moves(node)) forms.computed = false;
    forms.widen_again = forms.computed && forms.read_rounded && forms.need_wide;
    if (forms.computed && forms.need_narrow) forms.need_wide = true;
    for (const bool wide : {false, true}) {
      if (!(wide ? emits_wide(v) : emits_narrow(v))) continue;
      for (const Value operand : node.inputs) {
        Forms& read = at(operand);
        const bool is_wide = reads_wide(v, operand, wide);
        (is_wide ? read.need_wide : read.need_narrow) = true;
        if (!is_wide && (!moves(node) || forms.read_rounded)) read.read_rounded = true;
      }
    }
  }

  // Whether the node itself is built in that form; the other form is a cast of it.
  bool emits_wide(Value v) {
    const Node& node = from_.node(v);
    const bool can = at(v).computed || moves(node) || node.op == Op::constant;
    return is_widened(v) && can && at(v).need_wide;
  }
  bool emits_narrow(Value v) {
    const Node& node = from_.node(v);
    const bool needed = at(v).need_narrow || !(moves(node) || node.op == Op::constant);
    return !at(v).computed && needed;
  }

  Value emit(Value v, bool wide) {
    Node copy = from_.node(v);
    if (wide) copy.type.dtype = computes_in(copy.type.dtype);
    for (Value& operand : copy.inputs) {
      const Value old = operand;
      operand = reads_wide(v, old, wide) ? at(old).wide : at(old).narrow;
    }
    return to_.append(std::move(copy));
  }

  void build(Value v) {
    const Node& node = from_.node(v);
    Forms& forms = at(v);
    if (emits_narrow(v)) forms.narrow = emit(v, false);
    if (emits_wide(v)) forms.wide = emit(v, true);
    if (!is_widened(v)) return;
    const DType dtype = node.type.dtype;
    if (forms.need_narrow && forms.narrow < 0) forms.narrow = to_.cast(forms.wide, dtype, node.loc);
    if (forms.widen_again || (forms.need_wide && forms.wide < 0))
      forms.wide = to_.cast(forms.narrow, computes_in(dtype), node.loc);
  }

  const Graph& from_;
  const DTypeSet halves_;
  Graph to_;
  std::vector<Forms> forms_;
};

}  // namespace

Graph pass_widen_half(Graph graph, DTypeSet halves) {
  const auto is_half = [&](const Node& node) { return halves.contains(node.type.dtype); };
  if (std::ranges::none_of(graph.nodes(), is_half)) return graph;
  return Widening(graph, halves).run();
}

}  // namespace dvm::core
