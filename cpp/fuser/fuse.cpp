// The walk that merges groups, and what it leaves behind: Regions, their order, and a Decision for
// every edge, taken or not.
#include "fuser/fuse.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "fuser/factors.h"
#include "fuser/grouping.h"

namespace dvm::fuser {

using core::Decision;
using core::Op;
using core::OpClass;
using core::Value;

namespace {

std::string name_of(Value v) { return "%" + std::to_string(v); }

// Where reshapes of known sizes are checked before all else, proofs may use what they state.
std::vector<Equality> entry_equalities(const core::Graph& graph, const Flow& flow) {
  std::vector<char> known(static_cast<size_t>(graph.dims().symbol_count()), 0);
  for (const core::Node& node : graph.nodes()) {
    if (node.op == Op::scalar && node.attrs.size)
      known[static_cast<size_t>(node.attrs.size.symbol_index())] = 1;
    if (node.op != Op::input) continue;
    for (core::Dim dim : node.type.shape) {
      if (dim.is_symbol()) known[static_cast<size_t>(dim.symbol_index())] = 1;
    }
  }
  auto elements = [&](const core::Shape& shape) {
    core::Dim product = graph.dims().constant(1);
    for (core::Dim dim : shape) product = product * dim;
    return product;
  };
  auto is_known = [&](core::Dim dim) {
    const std::vector<int> symbols = core::symbols_of(dim);
    return !dim.is_overflow() && std::all_of(symbols.begin(), symbols.end(), [&](int symbol) {
      return known[static_cast<size_t>(symbol)] != 0;
    });
  };
  std::vector<Equality> equalities;
  for (Value v = 0; v < graph.size(); ++v) {
    if (graph.node(v).op != Op::reshape || !flow[v].live) continue;
    const core::Dim from = elements(graph.type(graph.node(v).inputs[0]).shape);
    const core::Dim to = elements(graph.type(v).shape);
    if (from != to && is_known(from) && is_known(to)) equalities.emplace_back(from, to);
  }
  return equalities;
}

class Fuser {
 public:
  Fuser(const core::Graph& graph, const Limits& limits)
      : graph_(graph),
        flow_(graph),
        facts_(graph.shared_dims()),
        nominal_sizes_(nominal_sizes(graph.dims())),
        assumed_(entry_equalities(graph, flow_)),
        groups_(graph, flow_, with_assumptions(), limits),
        makes_factors_(limits.factors) {}

  Fusion run(const Hints& hints) {
    for (const auto& [a, b] : hints.apart) groups_.keep_apart(a, b);
    join();
    if (!hints.together.empty()) bring_together(hints);
    join_factors();
    for (int group : groups_.order()) emit(group);
    record_edges();
    result_.assumed = std::move(assumed_);
    return std::move(result_);
  }

  Decision explain(Value a, Value b);

 private:
  void join() {
    join_edges();
    // Siblings may have brought all readers of a value together.
    if (join_siblings()) join_edges();
  }

  const core::Facts& with_assumptions() {
    for (const auto& [a, b] : assumed_) facts_.add_equal(a, b);
    return facts_;
  }

  void bring_together(const Hints& hints) {
    for (const auto& [a, b] : hints.assumed) facts_.add_equal(a, b);
    groups_.forget_proofs();
    bool joined = false;
    for (const auto& [a, b] : hints.together) {
      const Value first = std::min(a, b), second = std::max(a, b);
      if (groups_.group_of(first) < 0 || groups_.group_of(second) < 0) continue;
      if (groups_.group_of(first) == groups_.group_of(second)) continue;
      const bool computed = flow_[first].computed && flow_[second].computed;
      joined |= computed && !groups_.merge(first, second, reads(second, first));
    }
    if (joined) assumed_.insert(assumed_.end(), hints.assumed.begin(), hints.assumed.end());
  }
  bool reads(Value consumer, Value producer) const {
    const std::vector<Value>& sources = flow_[consumer].sources;
    return std::find(sources.begin(), sources.end(), producer) != sources.end();
  }

  void join_edges() {
    for (Value consumer = 0; consumer < graph_.size(); ++consumer) {
      if (!flow_[consumer].computed) continue;
      for (Value producer : flow_[consumer].sources) {
        if (!flow_[producer].computed) continue;
        const std::optional<Refusal> refusal = groups_.merge(producer, consumer, true);
        if (refusal) refusals_[{producer, consumer}] = *refusal;
      }
    }
  }

  // Behind all merges, for what makes a factor goes over other dims than what follows the product.
  void join_factors() {
    if (!makes_factors_) return;
    for (Value product = 0; product < graph_.size(); ++product) {
      if (!flow_[product].computed || graph_.node(product).op != Op::matmul) continue;
      const Value factor = graph_.node(product).inputs[0];
      if (!flow_[factor].computed) continue;
      std::optional<Refusal> refusal = refuse_factor(graph_, groups_, product);
      if (!refusal) refusal = groups_.absorb(factor, product);
      if (refusal) refusals_[{factor, product}] = *refusal;
    }
  }

  // Two Regions over one space that read the same tensor read it once when they are one.
  bool join_siblings() {
    // A popular tensor has many readers, and every pair would be a question.
    constexpr size_t kNeighbours = 4;
    bool joined = false;
    for (Value tensor = 0; tensor < graph_.size(); ++tensor) {
      const std::vector<Value>& readers = flow_[tensor].readers;
      for (size_t i = 1; i < readers.size(); ++i) {
        const size_t first = i > kNeighbours ? i - kNeighbours : 0;
        for (size_t k = i; k-- > first;) joined |= join_sibling(tensor, readers[k], readers[i]);
      }
    }
    return joined;
  }

  bool join_sibling(Value tensor, Value a, Value b) {
    if (groups_.group_of(a) == groups_.group_of(b)) return false;
    if (graph_.type(a).rank() != graph_.type(b).rank()) return false;
    if (groups_.merge(a, b, false)) return false;
    result_.decisions.push_back({"fuse " + name_of(a) + " with " + name_of(b), "yes",
                                 "shared-input",
                                 name_of(tensor) + " is read once, which saves " +
                                     core::to_string(bytes(tensor)) + " bytes",
                                 nominal(bytes(tensor)), graph_.node(b).loc});
    return true;
  }

  core::Dim bytes(Value v) const {
    core::Dim product = graph_.dims().constant(core::byte_size(graph_.type(v).dtype));
    for (core::Dim dim : graph_.type(v).shape) product = product * dim;
    return product;
  }

  // A number to rank decisions by where sizes are symbolic: every symbol counts as 1024, or as the
  // nearest size it may have.
  static std::vector<int64_t> nominal_sizes(const core::DimContext& dims) {
    std::vector<int64_t> sizes;
    for (int i = 0; i < dims.symbol_count(); ++i) {
      const core::Symbol& symbol = dims.symbol_info(i);
      sizes.push_back(std::clamp<int64_t>(1024, symbol.lo, symbol.hi));
    }
    return sizes;
  }
  double nominal(core::Dim dim) const {
    return static_cast<double>(core::evaluate(dim, nominal_sizes_).value_or(0));
  }

  void emit(int group);
  void record_edges();
  Decision edge_decision(Value producer, Value consumer) const;
  Decision separate(Value producer, Value consumer) const;
  std::optional<Refusal> never_together(Value a, Value b) const;

  const core::Graph& graph_;
  const Flow flow_;
  core::Facts facts_;
  const std::vector<int64_t> nominal_sizes_;
  std::vector<Equality> assumed_;
  Grouping groups_;
  const bool makes_factors_;
  std::map<std::pair<Value, Value>, Refusal> refusals_;
  Fusion result_;
};

// The body of one Region: its members, and what they inline, in node order of first use.
class BodyBuilder {
 public:
  BodyBuilder(const core::Graph& graph, const Flow& flow, const Grouping& groups, int group)
      : graph_(graph), flow_(flow), groups_(groups), group_(group) {
    fused_.region.body = core::Graph(graph.shared_dims());
  }

  FusedRegion run(std::string name) {
    fused_.region.name = std::move(name);
    fused_.members = groups_.members(group_);
    for (Value v : groups_.members(group_)) add(v);
    for (Value v : groups_.members(group_)) {
      if (!groups_.leaves(v, group_)) continue;
      fused_.outputs.push_back(v);
      fused_.region.body.outputs.push_back(placed_.at(v));
    }
    return std::move(fused_);
  }

 private:
  Value add(Value v) {
    if (auto found = placed_.find(v); found != placed_.end()) return found->second;
    core::Node node = graph_.node(v);
    const bool inlined = node.op == Op::broadcast || flow_.is_scalar_source(v);
    if (!inlined && groups_.group_of(v) != group_) return add_input(v);
    if (node.op == Op::scalar) fused_.scalars.push_back(v);
    for (Value& operand : node.inputs) {
      const bool multiplies = core::op_class(node.op) == OpClass::matrix;
      operand = multiplies ? add_factor(node, operand) : add(operand);
    }
    return placed_[v] = fused_.region.body.append(std::move(node));
  }

  Value add_input(Value v) {
    const core::Node& node = graph_.node(v);
    // A broadcast that lies in memory is made anew by all but products.
    std::map<Value, Value>& placed = node.op == Op::broadcast ? factors_ : placed_;
    if (auto found = placed.find(v); found != placed.end()) return found->second;
    fused_.inputs.push_back(v);
    return placed[v] = fused_.region.body.append(
               {.op = Op::input, .inputs = {}, .attrs = {}, .type = node.type, .loc = node.loc});
  }

  // An operand of a product of matrices lies in memory, unless the Region makes it.
  Value add_factor(const core::Node& product, Value v) {
    if (groups_.group_of(v) == group_) return add(v);
    if (!reads_through(graph_, product, v)) return add_input(v);
    if (auto found = factors_.find(v); found != factors_.end()) return found->second;
    core::Node node = graph_.node(v);
    node.inputs[0] = add_factor(product, node.inputs[0]);
    return factors_[v] = fused_.region.body.append(std::move(node));
  }

  const core::Graph& graph_;
  const Flow& flow_;
  const Grouping& groups_;
  const int group_;
  std::map<Value, Value> placed_, factors_;
  FusedRegion fused_;
};

void Fuser::emit(int group) {
  const Value first = groups_.members(group).front();
  if (!flow_[first].computed) {
    result_.order.push_back({.node = first});
    return;
  }
  const auto index = static_cast<int>(result_.regions.size());
  result_.order.push_back({.region = index});
  result_.regions.push_back(
      BodyBuilder(graph_, flow_, groups_, group).run("r" + std::to_string(index)));
}

void Fuser::record_edges() {
  for (Value consumer = 0; consumer < graph_.size(); ++consumer) {
    if (groups_.group_of(consumer) < 0) continue;
    const NodeFlow& flow = flow_[consumer];
    std::vector<Value> producers = flow.computed ? flow.sources : graph_.node(consumer).inputs;
    // A call may be given the same array twice.
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    for (Value producer : producers) {
      if (groups_.group_of(producer) < 0) continue;
      result_.decisions.push_back(edge_decision(producer, consumer));
    }
  }
}

Decision Fuser::edge_decision(Value producer, Value consumer) const {
  const int group = groups_.group_of(producer);
  if (group != groups_.group_of(consumer)) return separate(producer, consumer);
  const bool by_rows = core::op_class(graph_.node(producer).op) == OpClass::reduce;
  const bool reduces = core::op_class(graph_.node(consumer).op) == OpClass::reduce;
  const bool multiplies = core::op_class(graph_.node(consumer).op) == OpClass::matrix;
  const bool widens = !reduces && graph_.type(producer).shape != graph_.type(consumer).shape;
  // Its consumers no longer load it; without any outside it is not stored either.
  const bool stored = groups_.leaves(producer, group);
  const core::Dim saved = bytes(producer) * (stored ? 1 : 2);
  return {"fuse " + name_of(producer) + " -> " + name_of(consumer),
          "yes",
          by_rows      ? "row-by-row"
          : reduces    ? "trailing-reduction"
          : multiplies ? "into-product"
          : widens     ? "broadcast-into-space"
                       : "same-space",
          std::string(stored ? "no load" : "no store and load") + ", which saves " +
              core::to_string(saved) + " bytes",
          nominal(saved),
          graph_.node(consumer).loc};
}

// Why no Region ever holds both, whatever their sizes.
std::optional<Refusal> Fuser::never_together(Value a, Value b) const {
  const Op from = graph_.node(a).op, to = graph_.node(b).op;
  if (core::op_class(from) == OpClass::opaque || core::op_class(to) == OpClass::opaque) {
    return Refusal{"opaque-call", "a host function works on whole arrays"};
  }
  if (core::op_class(from) == OpClass::view || core::op_class(to) == OpClass::view) {
    return Refusal{"view-boundary", "a view describes an array in memory"};
  }
  if (is_own_step(from) || is_own_step(to)) {
    return Refusal{"whole-array", "one of the two is no work on tiles"};
  }
  return std::nullopt;
}

Decision Fuser::separate(Value producer, Value consumer) const {
  std::optional<Refusal> refusal = never_together(producer, consumer);
  core::Dim saves = graph_.dims().constant(0);
  if (auto found = refusals_.find({producer, consumer}); !refusal && found != refusals_.end()) {
    refusal = found->second;
    // What the consumer has to load, and the producer to store where nobody else wants it.
    const NodeFlow& flow = flow_[producer];
    const bool stored = flow.in_memory || flow.readers.size() > 1;
    saves = bytes(producer) * (stored ? 1 : 2);
  }
  DVM_CHECK(refusal.has_value(), "an edge nobody refused was not taken");
  return {"fuse " + name_of(producer) + " -> " + name_of(consumer),
          "no",
          refusal->rule,
          refusal->reason,
          nominal(saves),
          graph_.node(consumer).loc};
}

// Asks again what the walk asked, of the groups as it left them.
Decision Fuser::explain(Value a, Value b) {
  if (a > b) std::swap(a, b);
  join();
  join_factors();
  const int first = groups_.group_of(a), second = groups_.group_of(b);
  const bool made = first >= 0 && second >= 0;
  if (made && first == second) {
    return {"fuse " + name_of(a) + " with " + name_of(b),
            "yes",
            "same-region",
            "one Region computes both",
            0,
            graph_.node(b).loc};
  }
  if (made && reads(b, a)) return separate(a, b);
  std::optional<Refusal> refusal;
  if (!made) {
    const Op given = graph_.node(first < 0 ? a : b).op;
    const bool input = given == Op::input || given == Op::tensor;
    refusal = input
                  ? Refusal{"input", "an input or constant is computed by no Region"}
                  : Refusal{"inlined",
                            "scalars and broadcasts are made anew in every Region that reads them"};
  } else if (refusal = never_together(a, b); !refusal) {
    refusal = groups_.merge(a, b, false);
  }
  if (!refusal) {
    refusal = {"nothing-shared",
               "no value passes between the two, nor do they read one tensor in the same space"};
  }
  return {"fuse " + name_of(a) + " with " + name_of(b),
          "no",
          refusal->rule,
          refusal->reason,
          0,
          graph_.node(b).loc};
}

}  // namespace

Fusion fuse(const core::Graph& graph, const Limits& limits) { return fuse(graph, limits, {}); }

Fusion fuse(const core::Graph& graph, const Limits& limits, const Hints& hints) {
  return Fuser(graph, limits).run(hints);
}

Decision explain_pair(const core::Graph& graph, const Limits& limits, Value a, Value b) {
  DVM_CHECK(a >= 0 && b >= 0 && a < graph.size() && b < graph.size(), "no such node");
  return Fuser(graph, limits).explain(a, b);
}

}  // namespace dvm::fuser
