// Rewriting generated graphs: what is replaced by itself changes no bit, and a pattern that is
// taken from a graph is found there.
#include "core/rewrite/rewrite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/graph_generator.h"
#include "core/passes/passes.h"
#include "core/rewrite/shapes.h"

namespace dvm::test {
namespace {

Pattern every(Op op) {
  return {.terms = {{.kind = PatternTerm::Kind::any_operands, .op = op}}, .roots = {0}};
}

TEST(Rewrite, WhatIsReplacedByItselfKeepsEveryBit) {
  std::vector<Pattern> patterns;
  for (const Op op :
       {Op::add, Op::mul, Op::sub, Op::neg, Op::select, Op::cast, Op::broadcast, Op::sum, Op::max,
        Op::reshape, Op::transpose, Op::slice, Op::matmul, Op::update, Op::scan}) {
    patterns.push_back(every(op));
  }
  int replaced = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const GraphCase test = generate_graph(seed, {.nodes = 20, .named = true, .attentions = true});
    Graph made(test.graph.shared_dims());
    std::vector<Miss> misses;
    const Replace itself = [](Graph& graph, const Graph& old, const Site& site) {
      Node copy = old.node(site.root);
      copy.inputs = site.operands;
      return std::optional(std::vector{graph.append(std::move(copy))});
    };
    const RewriteCounts counts = rewrite(test.graph, patterns, made, itself, misses);
    ASSERT_NO_THROW(verify(made)) << seed;
    ASSERT_EQ(made.inputs().size(), test.graph.inputs().size());
    ASSERT_LE(counts.rounds, 1) << seed;
    ASSERT_TRUE(same_values(evaluate(made, test.inputs, generated_host),
                            evaluate(test.graph, test.inputs, generated_host)))
        << "seed " << seed << "\n"
        << print(test.graph) << print(made);
    replaced += counts.replaced;
  }
  EXPECT_GT(replaced, 3000);
}

// The elementwise nodes above a value, to a depth; what is below are variables.
class Taken {
 public:
  Taken(const Graph& graph, Value root, int depth) : graph_(graph), numbers_(value_numbers(graph)) {
    pattern_.roots = {term(root, depth)};
    pattern_.variables = static_cast<int>(variables_.size());
  }
  const Pattern& pattern() const { return pattern_; }
  size_t ops() const { return ops_.size(); }

 private:
  int term(Value v, int depth) {
    const Node& node = graph_.node(v);
    if (depth == 0 || op_class(node.op) != OpClass::elementwise || node.op == Op::cast) {
      const Value source = numbers_[static_cast<size_t>(before_broadcasts(graph_, v))];
      const auto [it, fresh] = variables_.try_emplace(source, static_cast<int>(variables_.size()));
      return add({.kind = PatternTerm::Kind::variable, .variable = it->second});
    }
    if (const auto known = ops_.find(v); known != ops_.end()) return known->second;
    std::vector<int> operands;
    for (const Value operand : node.inputs) operands.push_back(term(operand, depth - 1));
    return ops_[v] = add({.kind = PatternTerm::Kind::op, .op = node.op, .operands = operands});
  }
  int add(PatternTerm term) {
    pattern_.terms.push_back(std::move(term));
    return static_cast<int>(pattern_.terms.size()) - 1;
  }

  const Graph& graph_;
  const std::vector<Value> numbers_;
  Pattern pattern_;
  std::map<Value, int> variables_, ops_;
};

TEST(Rewrite, PatternsAreFoundWhereTheyWereTaken) {
  int found = 0, needed = 0;
  const GeneratorOptions options = {.nodes = 40,
                                    .dtypes = {DType::f32, DType::i64},
                                    .calls = false,
                                    .casts = false,
                                    .whole = false,
                                    .matrices = false};
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Graph graph = generate_graph(seed, options).graph;
    Matcher matcher(graph);
    for (Value v = 0; v < graph.size(); ++v) {
      if (!matcher.users().is_needed(v)) continue;
      const Taken taken(graph, v, 3);
      if (taken.ops() < 2) continue;
      Miss miss;
      const auto match = matcher.match(taken.pattern(), v, miss);
      found += match.has_value();
      const bool is_refused = miss.rule == "needed-outside" || miss.rule == "within-itself";
      needed += !match && is_refused;
      ASSERT_TRUE(match || is_refused)
          << seed << " %" << v << " " << miss.rule << " " << miss.reason << "\n"
          << print(graph);
      if (!match) continue;
      ASSERT_EQ(match->roots, std::vector{v});
      for (const Value inside : match->inside) {
        for (const Value user : matcher.users().of(inside)) {
          ASSERT_TRUE(inside == v || std::ranges::count(match->inside, user) == 1);
        }
      }
    }
  }
  EXPECT_GT(found, 200);
  EXPECT_GT(needed, 30);
}

Graph parsed(const std::string& lines) { return parse_graph("graph v1 {\n" + lines + "}\n"); }

TEST(Rewrite, NothingOfOlderMemoryTakesThePlaceOfAResult) {
  const Graph graph =
      parsed("%0 = input f32[n]\n %1 = neg(%0) f32[n]\n %2 = neg(%1) f32[n]\n return %2, %1\n");
  Graph made(graph.shared_dims());
  std::vector<Miss> misses;
  const Replace operand = [](Graph&, const Graph&, const Site& site) {
    return std::optional(std::vector{site.operands[0]});
  };
  rewrite(graph, {every(Op::neg)}, made, operand, misses);
  for (const Value v : made.outputs) EXPECT_EQ(made.node(v).op, Op::positive);
  EXPECT_NE(made.outputs[0], made.outputs[1]);
}

TEST(Rewrite, TenThousandNodesTakeOneRound) {
  Graph graph;
  const Value x = graph.input({DType::f32, {graph.dims().symbol("n")}});
  Value last = x;
  for (int k = 0; k < 5000; ++k) {
    last = graph.elementwise(Op::mul, std::array{x, last});
    last = graph.elementwise(Op::add, std::array{last, x});
  }
  graph.outputs = {last};
  using Kind = PatternTerm::Kind;
  const Pattern pattern{.terms = {{.kind = Kind::variable, .variable = 0},
                                  {.kind = Kind::variable, .variable = 1},
                                  {.kind = Kind::op, .op = Op::mul, .operands = {0, 1}},
                                  {.kind = Kind::op, .op = Op::add, .operands = {2, 0}}},
                        .roots = {3},
                        .variables = 2};
  Graph made(graph.shared_dims());
  std::vector<Miss> misses;
  const Replace replace = [](Graph& g, const Graph&, const Site& site) {
    return std::optional(
        std::vector{g.elementwise(Op::add, std::array{site.variables[0], site.variables[1]})});
  };
  const RewriteCounts counts = rewrite(graph, {pattern}, made, replace, misses);
  EXPECT_EQ(counts.replaced, 5000);
  EXPECT_EQ(counts.rounds, 1);
  EXPECT_EQ(made.size(), 5001);
}

}  // namespace
}  // namespace dvm::test
