#include "core/rewrite/shapes.h"

#include <algorithm>
#include <map>

#include "core/ops/dtype.h"

namespace dvm::core {

namespace {

bool is_one(Dim dim) { return dim.as_constant() == 1; }

Shape without_ones(const Shape& shape) {
  Shape rest;
  std::ranges::copy_if(shape, std::back_inserter(rest), [](Dim dim) { return !is_one(dim); });
  return rest;
}

// Axes of size 1 before all others are there or not, for NumPy.
Shape without_leading_ones(const Shape& shape) {
  return {std::ranges::find_if_not(shape, is_one), shape.end()};
}

// The shape that the pattern's algebra gives a value, without leading ones. Aligned: its axes are
// the last ones of the node's; else the node has them without some ones, or with more of them.
struct Algebraic {
  Shape shape;
  bool aligned = true;
  bool is_scalar() const { return shape.empty(); }
};

class Checker {
 public:
  Checker(const Graph& graph, const std::vector<Value>& inside)
      : graph_(graph), inside_(inside.begin(), inside.end()) {
    std::ranges::sort(inside_);
  }

  std::optional<Algebraic> of(Value v) {
    if (!std::ranges::binary_search(inside_, v)) {
      return Algebraic{without_leading_ones(graph_.type(before_broadcasts(graph_, v)).shape)};
    }
    if (const auto known = known_.find(v); known != known_.end()) return known->second;
    return known_[v] = compute(graph_.node(v));
  }

  std::optional<Algebraic> of_all(const std::vector<Value>& values) {
    std::vector<Algebraic> operands;
    for (const Value v : values) {
      const auto operand = of(v);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    return combined(operands);
  }

 private:
  std::optional<Algebraic> compute(const Node& node) {
    std::vector<Algebraic> operands;
    for (const Value v : node.inputs) {
      const auto operand = of(v);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    if (node.op == Op::broadcast) {
      if (!operands[0].aligned) return std::nullopt;
      return operands[0];
    }
    if (node.op == Op::reshape) return reshaped(operands[0], node.type.shape);
    if (op_class(node.op) == OpClass::elementwise) return combined(operands);
    // Every other op looks at the axes that are there.
    for (size_t k = 0; k < operands.size(); ++k) {
      const Shape& seen = graph_.type(node.inputs[k]).shape;
      if (!operands[k].aligned || operands[k].shape != without_leading_ones(seen)) {
        return std::nullopt;
      }
    }
    return Algebraic{without_leading_ones(node.type.shape)};
  }

  static std::optional<Algebraic> reshaped(const Algebraic& from, const Shape& to) {
    if (without_ones(from.shape) != without_ones(to)) return std::nullopt;
    return Algebraic{from.shape, from.shape == without_leading_ones(to)};
  }

  static std::optional<Algebraic> combined(const std::vector<Algebraic>& operands) {
    Algebraic all;
    for (const Algebraic& operand : operands) {
      if (operand.is_scalar()) continue;
      if (all.is_scalar()) {
        all = operand;
      } else if (operand.aligned != all.aligned) {
        return std::nullopt;
      } else if (!operand.aligned) {
        if (operand.shape != all.shape) return std::nullopt;
      } else {
        all.shape = repeated(all.shape, operand.shape);
      }
    }
    return all;
  }

  const Graph& graph_;
  std::vector<Value> inside_;
  std::map<Value, std::optional<Algebraic>> known_;
};

}  // namespace

bool adds_or_drops_ones(const Graph& graph, const Node& reshape) {
  return without_ones(graph.type(reshape.inputs[0]).shape) == without_ones(reshape.type.shape);
}

bool only_widens(const Graph& graph, const Node& cast) {
  const DType from = graph.type(cast.inputs[0]).dtype, to = cast.type.dtype;
  return is_floating(from) && is_floating(to) && byte_size(from) < byte_size(to);
}

std::optional<Shape> shape_of_all(const Graph& graph, const std::vector<Value>& values,
                                  const std::vector<Value>& inside) {
  const auto all = Checker(graph, inside).of_all(values);
  return all && all->aligned ? std::optional(all->shape) : std::nullopt;
}

Shape repeated(Shape a, Shape b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (size_t d = 0; d < b.size(); ++d) {
    Dim& dim = a[a.size() - b.size() + d];
    if (dim != b[d]) dim = bcast(dim, b[d]);
  }
  return a;
}

bool means_the_same(const Graph& graph, Value root, const std::vector<Value>& inside) {
  return Checker(graph, inside).of(root).has_value();
}

}  // namespace dvm::core
