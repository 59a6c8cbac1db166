// Region -> Kernel, node by node. Rank-0 sources, their casts and broadcasts become scalar
// operands; an instruction wants at least one tensor operand, so where there is none a copy makes
// one.
#include "vm/tile/kernel.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "core/error.h"
#include "core/ops/scalar_ops.h"
#include "vm/tile/kernel_parts.h"

namespace dvm::vm {

namespace {

using core::Node;
using core::Op;

}  // namespace

// Ops and instructions of one name belong together; elementwise.def and compare.def feed both.
std::optional<OpInsn> insn_of(Op op) {
  switch (op) {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...) \
  case Op::name:                                          \
    return OpInsn{Insn::name};
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
#define DVM_COMPARE(name, op, numpy) \
  case Op::name:                     \
    return OpInsn{Insn::cmp, static_cast<uint8_t>(Compare::name)};
#include "core/ops/compare.def"
#undef DVM_COMPARE
    case Op::select:
      return OpInsn{Insn::select};
    case Op::cast:
      return OpInsn{Insn::cast};
    case Op::broadcast:
      return OpInsn{Insn::broadcast};
#define DVM_REDUCE(name, insn, ...) \
  case Op::name:                    \
    return OpInsn{Insn::insn};
#include "core/ops/reduce.def"
#undef DVM_REDUCE
    default:
      return std::nullopt;
  }
}

namespace {

class Preparer {
 public:
  explicit Preparer(const core::Region& region)
      : Preparer(region.name, region.body, region.body.outputs) {}

  Kernel run() {
    add_values();
    kernel_.output_count = static_cast<int>(kernel_.outputs.size());
    if (kernel_.product) place_product();
    if (kernel_.attention) place_attention();
    cut_at_reductions(kernel_);
    check_budget();
    if (factor_ >= 0) kernel_.before.push_back(before_product());
    return std::move(kernel_);
  }

 private:
  Preparer(std::string name, const core::Graph& graph, std::vector<core::Value> outputs)
      : graph_(graph), outputs_(std::move(outputs)) {
    static std::atomic<uint64_t> made{0};
    kernel_.name = std::move(name);
    kernel_.serial = ++made;
    kernel_.context = graph_.shared_dims();
    find_live();
  }

  void add_values() {
    value_of_.assign(live_.size(), -1);
    for (core::Value v = 0; v < graph_.size(); ++v) {
      const Node& node = graph_.node(v);
      // Operand numbers are positions among all inputs, used or not.
      if (node.op == Op::input && !live_[at(v)]) ++kernel_.input_count;
      if (node.op == Op::scalar && !live_[at(v)]) ++kernel_.scalar_count;
      if (live_[at(v)]) value_of_[at(v)] = add(node);
    }
    for (core::Value v : outputs_) {
      const int operand = kernel_.input_count + static_cast<int>(kernel_.outputs.size());
      kernel_.output_operands.push_back(static_cast<int16_t>(operand));
      kernel_.outputs.push_back(as_tensor(value_of_[at(v)], graph_.node(v)));
    }
  }

  // A Kernel of its own, for its values go over other dims; what a call brings is numbered alike.
  Kernel before_product() {
    Preparer maker(kernel_.name, graph_, {factor_});
    Kernel& before = maker.kernel_;
    before.rank = kernel_.rank;
    before.dims = kernel_.dims;
    maker.add_values();
    before.output_count = kernel_.output_count;
    before.output_operands = {kMadeFactor};
    maker.check_budget();
    kernel_.dims = before.dims;
    return std::move(before);
  }

  static size_t at(core::Value v) { return static_cast<size_t>(v); }

  [[noreturn]] void refuse(const std::string& excess) const {
    core::fail(core::ErrorCode::unsupported, "Region " + kernel_.name + " has " + excess);
  }
  void check_limit(const char* what, int64_t count, int64_t limit) const {
    if (count > limit)
      refuse(std::to_string(count) + " " + what + " of at most " + std::to_string(limit));
  }
  void check_budget() const {
    core::RegionBudget use = core::kNothingUsed;
    use.steps = static_cast<int>(kernel_.steps.size());
    use.tensors = kernel_.operand_count();
    use.values = static_cast<int>(kernel_.values.size());
    use.shapes = static_cast<int>(kernel_.shapes.size());
    use.kept = static_cast<int>(kernel_.kept.size());
    if (const auto excess = core::find_excess(use, core::kRegionBudget)) refuse(excess->text());
  }

  void find_live() {
    live_.assign(static_cast<size_t>(graph_.size()), false);
    for (core::Value v : outputs_) live_[at(v)] = true;
    for (core::Value v = graph_.size() - 1; v >= 0; --v) {
      // Unused inputs count too: a caller aligns the strides of every operand to this rank.
      if (live_[at(v)] || graph_.node(v).op == Op::input) {
        kernel_.rank = std::max(kernel_.rank, graph_.type(v).rank());
      }
      if (!live_[at(v)]) continue;
      // Factors are operands, but no values: they move over other dims.
      if (core::op_class(graph_.node(v).op) == core::OpClass::matrix) continue;
      for (core::Value input : graph_.node(v).inputs) live_[at(input)] = true;
    }
    check_limit("dimensions", kernel_.rank, kMaxRank);
  }

  uint8_t dim_index(core::Dim dim) {
    auto found = std::find(kernel_.dims.begin(), kernel_.dims.end(), dim);
    if (found == kernel_.dims.end()) found = kernel_.dims.insert(found, dim);
    const auto index = found - kernel_.dims.begin();
    check_limit("distinct sizes", index + 1, kUnit);
    return static_cast<uint8_t>(index);
  }

  uint8_t shape_index(const core::Shape& shape) {
    const KernelShape of = aligned(shape);
    auto found = std::find(kernel_.shapes.begin(), kernel_.shapes.end(), of);
    if (found == kernel_.shapes.end()) found = kernel_.shapes.insert(found, of);
    const auto index = found - kernel_.shapes.begin();
    check_limit("shapes", index + 1, kMaxShapes);
    return static_cast<uint8_t>(index);
  }

  int16_t add_value(KernelValue value) {
    kernel_.values.push_back(value);
    check_limit("values", static_cast<int64_t>(kernel_.values.size()), kMaxValues);
    return static_cast<int16_t>(kernel_.values.size() - 1);
  }

  int16_t add_scalar(KernelScalar scalar) {
    kernel_.scalars.push_back(scalar);
    return add_value({.kind = KernelValue::Kind::scalar,
                      .dtype = scalar.dtype,
                      .index = static_cast<int16_t>(kernel_.scalars.size() - 1)});
  }

  bool is_scalar(int16_t value) const {
    return kernel_.values[static_cast<size_t>(value)].kind == KernelValue::Kind::scalar;
  }

  const KernelScalar& scalar_of(int16_t value) const {
    const KernelValue& scalar = kernel_.values[static_cast<size_t>(value)];
    return kernel_.scalars[static_cast<size_t>(scalar.index)];
  }

  int16_t add_step(KernelStep step, const core::Type& type) {
    step.dst = add_value({.dtype = type.dtype,
                          .shape = shape_index(type.shape),
                          .index = static_cast<int16_t>(kernel_.steps.size())});
    kernel_.steps.push_back(step);
    return step.dst;
  }

  // `value` itself, or where it is a scalar that stands for `node`, a tensor of node's shape.
  int16_t as_tensor(int16_t value, const Node& node) {
    if (!is_scalar(value)) return value;
    KernelStep copy{.insn = Insn::copy, .dtype = node.type.dtype, .arity = 1};
    copy.src[0] = value;
    return add_step(copy, node.type);
  }

  int16_t add(const Node& node) {
    switch (node.op) {
      case Op::input:
        return add_value({.kind = KernelValue::Kind::input,
                          .dtype = node.type.dtype,
                          .shape = shape_index(node.type.shape),
                          .index = static_cast<int16_t>(kernel_.input_count++)});
      case Op::constant:
        return add_scalar(
            {.source = node.type.dtype, .dtype = node.type.dtype, .value = node.attrs.value});
      case Op::scalar:
        return add_scalar({.kind = KernelScalar::Kind::argument,
                           .source = node.type.dtype,
                           .dtype = node.type.dtype,
                           .index = static_cast<int16_t>(kernel_.scalar_count++)});
      case Op::matmul:
      case Op::convolve:
        return add_product(node);
      case Op::attention:
        return add_attention(node);
      case Op::dim:
        return add_scalar({.kind = KernelScalar::Kind::dim,
                           .source = node.type.dtype,
                           .dtype = node.type.dtype,
                           .index = dim_index(node.attrs.size)});
      default:
        return add_operation(node);
    }
  }

  // An operand of a product: an input, or one that is broadcast to more batches.
  core::Value factor(core::Value v) const {
    while (graph_.node(v).op == Op::broadcast) v = graph_.node(v).inputs[0];
    return v;
  }

  KernelShape aligned(const core::Shape& shape) {
    KernelShape result;
    result.fill(kUnit);
    const size_t lead = static_cast<size_t>(kernel_.rank) - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d].as_constant() != 1) result[lead + d] = dim_index(shape[d]);
    }
    return result;
  }

  int16_t operand_of(core::Value input) const {
    if (graph_.node(input).op != Op::input)
      fail_unsupported(graph_.node(input), "is no operand of a product of matrices");
    int operand = 0;
    for (core::Value v = 0; v < input; ++v) operand += graph_.node(v).op == Op::input ? 1 : 0;
    return static_cast<int16_t>(operand);
  }

  [[noreturn]] void fail_unsupported(const Node& node, const char* what) const {
    core::fail(core::ErrorCode::unsupported, node.loc,
               "op '" + std::string(core::info(node.op).name) + "' " + what);
  }

  void check_first(const Node& node) const {
    if (kernel_.product || kernel_.attention)
      fail_unsupported(node, "is the second product of matrices of a Region");
  }

  int16_t add_attention(const Node& node) {
    check_first(node);
    KernelAttention made{.dtype = node.type.dtype,
                         .scale = node.attrs.scale.as_float(),
                         .causal = static_cast<bool>(node.attrs.causal)};
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const core::Value from = factor(node.inputs[k]);
      made.operand[k] = operand_of(from);
      made.shape[k] = aligned(graph_.type(from).shape);
      if (k == KernelAttention::kMask) made.mask = graph_.type(from).dtype;
    }
    if (made.is_masked() && made.mask == DType::boolean) made.fill = node.attrs.fill.as_float();
    made.shape[KernelAttention::kResult] = aligned(node.type.shape);
    kernel_.attention = made;
    causal_ = node.attrs.causal;
    product_ = add_value({.kind = KernelValue::Kind::input,
                          .dtype = node.type.dtype,
                          .shape = shape_index(node.type.shape)});
    return product_;
  }

  static std::optional<KernelWindows> windows_of(const Node& node) {
    if (node.op != Op::convolve) return std::nullopt;
    KernelWindows made{.axes = static_cast<int>(node.attrs.window.size())};
    const int first = core::kMaxWindowRank - made.axes;
    std::ranges::copy(node.attrs.window, made.window + first);
    std::ranges::copy(node.attrs.steps, made.steps + first);
    std::ranges::copy(node.attrs.dilations, made.dilations + first);
    std::copy_n(node.attrs.padding.begin(), made.axes, made.before + first);
    return made;
  }

  // Where its result lies is settled when all operands are known.
  int16_t add_product(const Node& node) {
    check_first(node);
    const core::Value a = factor(node.inputs[0]), b = factor(node.inputs[1]);
    const DType sums = core::computes_in(node.type.dtype);
    const bool makes =
        node.op == Op::matmul && a == node.inputs[0] && insn_of(graph_.node(a).op).has_value();
    if (makes) factor_ = a;
    kernel_.product = {.a = makes ? kMadeFactor : operand_of(a),
                       .b = operand_of(b),
                       .dtype = sums,
                       .source = graph_.type(a).dtype,
                       .precision = node.attrs.precision,
                       .a_shape = aligned(graph_.type(a).shape),
                       .b_shape = aligned(graph_.type(b).shape),
                       .shape = aligned(node.type.shape),
                       .windows = windows_of(node)};
    product_ = add_value(
        {.kind = KernelValue::Kind::input, .dtype = sums, .shape = shape_index(node.type.shape)});
    if (sums == node.type.dtype) return product_;
    KernelStep round{.insn = Insn::cast,
                     .dtype = node.type.dtype,
                     .aux = static_cast<uint8_t>(sums),
                     .arity = 1};
    round.src[0] = product_;
    return add_step(round, node.type);
  }

  // Straight to where it leaves the Region if nothing reads it, else to what is kept.
  void place_first(int16_t& result) {
    if (kernel_.steps.empty()) {
      check_limit("results of one product", std::ssize(kernel_.outputs), 1);
      result = kernel_.output_operands[0];
    } else {
      result = static_cast<int16_t>(kernel_.operand_count());
      kernel_.kept.push_back(product_);
    }
    kernel_.values[static_cast<size_t>(product_)].index = result;
  }

  // What rows see is no size, though a size may be equal: it is a dim of its own, behind all sizes.
  void place_attention() {
    KernelAttention& attention = *kernel_.attention;
    place_first(attention.operand[KernelAttention::kResult]);
    if (!attention.causal) return;
    check_limit("distinct sizes", std::ssize(kernel_.dims) + 1, kUnit);
    attention.last = static_cast<uint8_t>(kernel_.dims.size());
    kernel_.dims.push_back(causal_);
  }

  void place_product() {
    KernelProduct& product = *kernel_.product;
    place_first(product.result);
    const KernelValue& value = kernel_.values[static_cast<size_t>(product_)];
    Kernel nothing = kernel_;
    nothing.product.reset();
    nothing.steps.clear();
    nothing.scalars.push_back({.source = value.dtype, .dtype = value.dtype});
    nothing.values.push_back({.kind = KernelValue::Kind::scalar,
                              .dtype = value.dtype,
                              .index = static_cast<int16_t>(nothing.scalars.size() - 1)});
    KernelStep zero{.insn = Insn::copy, .dtype = value.dtype, .arity = 1, .dst = product_};
    zero.src[0] = static_cast<int16_t>(nothing.values.size() - 1);
    nothing.steps.push_back(zero);
    KernelValue& filled = nothing.values[static_cast<size_t>(product_)];
    filled.kind = KernelValue::Kind::computed;
    filled.index = 0;
    nothing.outputs = {product_};
    nothing.output_operands = {product.result};
    kernel_.nothing.push_back(std::move(nothing));
  }

  int16_t add_operation(const Node& node) {
    const std::optional<OpInsn> found = insn_of(node.op);
    if (!found) {
      core::fail(core::ErrorCode::unsupported, node.loc,
                 "op '" + std::string(core::info(node.op).name) + "' has no tile instruction");
    }
    KernelStep step{.insn = found->insn, .dtype = node.type.dtype, .aux = found->aux};
    step.arity = static_cast<uint8_t>(node.inputs.size());
    bool all_scalars = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      step.src[i] = value_of_[at(node.inputs[i])];
      all_scalars = all_scalars && is_scalar(step.src[i]);
    }
    if (node.op == Op::broadcast && all_scalars) return step.src[0];
    if (node.op == Op::cast && all_scalars) {
      KernelScalar scalar = scalar_of(step.src[0]);
      if (scalar.dtype == scalar.source) {  // two casts in a row round twice
        scalar.dtype = node.type.dtype;
        return add_scalar(scalar);
      }
    }
    const Node& first = graph_.node(node.inputs[0]);
    if (all_scalars) step.src[0] = as_tensor(step.src[0], first);
    if (step.insn == Insn::cast) step.aux = static_cast<uint8_t>(first.type.dtype);
    if (info(step.insn).boolean_result) step.dtype = first.type.dtype;
    const int lead = kernel_.rank - node.type.rank();
    for (int axis : node.attrs.axes) step.axes |= static_cast<uint16_t>(1u << (lead + axis));
    return add_step(step, node.type);
  }

  const core::Graph& graph_;
  const std::vector<core::Value> outputs_;
  Kernel kernel_;
  core::Value factor_ = -1;  // of the product, where steps make it
  std::vector<bool> live_;
  std::vector<int16_t> value_of_;  // of each node
  core::Dim causal_;
  int16_t product_ = -1;  // the value, of an attention too
};

}  // namespace

Scalar cast_scalar(Scalar value, DType from, DType to) {
  return core::dispatch(from, [&]<DType From>() {
    return core::dispatch(to, [&]<DType To>() {
      using T = core::Storage<To>;
      const auto element = core::element_of<From>(value);
      if constexpr (core::is_floating(From) && core::info(To).kind == core::Kind::integer) {
        const auto x = core::scalar::cast<double>(element);
        using Range = core::scalar::Truncation<T, double>;
        if (!(x >= Range::kLow && x < Range::kEnd)) core::raise(core::kInvalid);
      }
      return core::scalar_of<To>(core::scalar::cast<T>(element));
    });
  });
}

Kernel prepare(const core::Region& region) { return Preparer(region).run(); }

}  // namespace dvm::vm
