// A part of a graph computes what the whole computes of it.
#include <gtest/gtest.h>

#include "core/graph/bind_symbols.h"
#include "core/graph_generator.h"

namespace dvm::test {
namespace {

// Cuts generated graphs at random values and feeds the parts with what the whole made of these.
TEST(Extract, PartsEqualTheWhole) {
  int cuts = 0, scalars = 0, unbound = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GraphCase whole = generate_graph(seed, {.nodes = 16, .calls = false, .attentions = true});
    Random random(seed);
    std::vector<Value> inputs, outputs;
    for (Value v = 0; v < whole.graph.size(); ++v) {
      if (whole.graph.node(v).op == Op::input || random.chance(20)) inputs.push_back(v);
    }
    for (int i = 0; i < 3; ++i) {
      outputs.push_back(static_cast<Value>(random.below(whole.graph.size())));
    }
    if (random.chance(50)) std::reverse(inputs.begin(), inputs.end());
    const Extraction part = extract(whole.graph, inputs, outputs);
    ASSERT_NO_THROW(verify(part.graph)) << print(part.graph);

    whole.graph.outputs = inputs;
    whole.graph.outputs.insert(whole.graph.outputs.end(), part.scalars.begin(), part.scalars.end());
    whole.graph.outputs.insert(whole.graph.outputs.end(), outputs.begin(), outputs.end());
    const std::vector<Array> values = evaluate(whole.graph, whole.inputs);
    const size_t arguments = inputs.size() + part.scalars.size();
    ASSERT_EQ(part.graph.inputs().size(), arguments);
    unbound += !part.unbound.empty();
    const std::vector<Array> results =
        evaluate(part.graph, {values.data(), arguments}, {}, whole.symbols);
    ASSERT_TRUE(
        same_values(results, {values.begin() + static_cast<ptrdiff_t>(arguments), values.end()}))
        << print(whole.graph) << print(part.graph);
    if (part.unbound.empty()) {
      ASSERT_TRUE(same_values(evaluate(part.graph, {values.data(), arguments}), results));
    }
    cuts += part.graph.size() > static_cast<int>(arguments);
    scalars += !part.scalars.empty();
  }
  EXPECT_GT(cuts, 1000);
  EXPECT_GT(scalars, 100);
  EXPECT_GT(unbound, 100);
}

std::vector<std::string> unbound_of(const std::string& body) {
  const Graph graph = parse_graph("graph v1 {\n" + body + "\n}");
  std::vector<std::string> names;
  for (const int symbol : unbound_symbols(graph)) {
    names.push_back(graph.dims().symbol_info(symbol).name);
  }
  return names;
}

TEST(Extract, SymbolsAreBoundByWhatDeterminesThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(unbound_of("%0 = input f32[s0, 2*s1 + 1] return %0"), Names{});
  EXPECT_EQ(unbound_of("%0 = input f32[s0*s1] %1 = input f32[s0] return %0"), Names{});
  EXPECT_EQ(unbound_of("%0 = input f32[s0*s1] return %0"), (Names{"s0", "s1"}));
  EXPECT_EQ(unbound_of("%0 = input f32[floordiv(s0, 2)] return %0"), Names{"s0"});
  EXPECT_EQ(unbound_of("%0 = scalar i64[] {size = s0} %1 = dim i64[] {size = s0 + s1} return %1"),
            Names{"s1"});
  EXPECT_EQ(unbound_of("%0 = call f32[s0] {callee = \"f\"} return %0"), Names{});
}

TEST(Extract, NeedsEveryInput) {
  const Graph graph = parse_graph(
      "graph v1 { %0 = input f32[s0] %1 = input f32[s0] %2 = add(%0, %1) f32[s0] return %2 }");
  const std::vector<Value> one{0}, sum{2}, beyond{3};
  EXPECT_THROW(extract(graph, one, sum), Error);
  EXPECT_THROW(extract(graph, one, beyond), Error);
  // A value that is given is not computed.
  EXPECT_EQ(extract(graph, sum, sum).graph.size(), 1);
}

// What a call writes it writes as a whole; what it gives is taken one by one.
TEST(Extract, TakesAllThatACallWrites) {
  const Graph whole = parse_graph(
      "graph v1 { %0 = input f32[n] %1 = call_into(%0) f32[n] {callee = \"f\", results = 2}\n"
      "%2 = result(%1) f64[n] {index = 1} %3 = call(%0) f32[n] {callee = \"g\", results = 3}\n"
      "%4 = result(%3) f64[u] {index = 2} %5 = result(%3) f64[v] {index = 1} return %1, %4 }");
  const Value input[] = {0};
  Extraction part = extract(whole, input, whole.outputs);
  EXPECT_NO_THROW(verify(part.graph));
  EXPECT_EQ(part.graph.size(), 5) << print(part.graph);
  EXPECT_TRUE(part.unbound.empty());
  const Value with_result[] = {0, 2};
  part = extract(whole, with_result, whole.outputs);
  EXPECT_NO_THROW(verify(part.graph)) << print(part.graph);
  const Value with_call[] = {0, 3};
  EXPECT_THROW(extract(whole, with_call, whole.outputs), Error);
}

}  // namespace
}  // namespace dvm::test
