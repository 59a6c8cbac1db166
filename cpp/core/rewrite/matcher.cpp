#include "core/rewrite/matcher.h"

#include <algorithm>
#include <bit>

#include "core/passes/passes.h"
#include "core/rewrite/laws.h"
#include "core/rewrite/numbers.h"
#include "core/rewrite/shapes.h"

namespace dvm::core {

namespace {

// Ways that are tried at one root; few patterns have a hundred.
constexpr int kMostSteps = 20000;

std::string named(const Graph& graph, Value v) {
  return "%" + std::to_string(v) + " = " + std::string(info(graph.node(v).op).name);
}

}  // namespace

Matcher::Matcher(const Graph& graph)
    : graph_(graph), users_(graph), numbers_(value_numbers(graph)) {}

void Matcher::begin(const Pattern& pattern, Value root, Miss& miss) {
  pattern_ = &pattern;
  miss_ = &miss;
  root_ = root;
  steps_ = 0;
  found_.assign(pattern.terms.size(), -1);
  variables_.assign(static_cast<size_t>(pattern.variables), -1);
  inside_.clear();
  counts_.clear();
  branches_.clear();
  takes_sign_ = false;
}

Match Matcher::found() const {
  Match match{0, {}, variables_, {}, inside_};
  for (const int index : pattern_->roots) match.roots.push_back(found_[static_cast<size_t>(index)]);
  std::ranges::sort(match.inside);
  const auto repeated = std::ranges::unique(match.inside);
  match.inside.erase(repeated.begin(), repeated.end());
  return match;
}

std::optional<Match> Matcher::match(const Pattern& pattern, Value root, Miss& miss) {
  begin(pattern, root, miss);
  const Goal goal{pattern.roots[0], 0, root, nullptr};
  if (!solve_at(goal, root)) return std::nullopt;
  Match match = found();
  if (term(pattern.roots[0]).kind == PatternTerm::Kind::any_operands) {
    match.operands = node(root).inputs;
  }
  return match;
}

bool Matcher::miss(Value at, const char* rule, const std::string& reason) {
  if (inside_.size() > miss_->nodes) *miss_ = {root_, at, rule, reason, inside_.size()};
  return false;
}

bool Matcher::solve(const Goal* goal) {
  if (goal == nullptr) return next_root();
  if (++steps_ > kMostSteps) return miss(root_, "too-many-ways", "the pattern has too many ways");
  if (goal->value == kAmongBranches) return solve_among_branches(*goal);
  if (goal->subset == 0) return solve_term(*goal);
  if (goal->times > 1) {
    return solve_factors(*goal, {goal->value}, {goal->value, {}, goal->times - 1});
  }
  if (!std::has_single_bit(goal->subset)) return solve_node(*goal);
  const auto operand = static_cast<uint32_t>(std::countr_zero(goal->subset));
  const PatternTerm& chain = term(goal->term);
  const Goal one{chain.operands[operand], 0, goal->value, goal->then,
                 goal->sign * sign_of_operand(chain, operand)};
  return solve(&one);
}

bool Matcher::solve_term(const Goal& goal) {
  const PatternTerm& wanted = term(goal.term);
  if (wanted.kind == PatternTerm::Kind::count) return solve_count(goal);
  if (wanted.kind == PatternTerm::Kind::number) return solve_number(goal);
  if (!goal.sign.is_plain()) return solve_without_sign(goal);
  const bool is_variable =
      wanted.kind == PatternTerm::Kind::variable || wanted.kind == PatternTerm::Kind::any_number;
  return is_variable ? solve_variable(goal) : solve_node(goal);
}

bool Matcher::solve_variable(const Goal& goal) {
  const PatternTerm& variable = term(goal.term);
  Value v = before_broadcasts(graph_, goal.value);
  if (variable.kind == PatternTerm::Kind::any_number) {
    const std::optional<Value> known = constant_behind(graph_, v);
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
  const std::optional<Value> known = constant_behind(graph_, goal.value);
  if (!known) {
    if (solve_without_sign(goal)) return true;
    return miss(goal.value, "no-number", named(graph_, goal.value) + " is no constant");
  }
  if (!stands_for(node(*known), number, goal.sign)) {
    return miss(goal.value, "other-number",
                "the constant is " + std::to_string(*number_behind(graph_, *known)) + ", not " +
                    std::to_string(number.number));
  }
  return solve(goal.then);
}

// What it counts may be yet to come.
bool Matcher::solve_count(const Goal& goal) {
  counts_.push_back(goal);
  if (solve(goal.then)) return true;
  counts_.pop_back();
  return false;
}

bool Matcher::has_counts() {
  for (const Goal& goal : counts_) {
    const Value reduction = found_[static_cast<size_t>(term(goal.term).operands[0])];
    if (reduction < 0) return false;
    Dim count = graph_.dims().constant(1);
    for (const int axis : node(reduction).attrs.axes) {
      count = count * graph_.type(node(reduction).inputs[0]).shape[static_cast<size_t>(axis)];
    }
    Value v = goal.value;
    while (node(v).op == Op::broadcast || node(v).op == Op::cast) v = node(v).inputs[0];
    const std::optional<int64_t> known = count.as_constant();
    const PatternTerm number{.number = static_cast<double>(known.value_or(0))};
    const Node& seen = node(v);
    const bool fits = seen.op == Op::dim
                          ? seen.attrs.size == count && goal.sign.is_plain()
                          : seen.op == Op::constant && known && stands_for(seen, number, goal.sign);
    if (!fits) {
      return miss(
          goal.value, "other-count",
          named(graph_, v) + " is not the number of elements of %" + std::to_string(reduction));
    }
  }
  return true;
}

std::optional<Value> Matcher::behind(Value v) const {
  const Node& seen = node(v);
  const bool looks_through = seen.op == Op::broadcast ||
                             (seen.op == Op::reshape && adds_or_drops_ones(graph_, seen)) ||
                             (seen.op == Op::cast && only_widens(graph_, seen));
  return looks_through ? std::optional(seen.inputs[0]) : std::nullopt;
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
  if (is_chain(wanted)) return attempt([&] { return solve_chain(goal, v); });
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
  if (!has_counts()) return false;
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
