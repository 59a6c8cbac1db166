#include "core/rewrite/rewrite.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/graph/infer.h"
#include "core/passes/passes.h"
#include "core/rewrite/shapes.h"

namespace dvm::core {

namespace {

// Of what nearly matched, that is told which had at least so many nodes.
constexpr size_t kNear = 3;

// One round: the matches of a Graph, no node in two of them.
class Selection {
 public:
  Selection(const Graph& graph, const std::vector<Pattern>& patterns, const std::vector<char>& made,
            std::vector<Miss>& misses)
      : graph_(graph), matcher_(graph), owner_(static_cast<size_t>(graph.size()), -1) {
    for (Value v = graph.size() - 1; v >= 0; --v) {
      if (made[static_cast<size_t>(v)] || owner_[static_cast<size_t>(v)] >= 0) continue;
      if (!matcher_.users().is_needed(v)) continue;
      Miss nearest;
      bool found = false;
      for (size_t k = 0; k < patterns.size() && !found; ++k) {
        if (!may_begin(patterns[k], v)) continue;
        auto match = matcher_.match(patterns[k], v, nearest);
        if (!match) continue;
        match->pattern = static_cast<int>(k);
        found = take(std::move(*match), nearest);
      }
      if (!found && nearest.nodes >= kNear) misses.push_back(std::move(nearest));
    }
  }

  const std::vector<Match>& matches() const { return matches_; }
  int owner(Value v) const { return owner_[static_cast<size_t>(v)]; }

 private:
  bool may_begin(const Pattern& pattern, Value v) const {
    const PatternTerm& root = pattern.terms[static_cast<size_t>(pattern.roots[0])];
    const Op op = graph_.node(v).op;
    switch (root.kind) {
      case PatternTerm::Kind::split:
        return op == Op::slice;
      case PatternTerm::Kind::join:
        return op == Op::update;
      default:
        return op == root.op;
    }
  }

  bool take(Match match, Miss& miss) {
    const auto taken = [&](Value v) { return owner(v) >= 0; };
    if (std::ranges::any_of(match.inside, taken)) return false;  // the next round has it
    if (const char* reason = in_between(match)) {
      miss = {match.roots[0], match.roots[0], "in-between", reason, match.inside.size()};
      return false;
    }
    for (const Value v : match.inside) owner_[static_cast<size_t>(v)] = size();
    matches_.push_back(std::move(match));
    return true;
  }

  int size() const { return static_cast<int>(matches_.size()); }

  // Why roots cannot be made at once, all of them.
  const char* in_between(const Match& match) const {
    if (match.roots.size() == 1) return nullptr;
    const auto [first, last] = std::ranges::minmax(match.roots);
    std::vector<char> behind(static_cast<size_t>(last - first + 1), 0);
    for (Value v = first; v <= last; ++v) {
      char& is_behind = behind[static_cast<size_t>(v - first)];
      is_behind = std::ranges::find(match.roots, v) != match.roots.end();
      for (const Value operand : graph_.node(v).inputs) {
        if (operand >= first && behind[static_cast<size_t>(operand - first)]) is_behind = 1;
      }
      if (!is_behind) continue;
      if (op_class(graph_.node(v).op) == OpClass::opaque) return "a call needs one of the results";
      if (std::ranges::find(match.variables, v) != match.variables.end()) {
        return "one of the results is needed to compute the others";
      }
    }
    return nullptr;
  }

  const Graph& graph_;
  Matcher matcher_;
  std::vector<int> owner_;  // of each node, the match that it is in; -1: none
  std::vector<Match> matches_;
};

// Copies a Graph, with something else where matches are.
class Emission {
 public:
  Emission(const Graph& from, Graph& to, const Selection& selection, const Replace& replace,
           std::vector<char>& made)
      : from_(from),
        to_(to),
        selection_(selection),
        replace_(replace),
        made_(made),
        looked_(looked_at(from)),
        map_(static_cast<size_t>(from.size()), -1),
        is_done_(selection.matches().size(), 0) {}

  RewriteCounts run(const std::vector<char>& made_before) {
    for (Value v = 0; v < from_.size(); ++v) {
      const int owner = selection_.owner(v);
      // What is within a match is made when something needs it after all.
      if (owner >= 0 && v != last_root(owner)) continue;
      if (owner < 0 && waits(v)) continue;
      emit(v);
      if (owner >= 0) emit_waiting();
    }
    for (Value v = 0; v < from_.size(); ++v) {
      if (made_before[static_cast<size_t>(v)] && map_[static_cast<size_t>(v)] >= 0) {
        mark(map_[static_cast<size_t>(v)]);
      }
    }
    for (const Value v : std::exchange(waiting_, {})) emit(v);
    for (const Value v : from_.outputs) to_.outputs.push_back(emit(v));
    made_.resize(static_cast<size_t>(to_.size()), 0);
    return counts_;
  }

 private:
  Value last_root(int match) const {
    return std::ranges::max(selection_.matches()[static_cast<size_t>(match)].roots);
  }

  // Whether it needs a root of several, of which the last is yet to come.
  bool waits(Value v) {
    const bool does = std::ranges::any_of(from_.node(v).inputs, [&](Value operand) {
      if (map_[static_cast<size_t>(operand)] >= 0) return false;
      const int owner = selection_.owner(operand);
      return owner < 0 || !is_done_[static_cast<size_t>(owner)];
    });
    if (does) waiting_.push_back(v);
    return does;
  }
  void emit_waiting() {
    for (const Value v : std::exchange(waiting_, {})) {
      if (!waits(v)) emit(v);
    }
  }

  Value emit(Value v) {
    Value& known = map_[static_cast<size_t>(v)];
    if (known >= 0) return known;
    const int owner = selection_.owner(v);
    if (owner >= 0 && !is_done_[static_cast<size_t>(owner)]) {
      is_done_[static_cast<size_t>(owner)] = 1;
      emit_match(selection_.matches()[static_cast<size_t>(owner)]);
      if (known >= 0) return known;
    }
    Node copy = from_.node(v);
    for (Value& operand : copy.inputs) operand = emit(operand);
    return known = to_.append(std::move(copy));
  }

  void emit_match(const Match& match) {
    const Node& root = from_.node(match.roots[0]);
    Site site{match.pattern, {}, {}, {}, match.roots[0], root.loc};
    for (const Value v : match.variables) {
      site.variables.push_back(v < 0 ? v : as_computed(match, emit(v)));
    }
    for (const Value v : match.operands) site.operands.push_back(emit(v));
    for (const Value v : match.roots) site.types.push_back(from_.type(v));
    const int before = to_.size();
    const auto values = replace_(to_, from_, site);
    if (!values) {
      ++counts_.declined;
      // Declined once is declined: the next round does not ask again.
      for (const Value v : match.roots) mark(emit(v));
      return;
    }
    if (values->size() != match.roots.size()) {
      fail(ErrorCode::pass_failed, site.loc,
           "a replacement gives " + std::to_string(values->size()) + " values for " +
               std::to_string(match.roots.size()));
    }
    for (size_t k = 0; k < values->size(); ++k) {
      const Value root_k = match.roots[k];
      map_[static_cast<size_t>(root_k)] = in_place_of(root_k, fitted(root_k, (*values)[k]), before);
    }
    to_.locate(before, site.loc);
    for (Value v = before; v < to_.size(); ++v) mark(v);
    ++counts_.replaced;
  }

  // A variable in the dtype that the match goes over to within.
  Value as_computed(const Match& match, Value v) {
    const auto is_cast = [&](Value inside) { return from_.node(inside).op == Op::cast; };
    if (to_.node(v).op == Op::constant || std::ranges::none_of(match.inside, is_cast)) return v;
    const DType wide = from_.type(match.roots[0]).dtype, dtype = to_.type(v).dtype;
    const bool widens =
        is_floating(wide) && is_floating(dtype) && byte_size(dtype) < byte_size(wide);
    return widens ? to_.cast(v, wide) : v;
  }

  void mark(Value v) {
    if (static_cast<size_t>(v) >= made_.size()) made_.resize(static_cast<size_t>(v) + 1, 0);
    made_[static_cast<size_t>(v)] = 1;
  }

  // The value in the shape and dtype of what it stands for, where NumPy gives it these.
  Value fitted(Value old, Value made) {
    const Type wanted = from_.type(old);
    const auto refuse = [&] {
      fail(ErrorCode::pass_failed, from_.node(old).loc,
           "%" + std::to_string(old) + " = " + std::string(info(from_.node(old).op).name) + " is " +
               to_string(wanted) + ", its replacement " + to_string(to_.type(made)));
    };
    if (made < 0 || made >= to_.size()) {
      fail(ErrorCode::pass_failed, from_.node(old).loc,
           "a replacement gives %" + std::to_string(made) + ", which is no node of its graph");
    }
    if (to_.type(made).dtype != wanted.dtype) {
      if (!is_floating(to_.type(made).dtype) || !is_floating(wanted.dtype)) refuse();
      made = to_.cast(made, wanted.dtype);
    }
    if (to_.type(made).shape == wanted.shape) return made;
    const Shape& given = to_.type(made).shape;
    const Node reshape{.op = Op::reshape, .inputs = {made}, .attrs = {}, .type = wanted, .loc = {}};
    if (given.size() > wanted.shape.size() && adds_or_drops_ones(to_, reshape)) {
      return to_.reshape(made, wanted.shape);
    }
    if (!repeats(given, wanted.shape)) refuse();
    return to_.broadcast(made, wanted.shape);
  }

  // Whether NumPy repeats the one to the other, as far as sizes are known. Where NumPy repeated
  // several values to such a size, calls check that it is this one's.
  static bool repeats(const Shape& from, const Shape& to) {
    if (from.size() > to.size()) return false;
    const size_t lead = to.size() - from.size();
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d].as_constant() != 1 && !is_part_of(from[d], to[lead + d])) return false;
    }
    return true;
  }

  static bool is_part_of(Dim part, Dim whole) {
    if (part == whole) return true;
    const DimAtom* const atom = whole.as_atom();
    return atom != nullptr && atom->kind == DimKind::bcast &&
           (is_part_of(part, atom->lhs) || is_part_of(part, atom->rhs));
  }

  // Nothing of older memory takes the place of a new array that the caller gets or writes to.
  Value in_place_of(Value old, Value made, int before) {
    if (!looked_[static_cast<size_t>(old)]) return made;
    Value base = made;
    while (op_class(to_.node(base).op) == OpClass::view) base = to_.node(base).inputs[0];
    if (base >= before) return made;
    if (to_.type(made).dtype == DType::boolean) {
      return to_.elementwise(Op::logical_or, std::array{made, made});
    }
    return to_.elementwise(Op::positive, std::array{made});
  }

  const Graph& from_;
  Graph& to_;
  const Selection& selection_;
  const Replace& replace_;
  std::vector<char>& made_;
  const std::vector<char> looked_;
  std::vector<Value> map_;  // -1: not made yet
  std::vector<char> is_done_;
  std::vector<Value> waiting_;
  RewriteCounts counts_;
};

}  // namespace

RewriteCounts rewrite(const Graph& from, const std::vector<Pattern>& patterns, Graph& to,
                      const Replace& replace, std::vector<Miss>& misses,
                      const RewriteOptions& options) {
  const int most = options.most_per_node * (from.size() + 10);
  RewriteCounts counts;
  Graph current = from;
  std::vector<char> made(static_cast<size_t>(from.size()), 0);
  while (true) {
    misses.clear();
    const Selection selection(current, patterns, made, misses);
    if (selection.matches().empty()) break;
    Graph next(from.shared_dims());
    std::vector<char> made_next;
    const RewriteCounts round = Emission(current, next, selection, replace, made_next).run(made);
    ++counts.rounds;
    counts.replaced += round.replaced;
    counts.declined += round.declined;
    if (counts.replaced + counts.declined > most) {
      const Loc loc = current.node(selection.matches()[0].roots[0]).loc;
      fail(ErrorCode::pass_failed, loc,
           "it comes to no end: " + std::to_string(counts.replaced) +
               " replacements in a graph of " + std::to_string(from.size()) + " nodes");
    }
    current = std::move(next);
    made = options.again && round.replaced > 0 ? std::vector<char>(made_next.size(), 0)
                                               : std::move(made_next);
  }
  to = std::move(current);
  return counts;
}

}  // namespace dvm::core
