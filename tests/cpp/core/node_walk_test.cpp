// Walks over nodes: each is looked at once, what a replacement is made of at once, and what never
// ends says whose fault it is.
#include "core/passes/node_walk.h"

#include <gtest/gtest.h>

#include <array>

#include "core/error.h"
#include "core/graph_generator.h"

namespace dvm::test {
namespace {

Node negated(const Graph& graph, Value v) {
  return {.op = Op::neg, .inputs = {v}, .attrs = {}, .type = graph.type(v), .loc = {}};
}

// A chain of so many operations with constants alone, and an input.
Graph chain_of_constants(int length) {
  Graph graph;
  Value last = graph.constant(DType::f32, Scalar::of_float(1));
  for (int k = 0; k < length; ++k) last = graph.elementwise(Op::neg, std::array{last});
  const Value x = graph.input({DType::f32, {}});
  graph.outputs = {graph.elementwise(Op::add, std::array{x, last})};
  return graph;
}

TEST(NodeWalk, AChainOfFoldsIsOneWalk) {
  const Graph graph = chain_of_constants(3);
  WalkCounts counts;
  const Graph made = pass_dead_code(pass_simplify(graph, counts));
  EXPECT_EQ(counts.replaced, 3);
  EXPECT_LE(counts.visits, 2 * graph.size());
  EXPECT_EQ(made.size(), 3) << print(made);
}

TEST(NodeWalk, VisitsAreAtMostTwoForEachNode) {
  constexpr int kNodes = 10'000;
  for (const bool folds : {true, false}) {
    Graph graph = folds ? chain_of_constants(kNodes) : Graph();
    if (!folds) {  // of each three, two vanish into the first
      Value last = graph.input({DType::f32, {}});
      for (int k = 0; k < kNodes; ++k) {
        const Op op = k % 3 == 0 ? Op::exp : Op::neg;
        last = graph.elementwise(op, std::array{last});
      }
      graph.outputs = {graph.elementwise(Op::exp, std::array{last})};
    }
    WalkCounts counts;
    pass_simplify(graph, counts);
    EXPECT_GE(counts.replaced, kNodes / 4);
    EXPECT_GE(counts.visits, graph.size());
    EXPECT_LE(counts.visits, 2 * graph.size());
  }
}

TEST(NodeWalk, WhatAReplacementIsMadeOfIsLookedAtAtOnce) {
  Graph graph;
  const Value x = graph.input({DType::f32, {}});
  graph.outputs = {
      graph.elementwise(Op::exp, std::array{graph.elementwise(Op::sin, std::array{x})})};
  NodeWalk walk(graph, "test");
  // sin(x) is cos(x), and that is tan(x).
  const Graph made = walk.run([&](const Node& node) -> std::optional<Value> {
    Node next = node;
    if (node.op == Op::sin) {
      next.op = Op::cos;
      return walk.again(next);
    }
    if (node.op != Op::cos) return std::nullopt;
    next.op = Op::tan;
    return walk.graph().append(next);
  });
  EXPECT_EQ(walk.counts().replaced, 2);
  EXPECT_EQ(walk.counts().visits, 4);
  EXPECT_EQ(made.node(made.node(made.outputs[0]).inputs[0]).op, Op::tan);
}

std::string error_of(const Graph& graph, const std::function<NodeWalk::Replace(NodeWalk&)>& of) {
  NodeWalk walk(graph, "guilty");
  try {
    walk.run(of(walk));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::pass_failed);
    return error.message();
  }
  ADD_FAILURE() << "it came to an end";
  return "";
}

TEST(NodeWalk, WhatNeverEndsNamesThePass) {
  const Graph graph = chain_of_constants(100);
  const std::string deep = error_of(graph, [](NodeWalk& walk) -> NodeWalk::Replace {
    return [&walk](const Node& node) -> std::optional<Value> { return walk.again(node); };
  });
  EXPECT_NE(deep.find("the pass guilty comes to no end"), std::string::npos) << deep;
  // Each replacement makes several in turn: never deep, but always more.
  const std::string wide = error_of(graph, [](NodeWalk& walk) -> NodeWalk::Replace {
    return [&walk, depth = 0](const Node& node) mutable -> std::optional<Value> {
      if (node.op != Op::neg || depth > 8) return std::nullopt;
      ++depth;
      Value made = node.inputs[0];
      for (int k = 0; k < 4; ++k) made = walk.again(negated(walk.graph(), made));
      --depth;
      return made;
    };
  });
  EXPECT_NE(wide.find("the pass guilty comes to no end"), std::string::npos) << wide;
}

// The caller may write to what it gets: no memory that was there takes its place.
TEST(NodeWalk, ResultsAreReplacedByNewMemoryAlone) {
  Graph graph;
  const Value x = graph.input({DType::f32, {}});
  const Value inner = graph.elementwise(Op::positive, std::array{x});
  graph.outputs = {graph.elementwise(Op::positive, std::array{inner})};
  const Graph made = pass_simplify(graph);
  EXPECT_EQ(made.node(made.outputs[0]).op, Op::positive);
  EXPECT_EQ(made.node(made.outputs[0]).inputs[0], x);
}

}  // namespace
}  // namespace dvm::test
