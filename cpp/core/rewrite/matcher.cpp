#include "core/rewrite/matcher.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/passes/passes.h"
#include "core/rewrite/laws.h"
#include "core/rewrite/shapes.h"

namespace dvm::core {

namespace {

// Ways that are tried at one root; few patterns have a hundred.
constexpr int kMostSteps = 20000;

Scalar as_constant(DType dtype, double number) {
  return round_to(dtype, is_floating(dtype) ? Scalar::of_float(number)
                                            : Scalar::of_int(static_cast<int64_t>(number)));
}

double as_number(DType dtype, Scalar value) {
  return is_floating(dtype) ? value.as_float() : static_cast<double>(value.as_int());
}

std::string named(const Graph& graph, Value v) {
  return "%" + std::to_string(v) + " = " + std::string(info(graph.node(v).op).name);
}

}  // namespace

Matcher::Matcher(const Graph& graph)
    : graph_(graph), users_(graph), numbers_(value_numbers(graph)) {}

std::optional<Match> Matcher::match(const Pattern& pattern, Value root, Miss& miss) {
  pattern_ = &pattern;
  miss_ = &miss;
  root_ = root;
  steps_ = 0;
  found_.assign(pattern.terms.size(), -1);
  variables_.assign(static_cast<size_t>(pattern.variables), -1);
  inside_.clear();
  const Goal goal{pattern.roots[0], 0, root, nullptr};
  if (!solve_at(goal, root)) return std::nullopt;
  Match match{0, {}, variables_, {}, inside_};
  if (term(pattern.roots[0]).kind == PatternTerm::Kind::any_operands) {
    match.operands = node(root).inputs;
  }
  for (const int index : pattern.roots) match.roots.push_back(found_[static_cast<size_t>(index)]);
  std::ranges::sort(match.inside);
  const auto repeated = std::ranges::unique(match.inside);
  match.inside.erase(repeated.begin(), repeated.end());
  return match;
}

bool Matcher::miss(Value at, const char* rule, const std::string& reason) {
  if (inside_.size() > miss_->nodes) *miss_ = {root_, at, rule, reason, inside_.size()};
  return false;
}

bool Matcher::solve(const Goal* goal) {
  if (goal == nullptr) return next_root();
  if (++steps_ > kMostSteps) return miss(root_, "too-many-ways", "the pattern has too many ways");
  if (goal->subset != 0) {
    if (std::has_single_bit(goal->subset)) {
      const int operand =
          term(goal->term).operands[static_cast<size_t>(std::countr_zero(goal->subset))];
      const Goal one{operand, 0, goal->value, goal->then};
      return solve(&one);
    }
    return solve_node(*goal);
  }
  switch (term(goal->term).kind) {
    case PatternTerm::Kind::variable:
    case PatternTerm::Kind::any_number:
      return solve_variable(*goal);
    case PatternTerm::Kind::number:
      return solve_number(*goal);
    case PatternTerm::Kind::count:
      return solve_count(*goal);
    default:
      return solve_node(*goal);
  }
}

bool Matcher::solve_variable(const Goal& goal) {
  const PatternTerm& variable = term(goal.term);
  Value v = before_broadcasts(graph_, goal.value);
  if (variable.kind == PatternTerm::Kind::any_number) {
    const std::optional<Value> known = constant(v);
    if (!known) return miss(v, "no-number", named(graph_, v) + " is no constant");
    v = *known;
  }
  Value& bound = variables_[static_cast<size_t>(variable.variable)];
  if (bound >= 0) {
    if (!same(bound, v)) {
      return miss(v, "other-value",
                  named(graph_, v) + " stands where %" + std::to_string(bound) + " should");
    }
    return solve(goal.then);
  }
  bound = v;
  if (solve(goal.then)) return true;
  // Vectors do not move while a search is going on.
  bound = -1;
  return false;
}

bool Matcher::solve_number(const Goal& goal) {
  const PatternTerm& number = term(goal.term);
  const std::optional<Value> known = constant(goal.value);
  if (!known) {
    return miss(goal.value, "no-number", named(graph_, goal.value) + " is no constant");
  }
  const DType dtype = graph_.type(*known).dtype;
  const Scalar value = node(*known).attrs.value;
  const double seen = as_number(dtype, value);
  const bool fits =
      number.tolerance > 0
          ? std::fabs(seen - number.number) <= number.tolerance * std::fabs(number.number)
          // A zero has a sign, which operations may look at.
          : (seen == number.number && std::signbit(seen) == std::signbit(number.number)) ||
                (is_floating(dtype) && value == as_constant(dtype, number.number));
  if (!fits) {
    return miss(
        goal.value, "other-number",
        "the constant is " + std::to_string(seen) + ", not " + std::to_string(number.number));
  }
  return solve(goal.then);
}

bool Matcher::solve_count(const Goal& goal) {
  const Value reduction = found_[static_cast<size_t>(term(goal.term).operands[0])];
  if (reduction < 0) return false;
  Dim count = graph_.dims().constant(1);
  for (const int axis : node(reduction).attrs.axes) {
    count = count * graph_.type(node(reduction).inputs[0]).shape[static_cast<size_t>(axis)];
  }
  Value v = goal.value;
  while (node(v).op == Op::broadcast || node(v).op == Op::cast) v = node(v).inputs[0];
  const Node& seen = node(v);
  const bool fits =
      seen.op == Op::dim
          ? seen.attrs.size == count
          : seen.op == Op::constant && count.as_constant() &&
                seen.attrs.value ==
                    as_constant(seen.type.dtype, static_cast<double>(*count.as_constant()));
  if (!fits) {
    return miss(
        goal.value, "other-count",
        named(graph_, v) + " is not the number of elements of %" + std::to_string(reduction));
  }
  return solve(goal.then);
}

std::optional<Value> Matcher::behind(Value v) const {
  const Node& seen = node(v);
  const bool looks_through = seen.op == Op::broadcast ||
                             (seen.op == Op::reshape && adds_or_drops_ones(graph_, seen)) ||
                             (seen.op == Op::cast && only_widens(graph_, seen));
  return looks_through ? std::optional(seen.inputs[0]) : std::nullopt;
}

std::optional<Value> Matcher::constant(Value v) const {
  while (node(v).op == Op::broadcast || node(v).op == Op::cast || node(v).op == Op::reshape) {
    v = node(v).inputs[0];
  }
  return node(v).op == Op::constant ? std::optional(v) : std::nullopt;
}

// At the value or, where that only has another shape, at what it is of.
bool Matcher::solve_node(const Goal& goal) {
  const size_t before = inside_.size();
  for (Value v = goal.value;;) {
    if (solve_at(goal, v)) return true;
    inside_.resize(before);
    const std::optional<Value> operand = behind(v);
    if (!operand) return false;
    for (Value outer = goal.value; outer != *operand; outer = node(outer).inputs[0]) {
      inside_.push_back(outer);
    }
    v = *operand;
  }
}

bool Matcher::solve_at(const Goal& goal, Value v) {
  const PatternTerm& wanted = term(goal.term);
  Value& found = found_[static_cast<size_t>(goal.term)];
  const size_t before = inside_.size();
  if (goal.subset == 0 && found >= 0) {
    if (!same(found, v)) return false;
    take_twin(found, v);
    if (solve(goal.then)) return true;
    inside_.resize(before);
    return false;
  }
  const Value was = found;
  const auto attempt = [&](auto&& how) {
    inside_.push_back(v);
    if (goal.subset == 0) found = v;
    if (how()) return true;
    inside_.resize(before);
    found = was;
    return false;
  };
  const Node& seen = node(v);
  if (wanted.kind == PatternTerm::Kind::join) {
    return seen.op == Op::update && attempt([&] { return solve_join(goal, v); });
  }
  const Op op = wanted.kind == PatternTerm::Kind::split ? Op::slice : wanted.op;
  if (seen.op != op) {
    return miss(v, "other-op",
                named(graph_, v) + " stands where " + std::string(info(op).name) + " should");
  }
  switch (wanted.kind) {
    case PatternTerm::Kind::any_operands:
      return attempt([&] { return solve(goal.then); });
    case PatternTerm::Kind::split:
      if (!is_part(wanted, seen)) {
        return miss(v, "other-part",
                    named(graph_, v) + " is another part of %" + std::to_string(seen.inputs[0]));
      }
      return attempt([&] { return solve_operands(goal, seen); });
    default:
      if (!has_axes(wanted, seen)) {
        return miss(v, "other-axes", named(graph_, v) + " goes along other axes");
      }
      return attempt([&] { return solve_operands(goal, seen); });
  }
}

// What is computed twice is within twice.
void Matcher::take_twin(Value known, Value twin) {
  if (known == twin || std::ranges::find(inside_, known) == inside_.end()) return;
  inside_.push_back(twin);
  for (size_t k = 0; k < node(known).inputs.size(); ++k) {
    take_twin(node(known).inputs[k], node(twin).inputs[k]);
  }
}

bool Matcher::solve_operands(const Goal& goal, const Node& seen) {
  const PatternTerm& wanted = term(goal.term);
  const auto count = static_cast<uint32_t>(wanted.operands.size());
  const bool is_chain = goal.subset != 0 ||
                        (pattern_->associates && associates(wanted.op) && seen.inputs.size() == 2);
  if (is_chain) {
    return solve_chain(goal, goal.subset != 0 ? goal.subset : (1u << count) - 1, seen);
  }
  if (count != seen.inputs.size()) return false;
  const auto in_order = [&](bool turned) {
    std::vector<Goal> goals(count);
    const Goal* then = goal.then;
    for (uint32_t k = count; k-- > 0;) {
      const Value operand = seen.inputs[turned ? count - 1 - k : k];
      goals[k] = {wanted.operands[k], 0, operand, then};
      then = &goals[k];
    }
    return solve(then);
  };
  return in_order(false) || (count == 2 && commutes(seen.op) && in_order(true));
}

// Some of the operands are in the node's first one, the others in its second.
bool Matcher::solve_chain(const Goal& goal, uint32_t subset, const Node& seen) {
  for (uint32_t first = (subset - 1) & subset; first != 0; first = (first - 1) & subset) {
    const Goal second_goal{goal.term, subset & ~first, seen.inputs[1], goal.then};
    const Goal first_goal{goal.term, first, seen.inputs[0], &second_goal};
    if (solve(&first_goal)) return true;
  }
  return false;
}

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

// The first root that has no node yet, among what is computed of the variables.
bool Matcher::next_root() {
  const auto next = std::ranges::find_if(
      pattern_->roots, [&](int index) { return found_[static_cast<size_t>(index)] < 0; });
  if (next == pattern_->roots.end()) return accept();
  std::vector<char> seen(static_cast<size_t>(graph_.size()), 0);
  std::vector<Value> near;
  for (const Value v : variables_) {
    if (v >= 0) near.push_back(v);
  }
  for (size_t k = 0; k < near.size(); ++k) {
    for (const Value user : users_.of(near[k])) {
      if (user < 0 || seen[static_cast<size_t>(user)]) continue;
      seen[static_cast<size_t>(user)] = 1;
      near.push_back(user);
      const Goal goal{*next, 0, user, nullptr};
      if (solve_at(goal, user)) return true;
    }
  }
  return false;
}

bool Matcher::accept() {
  // It would be a leaf and no leaf at once, of one shape here and another there.
  for (const Value v : variables_) {
    if (std::ranges::find(inside_, v) == inside_.end()) continue;
    return miss(v, "within-itself", named(graph_, v) + " is within and a variable at once");
  }
  for (const int index : pattern_->roots) {
    if (!means_the_same(graph_, found_[static_cast<size_t>(index)], inside_)) {
      return miss(root_, "other-shapes",
                  "broadcasts or reshapes within it change what it computes");
    }
  }
  if (pattern_->may_be_needed) return true;
  for (const Value v : inside_) {
    const auto is_root = [&](int index) { return found_[static_cast<size_t>(index)] == v; };
    if (std::ranges::any_of(pattern_->roots, is_root)) continue;
    for (const Value user : users_.of(v)) {
      if (std::ranges::find(inside_, user) != inside_.end()) continue;
      return miss(v, "needed-outside",
                  named(graph_, v) + (user == kCaller ? " is a result of the graph"
                                                      : " is needed by " + named(graph_, user)));
    }
  }
  return true;
}

}  // namespace dvm::core
