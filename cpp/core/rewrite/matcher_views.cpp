// Parts of arrays, arrays of parts, and axes.
#include <algorithm>
#include <string>

#include "core/rewrite/matcher.h"

namespace dvm::core {

// Updates of an empty array, one behind the other along the axis.
bool Matcher::solve_join(const Goal& goal, Value v) {
  const PatternTerm& wanted = term(goal.term);
  const Shape& whole = graph_.type(v).shape;
  const auto rank = static_cast<int>(whole.size());
  const int axis = wanted.axes[0] < 0 ? wanted.axes[0] + rank : wanted.axes[0];
  if (axis < 0 || axis >= rank) return false;
  std::vector<const Node*> updates;
  for (; node(v).op == Op::update; v = node(v).inputs[0]) {
    updates.insert(updates.begin(), &node(v));
    inside_.push_back(v);
  }
  if (node(v).op != Op::empty || updates.size() != wanted.operands.size()) {
    return miss(v, "other-parts",
                "an array of " + std::to_string(updates.size()) + " parts, not " +
                    std::to_string(wanted.operands.size()));
  }
  inside_.push_back(v);
  Dim at = graph_.dims().constant(0);
  const Dim zero = at;
  std::vector<Goal> goals(updates.size());
  for (size_t k = 0; k < updates.size(); ++k) {
    const Shape& part = graph_.type(updates[k]->inputs[1]).shape;
    for (int d = 0; d < rank; ++d) {
      const auto dim = static_cast<size_t>(d);
      const bool fits = updates[k]->attrs.steps[dim] == 1 &&
                        updates[k]->attrs.starts[dim] == (d == axis ? at : zero) &&
                        (d == axis || part[dim] == whole[dim]);
      if (!fits) return miss(v, "other-parts", "a part lies elsewhere, or is of another size");
    }
    at = at + part[static_cast<size_t>(axis)];
    goals[k] = {wanted.operands[k], 0, updates[k]->inputs[1],
                k + 1 < updates.size() ? &goals[k + 1] : goal.then};
  }
  if (at != whole[static_cast<size_t>(axis)]) {
    return miss(v, "other-parts", "the parts are not all of the array");
  }
  return solve(goals.data());
}

bool Matcher::has_axes(const PatternTerm& wanted, const Node& seen) const {
  if (wanted.axes.empty()) return true;
  const int rank = seen.inputs.empty() ? 0 : graph_.type(seen.inputs[0]).rank();
  std::vector<int> axes;
  for (const int axis : wanted.axes) axes.push_back(axis < 0 ? axis + rank : axis);
  if (op_class(seen.op) == OpClass::reduce) std::ranges::sort(axes);
  return axes == seen.attrs.axes;
}

bool Matcher::is_part(const PatternTerm& wanted, const Node& slice) const {
  const Shape& whole = graph_.type(slice.inputs[0]).shape;
  const auto rank = static_cast<int>(whole.size());
  const int axis = wanted.axes[0] < 0 ? wanted.axes[0] + rank : wanted.axes[0];
  if (axis < 0 || axis >= rank) return false;
  for (int d = 0; d < rank; ++d) {
    const auto dim = static_cast<size_t>(d);
    if (slice.attrs.steps[dim] != 1) return false;
    Dim start = graph_.dims().constant(0), size = whole[dim];
    if (d == axis) {
      const Dim each = floor_div(size, graph_.dims().constant(wanted.parts));
      start = each * wanted.part;
      size = wanted.part + 1 == wanted.parts ? size - start : each;
    }
    if (slice.attrs.starts[dim] != start || slice.type.shape[dim] != size) return false;
  }
  return true;
}

}  // namespace dvm::core
