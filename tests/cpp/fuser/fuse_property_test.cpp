// Whatever the fuser decides, running its units one by one must mean what the Graph means, and
// every edge must have been decided.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/graph_generator.h"
#include "core/passes/passes.h"
#include "fuser/flow.h"
#include "fuser/fuse.h"

namespace dvm::fuser {
namespace {

using core::Array;
using core::Graph;
using core::Op;
using core::OpClass;
using core::Value;
using test::GraphCase;

// Evaluates units in order; a unit may read only what units before it left behind.
class UnitEvaluator {
 public:
  UnitEvaluator(const GraphCase& test_case, const Graph& graph, const Fusion& fusion)
      : case_(test_case), graph_(graph), fusion_(fusion) {}

  std::vector<Array> run() {
    const std::vector<Value> arguments = graph_.inputs();
    for (size_t k = 0; k < arguments.size(); ++k) values_[arguments[k]] = case_.inputs[k];
    for (Value v = 0; v < graph_.size(); ++v) {
      const core::Node& node = graph_.node(v);
      if (node.op != Op::tensor) continue;
      values_[v] = core::make_array(node.type.dtype, node.attrs.values->shape);
      values_[v].data = core::dense_bytes(*node.attrs.values);
    }
    for (const Unit& unit : fusion_.order) {
      if (unit.region >= 0) {
        run_region(fusion_.regions[static_cast<size_t>(unit.region)]);
      } else {
        run_node(unit.node);
      }
    }
    std::vector<Array> results;
    for (Value v : graph_.outputs) results.push_back(values_.at(v));
    return results;
  }

 private:
  void run_region(const FusedRegion& fused) {
    std::vector<Array> inputs;
    size_t input = 0, scalar = 0;
    for (const core::Node& node : fused.region.body.nodes()) {
      if (node.op == Op::input) inputs.push_back(values_.at(fused.inputs[input++]));
      if (node.op == Op::scalar) inputs.push_back(values_.at(fused.scalars[scalar++]));
    }
    ASSERT_EQ(input, fused.inputs.size());
    ASSERT_EQ(scalar, fused.scalars.size());
    const std::vector<Array> results = core::evaluate(fused.region.body, inputs, {}, case_.symbols);
    ASSERT_EQ(results.size(), fused.outputs.size());
    for (size_t k = 0; k < results.size(); ++k) values_[fused.outputs[k]] = results[k];
  }

  // A view, whole op or call alone, as a Graph of its own, a call with all of its results.
  void run_node(Value v) {
    if (graph_.node(v).op == Op::result) return;
    Graph alone(graph_.shared_dims());
    core::Node node = graph_.node(v);
    std::vector<Array> inputs;
    for (Value& operand : node.inputs) {
      inputs.push_back(values_.at(operand));
      operand = alone.input(graph_.type(operand));
    }
    const Value made = alone.append(std::move(node));
    std::vector<Value> results = {v};
    alone.outputs = {made};
    for (Value other = v + 1; other < graph_.size(); ++other) {
      node = graph_.node(other);
      if (node.op != Op::result || node.inputs[0] != v) continue;
      node.inputs = {made};
      alone.outputs.push_back(alone.append(std::move(node)));
      results.push_back(other);
    }
    const std::vector<Array> arrays =
        core::evaluate(alone, inputs, test::generated_host, case_.symbols);
    for (size_t k = 0; k < results.size(); ++k) values_[results[k]] = arrays[k];
  }

  const GraphCase& case_;
  const Graph& graph_;
  const Fusion& fusion_;
  std::map<Value, Array> values_;
};

bool is_tensor_source(const Graph& graph, Value v) {
  return core::op_class(graph.node(v).op) != OpClass::source;
}

void check_decisions(const Graph& graph, const Fusion& fusion) {
  std::map<std::string, const core::Decision*> decided;
  for (const core::Decision& decision : fusion.decisions) {
    EXPECT_TRUE(decision.verdict == "yes" || decision.verdict == "no");
    EXPECT_FALSE(decision.rule.empty());
    EXPECT_FALSE(decision.reason.empty());
    EXPECT_TRUE(decided.emplace(decision.what, &decision).second) << decision.what << " twice";
  }
  const Flow flow(graph);
  for (Value v = 0; v < graph.size(); ++v) {
    if (!flow[v].computed) continue;
    for (Value source : flow[v].sources) {
      if (!is_tensor_source(graph, source)) continue;
      const std::string edge = "fuse %" + std::to_string(source) + " -> %" + std::to_string(v);
      ASSERT_TRUE(decided.contains(edge)) << edge;
      EXPECT_EQ(decided[edge]->loc, graph.node(v).loc);
    }
  }
}

// Of a Region of one op: its arrays and its result; else 0.
int tensors_of_one_op(const FusedRegion& fused) {
  if (fused.members.size() != 1) return 0;
  const Graph& body = fused.region.body;
  return 1 + static_cast<int>(body.node(body.outputs.front()).inputs.size());
}

void check_rules(const Fusion& fusion, const Limits& limits) {
  for (const FusedRegion& fused : fusion.regions) {
    const Graph& body = fused.region.body;
    core::verify(body);
    EXPECT_FALSE(fused.outputs.empty());
    // An attention with a mask takes more by itself.
    const auto tensors = static_cast<int>(fused.inputs.size() + fused.outputs.size());
    EXPECT_LE(tensors, std::max(limits.region.tensors, tensors_of_one_op(fused)));
    int steps = 0;
    bool reduces = false, by_rows = true;
    std::set<Value> outputs(body.outputs.begin(), body.outputs.end());
    for (Value v = 0; v < body.size(); ++v) {
      const core::Node& node = body.node(v);
      const OpClass op_class = core::op_class(node.op);
      EXPECT_NE(op_class, OpClass::view);
      EXPECT_NE(op_class, OpClass::whole);
      EXPECT_NE(op_class, OpClass::opaque);
      steps += op_class != OpClass::source;
      if (op_class != OpClass::reduce) continue;
      reduces = true;
      by_rows = by_rows && node.attrs.axes.back() + 1 == node.type.rank();
    }
    EXPECT_LE(steps, limits.region.steps);
    if (by_rows) continue;
    // Reductions of columns end their Region, and nothing else leaves it.
    for (Value v = 0; v < body.size(); ++v) {
      const bool is_reduction = core::op_class(body.node(v).op) == OpClass::reduce;
      EXPECT_TRUE(!is_reduction || outputs.contains(v));
      for (Value operand : body.node(v).inputs) {
        EXPECT_NE(core::op_class(body.node(operand).op), OpClass::reduce) << core::print(body);
      }
    }
    for (Value v : outputs) {
      EXPECT_EQ(core::op_class(body.node(v).op) == OpClass::reduce, reduces) << core::print(body);
    }
  }
}

void check_case(uint64_t seed, const Limits& limits, std::map<std::string, int>& rules) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::GeneratorOptions options;
  options.nodes = 4 + static_cast<int>(seed % 40);
  options.named = true;
  options.attentions = true;
  const GraphCase test_case = test::generate_graph(seed, options);
  const Graph graph = pass_dense_reshapes(core::pass_dead_code(test_case.graph));
  core::verify(graph);
  const Fusion fusion = fuse(graph, limits);
  check_rules(fusion, limits);
  check_decisions(graph, fusion);
  for (const core::Decision& decision : fusion.decisions) ++rules[decision.rule];
  const std::vector<Array> expected =
      core::evaluate(test_case.graph, test_case.inputs, test::generated_host, test_case.symbols);
  ASSERT_TRUE(test::same_values(UnitEvaluator(test_case, graph, fusion).run(), expected))
      << core::print(graph);
}

TEST(FuseProperty, UnitsMeanTheGraph) {
  std::map<std::string, int> rules;
  for (uint64_t seed = 0; seed < 5000 && !HasFatalFailure(); ++seed) {
    Limits limits;
    limits.factors = seed % 2 == 0;  // as targets have it
    check_case(seed, limits, rules);
  }
  for (const char* rule :
       {"same-space", "broadcast-into-space", "trailing-reduction", "shared-input",
        "different-space", "reduction-ends-region", "reduction-alone", "narrow-output", "cycle",
        "view-boundary", "whole-array", "opaque-call", "row-by-row", "into-product",
        "factor-shared", "factor-steps"}) {
    EXPECT_GT(rules[rule], 0) << rule << " never decided anything";
  }
}

TEST(FuseProperty, TightLimitsHold) {
  const std::pair<const char*, Limits> tight[] = {{"step-limit", {.region = {.steps = 5}}},
                                                  {"tensor-limit", {.region = {.tensors = 4}}},
                                                  {"value-limit", {.region = {.values = 8}}},
                                                  {"shape-limit", {.region = {.shapes = 2}}}};
  for (const auto& [rule, limits] : tight) {
    std::map<std::string, int> rules;
    // Few graphs have so many shapes in one space; some seed does.
    const auto wanted = [&, rule = rule](uint64_t seed) { return seed < 500 || rules[rule] == 0; };
    for (uint64_t seed = 0; wanted(seed) && seed < 10000 && !HasFatalFailure(); ++seed) {
      check_case(seed, limits, rules);
    }
    EXPECT_GT(rules[rule], 0) << rule << " never decided anything";
  }
}

}  // namespace
}  // namespace dvm::fuser
