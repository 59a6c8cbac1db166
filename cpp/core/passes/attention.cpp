// Attention as programs write it: a product of q and k^T, maybe scaled and masked, its softmax
// along the last axis (the greatest is subtracted, exponentials are divided by their sum), and the
// product of that and v. Recognised where nothing else needs a value in between.
#include <algorithm>
#include <array>
#include <optional>

#include "core/graph/infer.h"
#include "core/passes/passes.h"
#include "core/rewrite/matcher.h"

namespace dvm::core {

namespace {

// What a program does to scores between the two products.
struct Scores {
  Value q = -1, transposed_k = -1;
  Value times = -1, over = -1;  // a number that is no constant
  double scale = 1;
  Value mask = -1;
  bool shows = true;  // whether a mask of bools is true where scores stay
  std::optional<double> fill;
  std::vector<Loc> lines;  // of what is in between, each once
};

// exp(x - max(x)) / sum(exp(x - max(x))) along the last axis; x is the variable. No scores at all
// have no greatest; the attention checks that there are some.
Pattern softmax(Op greatest) {
  using Kind = PatternTerm::Kind;
  return {.terms = {{.kind = Kind::variable, .variable = 0},
                    {.kind = Kind::op, .op = greatest, .operands = {0}, .axes = {-1}},
                    {.kind = Kind::op, .op = Op::sub, .operands = {0, 1}},
                    {.kind = Kind::op, .op = Op::exp, .operands = {2}},
                    {.kind = Kind::op, .op = Op::sum, .operands = {3}, .axes = {-1}},
                    {.kind = Kind::op, .op = Op::div, .operands = {3, 4}}},
          .roots = {5},
          .variables = 1,
          .may_be_needed = true};
}

class Recognizer {
 public:
  Recognizer(const Graph& graph, DTypeSet halves, std::vector<Decision>& decisions)
      : graph_(graph), halves_(halves), decisions_(decisions) {}

  // The scores of the attention whose result is `v`.
  std::optional<Scores> find(Value v) {
    within_ = {v};
    const Node& product = node(v);
    if (product.op != Op::matmul || !computes_as_floats(product.type.dtype)) return std::nullopt;
    const std::optional<Value> masked = softmax_of(product.inputs[0]);
    if (!masked) return std::nullopt;
    std::optional<Scores> scores = scores_of(*masked);
    if (!scores) return std::nullopt;
    for (const Value made : {product.inputs[1], scores->q}) {
      if (graph_.type(made).dtype != product.type.dtype) return std::nullopt;
    }
    if (!is_alone(v)) return std::nullopt;
    for (const Value inner : within_) {
      const Loc& loc = node(inner).loc;
      const auto same = [&](const Loc& other) { return other == loc; };
      if (std::none_of(scores->lines.begin(), scores->lines.end(), same)) {
        scores->lines.push_back(loc);
      }
    }
    return scores;
  }

 private:
  const Node& node(Value v) const { return graph_.node(v); }

  // Halves that a target rounds to in between stay as they are.
  bool computes_as_floats(DType dtype) const {
    return is_floating(dtype) && (computes_in(dtype) == dtype || halves_.contains(dtype));
  }

  // The operands of such a node, which is in between then.
  const std::vector<Value>* operands(Value v, Op op) {
    if (node(v).op != op) return nullptr;
    within_.push_back(v);
    return &node(v).inputs;
  }

  // What it is the softmax of.
  std::optional<Value> softmax_of(Value v) {
    if (node(v).op != Op::div) return std::nullopt;
    if (!matcher_) matcher_.emplace(graph_);
    static const auto* const patterns =
        new std::array{softmax(Op::max), softmax(Op::max_or_lowest)};
    for (const Pattern& pattern : *patterns) {
      Miss miss;
      const std::optional<Match> match = matcher_->match(pattern, v, miss);
      if (!match) continue;
      within_.insert(within_.end(), match->inside.begin(), match->inside.end());
      return match->variables[0];
    }
    return std::nullopt;
  }

  // The number that a value repeats, whether its memory or known without.
  std::optional<Value> number(Value v) const {
    if (node(v).op != Op::broadcast) return std::nullopt;
    const Value from = node(v).inputs[0];
    return graph_.type(from).shape.empty() ? std::optional(from) : std::nullopt;
  }
  std::optional<double> constant(Value v) const {
    const std::optional<Value> from = number(v);
    if (!from || node(*from).op != Op::constant) return std::nullopt;
    return node(*from).attrs.value.as_float();
  }

  std::optional<Scores> scores_of(Value v) {
    const Node& last = node(v);
    if (last.op == Op::select) {
      const Value shown = constant(last.inputs[2]) ? last.inputs[1] : last.inputs[2];
      const Value hidden = shown == last.inputs[1] ? last.inputs[2] : last.inputs[1];
      const auto fill = constant(hidden);
      if (!fill || number(last.inputs[0])) return std::nullopt;
      within_.push_back(v);
      std::optional<Scores> scores = scaled(shown);
      if (!scores) return std::nullopt;
      scores->mask = last.inputs[0];
      scores->shows = shown == last.inputs[1];
      scores->fill = fill;
      return scores;
    }
    if (last.op == Op::add) {
      within_.push_back(v);
      for (const int k : {0, 1}) {
        const size_t before = within_.size();
        const Value mask = last.inputs[static_cast<size_t>(1 - k)];
        std::optional<Scores> scores = scaled(last.inputs[static_cast<size_t>(k)]);
        if (scores && !number(mask)) {
          scores->mask = mask;
          return scores;
        }
        within_.resize(before);
      }
      return std::nullopt;
    }
    return scaled(v);
  }

  std::optional<Scores> scaled(Value v) {
    const Node& last = node(v);
    if (last.op != Op::mul && last.op != Op::div) return product_of(v);
    const bool divides = last.op == Op::div;
    const size_t by = number(last.inputs[1]) || divides ? 1 : 0;
    const std::optional<Value> factor = number(last.inputs[by]);
    if (!factor) return std::nullopt;
    within_.push_back(v);
    std::optional<Scores> scores = product_of(last.inputs[1 - by]);
    if (!scores) return std::nullopt;
    if (const auto known = constant(last.inputs[by])) {
      scores->scale = divides ? 1 / *known : *known;
    } else {
      (divides ? scores->over : scores->times) = *factor;
    }
    return scores;
  }

  std::optional<Scores> product_of(Value v) {
    const auto* const factors = operands(v, Op::matmul);
    if (factors == nullptr || node(v).type.dtype != graph_.type((*factors)[0]).dtype)
      return std::nullopt;
    Scores scores;
    scores.q = (*factors)[0];
    scores.transposed_k = (*factors)[1];
    return scores;
  }

  // Whether nothing but the attention needs what is in between.
  bool is_alone(Value result) {
    for (const Value v : within_) {
      if (v == result) continue;
      for (const Value user : matcher_->users().of(v)) {
        if (std::find(within_.begin(), within_.end(), user) != within_.end()) continue;
        const std::string name = "%" + std::to_string(v);
        decisions_.push_back({"attention %" + std::to_string(result), "no", "scores-needed",
                              name + " is needed by more than the attention", 0, node(result).loc});
        return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const DTypeSet halves_;
  std::vector<Decision>& decisions_;
  std::optional<Matcher> matcher_;  // once there is a candidate: most graphs have none
  std::vector<Value> within_;       // the nodes of the attention that is looked at
};

class Rewriting {
 public:
  Rewriting(const Graph& from, DTypeSet halves, std::vector<Decision>& decisions)
      : from_(from),
        recognizer_(from, halves, decisions),
        decisions_(decisions),
        rewriter_(from),
        graph_(rewriter_.graph()) {}

  Graph run() {
    for (Value v = 0; v < from_.size(); ++v) {
      const std::optional<Scores> scores = recognizer_.find(v);
      if (scores) {
        rewriter_.set_next(attention(v, *scores));
      } else {
        rewriter_.copy_next(from_.node(v));
      }
    }
    return rewriter_.finish();
  }

 private:
  Value attention(Value v, const Scores& scores) {
    const Node& product = from_.node(v);
    const Loc loc = product.loc;
    Value q = rewriter_.map(scores.q);
    if (scores.times >= 0) q = scaled(Op::mul, q, rewriter_.map(scores.times), loc);
    if (scores.over >= 0) q = scaled(Op::div, q, rewriter_.map(scores.over), loc);
    std::vector<Value> inputs = {q, turned(rewriter_.map(scores.transposed_k), loc),
                                 rewriter_.map(product.inputs[1])};
    AttentionForm form{.scale = scores.scale};
    if (scores.mask >= 0) inputs.push_back(mask(rewriter_.map(scores.mask), scores.shows, loc));
    if (scores.fill) form.fill = *scores.fill;
    const Node& weights = from_.node(product.inputs[0]);
    // A record for each line, so that a profile can say which lines this one operation computes.
    for (const Loc& line : scores.lines) {
      decisions_.push_back({"attention %" + std::to_string(v), "yes", "softmax-of-products",
                            "scores of shape " + to_string(weights.type.shape) + " need no memory",
                            0, line});
    }
    return graph_.attention(inputs, form, loc);
  }

  Value scaled(Op op, Value q, Value factor, Loc loc) {
    const Value operands[] = {q, graph_.broadcast(factor, graph_.type(q).shape, loc)};
    return graph_.elementwise(op, operands, loc);
  }

  // What k^T is a view of, or a view of that.
  Value turned(Value v, Loc loc) {
    const int rank = graph_.type(v).rank();
    std::vector<int> axes(static_cast<size_t>(rank));
    for (int d = 0; d < rank; ++d) axes[static_cast<size_t>(d)] = d;
    std::swap(axes[static_cast<size_t>(rank) - 2], axes[static_cast<size_t>(rank) - 1]);
    const Node& made = graph_.node(v);
    if (made.op == Op::transpose && made.attrs.axes == axes) return made.inputs[0];
    return graph_.transpose(v, std::move(axes), loc);
  }

  // Of one that is repeated, few elements are turned round.
  Value mask(Value v, bool shows, Loc loc) {
    if (shows) return v;
    const Node made = graph_.node(v);
    const bool repeats = made.op == Op::broadcast;
    const Value operand[] = {repeats ? made.inputs[0] : v};
    const Value hides = graph_.elementwise(Op::logical_not, operand, loc);
    return repeats ? graph_.broadcast(hides, made.type.shape, loc) : hides;
  }

  const Graph& from_;
  Recognizer recognizer_;
  std::vector<Decision>& decisions_;
  Rewriter rewriter_;
  Graph& graph_;
};

}  // namespace

Graph pass_attention(Graph graph, DTypeSet halves, std::vector<Decision>& decisions) {
  if (!has(graph, Op::matmul)) return graph;
  return Rewriting(graph, halves, decisions).run();
}

}  // namespace dvm::core
