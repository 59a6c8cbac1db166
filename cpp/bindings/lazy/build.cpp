#include "bindings/lazy/build.h"

#include <algorithm>
#include <utility>

namespace dvm::bindings::lazy {

namespace {

class Builder {
 public:
  Builder(std::span<const Node> nodes, const Sizes& sizes) : nodes_(nodes), sizes_(sizes) {}

  core::Graph build() {
    for (size_t k = 0; k < sizes_.all.size(); ++k) {
      if (sizes_.is_told[k] == 0) graph_.scalar(core::DType::i64, {}, symbol(k));
    }
    for (const Node& node : nodes_) {
      made_.push_back(value(node));
      if (node.owner != nullptr) graph_.outputs.push_back(made_.back());
    }
    return std::move(graph_);
  }

 private:
  core::Dim symbol(size_t k) { return graph_.dims().symbol("s" + std::to_string(k)); }
  core::Dim dim(int64_t size) {
    if (is_constant(size)) return graph_.dims().constant(size);
    const auto found = std::find(sizes_.all.begin(), sizes_.all.end(), size);
    return symbol(static_cast<size_t>(found - sizes_.all.begin()));
  }
  core::Shape shape(const Node& node) {
    core::Shape dims;
    for (int32_t d = 0; d < node.rank; ++d) dims.push_back(dim(node.shape[d]));
    return dims;
  }

  core::Value operand(const Node& node, int k) const {
    return made_[static_cast<size_t>(node.form.operands[k])];
  }
  core::Value converted(core::Value a, core::DType dtype) {
    return graph_.type(a).dtype == dtype ? a : graph_.cast(a, dtype);
  }
  core::Value reshaped(core::Value a, const Node& node) { return graph_.reshape(a, shape(node)); }

  core::Value value(const Node& node) {
    const Form& form = node.form;
    switch (form.kind) {
      case Kind::leaf:
        return graph_.input({form.dtype, shape(node)});
      case Kind::number:
        return graph_.scalar(form.dtype);
      case Kind::elementwise:
        return elementwise(node);
      case Kind::cast:
        return converted(operand(node, 0), form.dtype);
      case Kind::reduce:
        return reduce(node);
      case Kind::product:
        return graph_.matmul(converted(operand(node, 0), form.computes),
                             converted(operand(node, 1), form.computes), form.dtype);
      case Kind::reshape:
        return reshaped(operand(node, 0), node);
      case Kind::permute: {
        std::vector<int> axes;
        for (int32_t d = 0; d < node.rank; ++d) {
          axes.push_back(static_cast<int>(form.axes >> (4 * d) & 15U));
        }
        return graph_.transpose(operand(node, 0), std::move(axes));
      }
      case Kind::slice:
      case Kind::update:
        return box(node);
      case Kind::empty:
        return graph_.empty({form.dtype, shape(node)});
      case Kind::scan: {
        const core::Value a = converted(operand(node, 0), form.computes);
        const std::string with(core::info(form.op).name);
        return graph_.along(core::Op::scan, {&a, 1}, static_cast<int>(form.axes), with);
      }
    }
    return -1;
  }

  core::Value elementwise(const Node& node) {
    const core::Shape wanted = shape(node);
    core::Value operands[kMaxOperands];
    size_t count = 0;
    for (; count < kMaxOperands && node.form.operands[count] >= 0; ++count) {
      const int k = static_cast<int>(count);
      // The condition of a select stays what it is.
      const bool is_condition = node.form.op == core::Op::select && k == 0;
      core::Value a = operand(node, k);
      if (!is_condition) a = converted(a, node.form.computes);
      operands[count] = graph_.type(a).shape == wanted ? a : graph_.broadcast(a, wanted);
    }
    return graph_.elementwise(node.form.op, {operands, count});
  }

  core::Value box(const Node& node) {
    const auto rank = static_cast<size_t>(node.rank);
    std::vector<core::Dim> starts(rank, dim(0));
    std::vector<int64_t> steps(rank, 1);
    starts[node.form.axes] = dim(node.number.as_int());
    steps[node.form.axes] = node.form.step;
    const core::Value whole = operand(node, 0);
    if (node.form.kind == Kind::slice) {
      return graph_.slice(whole, std::move(starts), std::move(steps), shape(node));
    }
    return graph_.update(whole, operand(node, 1), std::move(starts), std::move(steps));
  }

  // An op of the Graph reduces neighbouring axes; others follow in a step of their own.
  core::Value reduce(const Node& node) {
    core::Value a = converted(operand(node, 0), node.form.computes);
    std::vector<int> run;
    for (int d = 0; d <= core::kMaxRank; ++d) {
      if (d < core::kMaxRank && (node.form.axes >> d & 1U) != 0) {
        run.push_back(d);
      } else if (!run.empty()) {
        const bool is_whole = core::op_class(node.form.op) == core::OpClass::whole;
        a = is_whole ? graph_.along(node.form.op, {&a, 1}, run[0])
                     : graph_.reduce(node.form.op, a, run);
        run.clear();
      }
    }
    return (node.form.axes & kKeepsAxes) != 0 ? a : reshaped(a, node);
  }

  std::span<const Node> nodes_;
  const Sizes& sizes_;
  core::Graph graph_;
  std::vector<core::Value> made_;
};

}  // namespace

core::Graph build(std::span<const Node> nodes, const Sizes& sizes) {
  return Builder(nodes, sizes).build();
}

}  // namespace dvm::bindings::lazy
