#include "core/rewrite/rewrite.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/error.h"
#include "core/graph/infer.h"
#include "core/passes/passes.h"
#include "core/rewrite/repeats.h"
#include "core/rewrite/selection.h"
#include "core/rewrite/shapes.h"

namespace dvm::core {

namespace {

// Copies a Graph, with something else where matches are.
class Emission {
 public:
  Emission(const Graph& from, Graph& to, const Selection& selection, const Replace& replace,
           const Repeats& repeats, std::vector<Made>& made)
      : from_(from),
        to_(to),
        selection_(selection),
        replace_(replace),
        made_(made),
        repeats_(repeats),
        looked_(looked_at(from)),
        map_(static_cast<size_t>(from.size()), -1),
        is_done_(selection.matches().size(), 0) {}

  RewriteCounts run(const std::vector<Made>& made_before) {
    for (Value v = 0; v < from_.size(); ++v) {
      const int owner = selection_.owner(v);
      // What is within a match is made when something needs it after all.
      if (owner >= 0 && v != last_root(owner)) continue;
      if (owner < 0 && waits(v)) continue;
      emit(v);
      if (owner >= 0) emit_waiting();
    }
    for (Value v = 0; v < from_.size(); ++v) {
      const Made before = made_before[static_cast<size_t>(v)];
      const Value now = map_[static_cast<size_t>(v)];
      // What stands for a root is marked as that, whatever was there before.
      if (before != Made::no && now >= 0 && !is_root(v)) mark(now, before);
    }
    for (const Value v : std::exchange(waiting_, {})) emit(v);
    for (const Value v : from_.outputs) to_.outputs.push_back(emit(v));
    made_.resize(static_cast<size_t>(to_.size()), Made::no);
    return counts_;
  }

 private:
  bool is_root(Value v) const {
    const int owner = selection_.owner(v);
    if (owner < 0) return false;
    const std::vector<Value>& roots = selection_.matches()[static_cast<size_t>(owner)].roots;
    return std::ranges::find(roots, v) != roots.end();
  }
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
    const bool is_part = match.head != Op::input;
    if (is_part) site.types[0].shape = match.part;
    std::vector<ChainPart> rest = match.rest;
    for (ChainPart& each : rest) each.value = emit(before_broadcasts(from_, each.value));
    const int before = to_.size();
    const auto values = replace_(to_, from_, site);
    if (!values) {
      ++counts_.declined;
      // Declined once is declined: the next round does not ask again.
      for (const Value v : match.roots) mark(emit(v), Made::stands_for_match);
      return;
    }
    if (values->size() != match.roots.size()) {
      fail(ErrorCode::pass_failed, site.loc,
           "a replacement gives " + std::to_string(values->size()) + " values for " +
               std::to_string(match.roots.size()));
    }
    int joins = 0;
    for (size_t k = 0; k < values->size(); ++k) {
      const Value root_k = match.roots[k];
      Value made = fitted(root_k, (*values)[k], site.types[k]);
      joins = to_.size();
      if (is_part) made = joined(match, made, rest);
      map_[static_cast<size_t>(root_k)] = in_place_of(root_k, made, before);
    }
    to_.locate(before, site.loc);
    for (Value v = before; v < to_.size(); ++v) {
      mark(v, !is_part || v < joins ? Made::stands_for_match : Made::joins_rest);
    }
    ++counts_.replaced;
  }

  // What stands for a part of a chain, and the rest of the chain behind it.
  Value joined(const Match& match, Value made, const std::vector<ChainPart>& rest) {
    const Type& wanted = from_.type(match.roots[0]);
    for (const ChainPart& each : rest) {
      const Value other = to_.type(each.value).dtype == wanted.dtype
                              ? each.value
                              : to_.cast(each.value, wanted.dtype);
      const Shape both = repeated(to_.type(made).shape, to_.type(other).shape);
      const auto spread = [&](Value v) {
        return to_.type(v).shape == both ? v : to_.broadcast(v, both);
      };
      made =
          to_.elementwise(joining(match.head, each.sign), std::array{spread(made), spread(other)});
    }
    if (match.rest_is_negative) made = to_.elementwise(Op::neg, std::array{made});
    return fitted(match.roots[0], made, wanted);
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

  void mark(Value v, Made as) {
    if (static_cast<size_t>(v) >= made_.size()) made_.resize(static_cast<size_t>(v) + 1, Made::no);
    made_[static_cast<size_t>(v)] = as;
  }

  // The value in the shape and dtype of what it stands for, where NumPy gives it these.
  Value fitted(Value old, Value made, const Type& wanted) {
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
    if (!repeats_.fit(given, wanted.shape)) refuse();
    return to_.broadcast(made, wanted.shape);
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
  std::vector<Made>& made_;
  const Repeats& repeats_;
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
  const Repeats repeats(from);
  std::vector<Made> made(static_cast<size_t>(from.size()), Made::no);
  while (true) {
    misses.clear();
    const Selection selection(current, patterns, made, misses);
    if (selection.matches().empty()) break;
    Graph next(from.shared_dims());
    std::vector<Made> made_next;
    const RewriteCounts round =
        Emission(current, next, selection, replace, repeats, made_next).run(made);
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
    if (options.again && round.replaced > 0) made_next.assign(made_next.size(), Made::no);
    made = std::move(made_next);
  }
  to = std::move(current);
  return counts;
}

}  // namespace dvm::core
