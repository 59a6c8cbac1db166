// Sums, products and the like: all ways to put the operands of a pattern's together, and parts of a
// longer one.
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "core/rewrite/matcher.h"
#include "core/rewrite/shapes.h"

namespace dvm::core {

namespace {

constexpr size_t kMostBranches = 64;  // of a chain that is taken apart

uint32_t all_of(const PatternTerm& chain) { return (1u << chain.operands.size()) - 1; }

// Whether a sign may be shared out among the operands of a chain.
bool goes_within(Op head, Sign sign) {
  return head == Op::mul || (head == Op::add ? !sign.inverted : sign.is_plain());
}

// A negative product has one more negative factor, whichever; others have each part negative.
std::span<const Sign> signs_of(Op head) {
  static constexpr std::array<Sign, 2> kSigns = {Sign{}, kNegative};
  return {kSigns.data(), head == Op::mul ? kSigns.size() : 1};
}

}  // namespace

Sign Matcher::sign_of_operand(const PatternTerm& chain, uint32_t operand) const {
  if ((chain.inverse >> operand & 1) == 0) return {};
  return chain.op == Op::add ? kNegative : kInverted;
}

bool Matcher::solve_chain(const Goal& goal, Value v) {
  const PatternTerm& chain = term(goal.term);
  Goal whole = goal;
  whole.value = v;
  if (goal.subset == 0) {
    whole.subset = all_of(chain);
    if (chain.is_negative) whole.sign = whole.sign * kNegative;
  }
  const auto parts = parts_of(graph_, chain.op, v);
  const bool is_link = parts && goes_within(chain.op, whole.sign);
  if (is_link && solve_factors(whole, parts->first, parts->second)) return true;
  const auto inner = without_sign(graph_, v);
  if (!inner) {
    return !is_link && miss(v, "other-op",
                            "%" + std::to_string(v) + " = " + std::string(info(node(v).op).name) +
                                " stands where " + std::string(info(chain.op).name) + " should");
  }
  const Goal within{goal.term, whole.subset, inner->value, goal.then, whole.sign * inner->sign};
  return solve(&within);
}

// Some of the operands are in the first part, the others in the second.
bool Matcher::solve_factors(const Goal& goal, const ChainPart& first, const ChainPart& second) {
  const Op head = term(goal.term).op;
  for (uint32_t left = (goal.subset - 1) & goal.subset; left != 0;
       left = (left - 1) & goal.subset) {
    for (const Sign sign : signs_of(head)) {
      const Goal second_goal{
          goal.term,   goal.subset & ~left, second.value, goal.then, goal.sign * sign * second.sign,
          second.times};
      const Sign first_sign = head == Op::mul ? Sign{sign.negative, goal.sign.inverted} : goal.sign;
      const Goal first_goal{goal.term,  left, first.value, &second_goal, first_sign * first.sign,
                            first.times};
      if (solve(&first_goal)) return true;
    }
  }
  return false;
}

// At what the value is of but for its sign; a chain may have the sign within.
bool Matcher::solve_without_sign(const Goal& goal) {
  const PatternTerm& wanted = term(goal.term);
  if (is_chain(wanted) && goes_within(wanted.op, goal.sign)) {
    const Sign own = wanted.is_negative ? kNegative : Sign{};
    const Goal whole{goal.term, all_of(wanted), goal.value, goal.then, goal.sign * own};
    return solve(&whole);
  }
  return through_shapes(goal.value, [&](Value v) {
    const auto inner = without_sign(graph_, v);
    if (!inner) return false;
    inside_.push_back(v);
    const Goal within{goal.term, 0, inner->value, goal.then, goal.sign * inner->sign};
    return solve(&within);
  });
}

std::optional<Match> Matcher::match_part(const Pattern& pattern, Value root,
                                         const std::vector<char>& closed, Miss& miss) {
  begin(pattern, root, miss);
  const int index = pattern.roots[0];
  const PatternTerm& chain = term(index);
  if (!is_chain(chain) || pattern.roots.size() > 1 || goes_on(chain.op, root, closed)) {
    return std::nullopt;
  }
  grow(-1, {root}, closed);
  if (branches_.size() == 1) return std::nullopt;
  found_[static_cast<size_t>(index)] = root;
  const Sign own = chain.is_negative ? kNegative : Sign{};
  const Goal goal{index, all_of(chain), kAmongBranches, nullptr, own};
  if (!solve(&goal)) return std::nullopt;
  Match match = found();
  match.head = chain.op;
  match.rest_is_negative = has_sign() != takes_sign_;
  leave(0, match.rest);
  std::vector<Value> used;
  for (const Branch& branch : branches_) {
    if (branch.is_used) used.push_back(branch.part.value);
  }
  const std::optional<Shape> part = shape_of_all(graph_, used, match.inside);
  if (!part || part->size() > graph_.type(root).shape.size()) {
    this->miss(root, "other-shapes", "its chain has axes that come and go");
    return std::nullopt;
  }
  match.part.assign(graph_.type(root).shape.size() - part->size(), graph_.dims().constant(1));
  match.part.insert(match.part.end(), part->begin(), part->end());
  return match;
}

// Whether the chain is a part of another one, which is looked at as a whole.
bool Matcher::goes_on(Op head, Value v, const std::vector<char>& closed) const {
  const std::vector<Value>& users = users_.of(v);
  return users.size() == 1 && users[0] >= 0 && !closed[static_cast<size_t>(users[0])] &&
         parts_of(graph_, head, users[0]).has_value();
}

// Appends a branch with all that grows on it, and gives its index.
int Matcher::grow(int parent, ChainPart part, const std::vector<char>& closed) {
  const auto index = static_cast<int>(branches_.size());
  const bool is_product = term(pattern_->roots[0]).op == Op::mul;
  branches_.push_back({part, parent});
  std::vector<Value> seen;
  for (std::optional<Value> v = part.value; v && branches_.size() < kMostBranches; v = behind(*v)) {
    // What others need is not taken apart.
    if (parent >= 0 && (closed[static_cast<size_t>(*v)] || users_.of(*v).size() != 1)) break;
    seen.push_back(*v);
    const std::vector<ChainPart> parts = links_of(*v);
    if (parts.empty()) continue;
    std::vector<int> grown;
    for (const ChainPart& each : parts) {
      Sign sign = part.sign * each.sign;
      if (is_product && sign.negative) {  // that of the whole
        branches_[static_cast<size_t>(index)].is_negative = true;
        sign.negative = false;
      }
      grown.push_back(grow(index, {each.value, sign}, closed));
    }
    branches_[static_cast<size_t>(index)].looked_through = std::move(seen);
    branches_[static_cast<size_t>(index)].grown = std::move(grown);
    break;
  }
  return index;
}

// What a node of the chain may be taken apart to.
std::vector<ChainPart> Matcher::links_of(Value v) const {
  const Op head = term(pattern_->roots[0]).op;
  const auto inner = without_sign(graph_, v);
  if (inner && goes_within(head, inner->sign)) return {*inner};
  const auto parts = parts_of(graph_, head, v);
  if (!parts || parts->first.value == parts->second.value) return {};
  return {parts->first, parts->second};
}

// On each branch that is free, the next operand, alone or with others.
bool Matcher::solve_among_branches(const Goal& goal) {
  const uint32_t next = next_operand(goal), others = goal.subset & ~next;
  for (Branch& branch : branches_) {
    if (branch.is_used || !branch.grown.empty()) continue;
    const size_t before = inside_.size();
    branch.is_used = true;
    for (int on = branch.parent; on >= 0; on = branches_[static_cast<size_t>(on)].parent) {
      const std::vector<Value>& seen = branches_[static_cast<size_t>(on)].looked_through;
      inside_.insert(inside_.end(), seen.begin(), seen.end());
    }
    // What has all operands is matched itself, so a part has fewer branches once it is replaced.
    for (uint32_t more = 0; (next | more) != all_of(term(goal.term));) {
      if (solve_on_branch(goal, next | more, branch.part)) return true;
      more = (more - others) & others;
      if (more == 0) break;
    }
    branch.is_used = false;
    inside_.resize(before);
  }
  return false;
}

bool Matcher::solve_on_branch(const Goal& goal, uint32_t operands, const ChainPart& part) {
  const uint32_t left = goal.subset & ~operands;
  const size_t before = inside_.size();
  for (const Sign sign : signs_of(term(goal.term).op)) {
    const Goal later{goal.term, left, kAmongBranches, goal.then, goal.sign * sign};
    const Goal here{goal.term, operands, part.value, left != 0 ? &later : goal.then,
                    part.sign * sign};
    // A sign that no operand has is the chain's own, or there is none to have.
    takes_sign_ = left == 0 && later.sign.negative;
    if (takes_sign_ && !has_sign()) continue;
    if (solve(&here)) return true;
    inside_.resize(before);
  }
  return false;
}

// Variables are last, for they are anything.
uint32_t Matcher::next_operand(const Goal& goal) const {
  const PatternTerm& chain = term(goal.term);
  for (uint32_t k = 0; k < chain.operands.size(); ++k) {
    const bool is_left = (goal.subset >> k & 1) != 0;
    if (is_left && term(chain.operands[k]).kind != PatternTerm::Kind::variable) return 1u << k;
  }
  return goal.subset & -goal.subset;
}

bool Matcher::is_used(int branch) const {
  const Branch& looked = branches_[static_cast<size_t>(branch)];
  return looked.is_used || std::ranges::any_of(looked.grown, [&](int on) { return is_used(on); });
}

// Whether what is taken apart of a product is negative, but for the values it is taken apart to.
bool Matcher::has_sign() const {
  bool is_negative = false;
  for (size_t k = 0; k < branches_.size(); ++k) {
    if (branches_[k].is_negative && is_used(static_cast<int>(k))) is_negative = !is_negative;
  }
  return is_negative;
}

// Appends what the pattern has not.
void Matcher::leave(int branch, std::vector<ChainPart>& rest) const {
  const Branch& looked = branches_[static_cast<size_t>(branch)];
  if (!is_used(branch)) {
    rest.push_back(looked.part);
  } else {
    for (const int on : looked.grown) leave(on, rest);
  }
}

}  // namespace dvm::core
