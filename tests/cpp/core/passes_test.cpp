// Passes keep the meaning of generated graphs and do what they promise on named ones.
#include "core/passes/passes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph_generator.h"

namespace dvm::test {
namespace {

std::string body(const std::string& text) { return "graph v1 {\n" + text + "}\n"; }
using Pass = Graph (*)(Graph);
std::string after(Pass pass, const std::string& text) {
  const Graph result = pass(parse_graph(body(text)));
  verify(result);
  return print(result);
}

struct Exact {
  const char* name;
  Pass pass;
  // What simplify replaces stays behind and no longer has a reader: more may go the next time.
  bool is_idempotent = true;
};
constexpr Exact kExact[] = {{"dead_code", pass_dead_code},
                            {"simplify", pass_simplify, false},
                            {"sink_reshapes", pass_sink_reshapes},
                            {"cse", pass_cse},
                            {"widen_sums", pass_widen_sums}};

Graph widen_half(Graph graph) { return pass_widen_half(std::move(graph), kHalves); }

TEST(Passes, KeepEveryBitOfGeneratedGraphs) {
  int changed[std::size(kExact)] = {};
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const GraphCase test = generate_graph(seed, {.nodes = 20, .named = true, .attentions = true});
    const std::vector<Array> before = evaluate(test.graph, test.inputs, generated_host);
    for (size_t i = 0; i < std::size(kExact); ++i) {
      const Graph result = kExact[i].pass(test.graph);
      const std::string where = std::string(kExact[i].name) + ", seed " + std::to_string(seed);
      ASSERT_NO_THROW(verify(result)) << where;
      ASSERT_TRUE(same_values(evaluate(result, test.inputs, generated_host), before))
          << where << "\n"
          << print(test.graph) << print(result);
      ASSERT_TRUE(!kExact[i].is_idempotent || equal(kExact[i].pass(result), result)) << where;
      changed[i] += !equal(result, test.graph);
    }
  }
  for (size_t i = 0; i < std::size(kExact); ++i) EXPECT_GT(changed[i], 50) << kExact[i].name;
}

TEST(Passes, StoredScalarsAreInputsOfTheSameNumbers) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const GraphCase test = generate_graph(seed, {.nodes = 20});
    std::vector<Value> scalars;
    for (const Value v : test.graph.inputs()) {
      const Node& node = test.graph.node(v);
      const bool is_given = std::ranges::any_of(test.graph.nodes(), [&](const Node& reader) {
        const std::span<const Value> numbers = numbers_of(reader);
        return std::ranges::find(numbers, v) != numbers.end();
      });
      if (node.op == Op::scalar && !node.attrs.size && !is_given) scalars.push_back(v);
    }
    const Graph result = stored_scalars(test.graph, scalars);
    ASSERT_NO_THROW(verify(result)) << seed;
    ASSERT_EQ(result.inputs(), test.graph.inputs()) << seed;
    for (const Value v : scalars) ASSERT_EQ(result.node(v).op, Op::input) << seed;
    ASSERT_TRUE(same_values(evaluate(result, test.inputs, generated_host),
                            evaluate(test.graph, test.inputs, generated_host)))
        << "seed " << seed << "\n"
        << print(test.graph);
    changed += !scalars.empty();
  }
  EXPECT_GT(changed, 50);
}

TEST(Passes, DeadCodeKeepsInputsAndCalls) {
  EXPECT_EQ(after(pass_dead_code,
                  "%0 = input f32[s0] %1 = scalar f32[] %2 = exp(%0) f32[s0] %3 = log(%0) f32[s0]\n"
                  "%4 = neg(%3) f32[s0] %5 = call(%4) f32[] {callee = \"print\"}\n"
                  "%6 = constant f32[] {value = 1} return %0"),
            body("  %0 = input f32[s0]\n"
                 "  %1 = scalar f32[]\n"
                 "  %2 = log(%0) f32[s0]\n"
                 "  %3 = neg(%2) f32[s0]\n"
                 "  %4 = call(%3) f32[] {callee = \"print\"}\n"
                 "  return %0\n"));
}

TEST(Passes, CseMergesTransitivelyButNotCallsOrInputs) {
  EXPECT_EQ(after(pass_cse,
                  "%0 = input f32[s0] %1 = input f32[s0] %2 = exp(%0) f32[s0]\n"
                  "%3 = exp(%0) f32[s0] @ \"m.py\":2\n"
                  "%4 = add(%2, %3) f32[s0] %5 = add(%3, %2) f32[s0] %6 = exp(%1) f32[s0]\n"
                  "%7 = call(%4) f32[s0] {callee = \"f\"} %8 = call(%5) f32[s0] {callee = \"f\"}\n"
                  "return %6, %7, %8"),
            body("  %0 = input f32[s0]\n"
                 "  %1 = input f32[s0]\n"
                 "  %2 = exp(%0) f32[s0]\n"
                 "  %3 = add(%2, %2) f32[s0]\n"
                 "  %4 = exp(%1) f32[s0]\n"
                 "  %5 = call(%3) f32[s0] {callee = \"f\"}\n"
                 "  %6 = call(%3) f32[s0] {callee = \"f\"}\n"
                 "  return %4, %5, %6\n"));
}

TEST(Passes, CseTellsZerosNaNsAndAttributesApart) {
  const std::string text =
      "  %0 = input f32[s0, s1]\n"
      "  %1 = constant f32[] {value = 0x0p+0}\n"
      "  %2 = constant f32[] {value = -0x0p+0}\n"
      "  %3 = constant f64[] {value = 0x0p+0}\n"
      "  %4 = constant f64[] {value = nan}\n"
      "  %5 = constant f64[] {value = nan(0x7ff8000000000001)}\n"
      "  %6 = sum(%0) f32[1, s1] {axes = [0]}\n"
      "  %7 = sum(%0) f32[1, 1] {axes = [0, 1]}\n"
      "  %8 = max(%0) f32[1, s1] {axes = [0]}\n"
      "  %9 = dim i64[] {size = s0}\n"
      "  %10 = dim i64[] {size = s1}\n"
      "  %11 = slice(%0) f32[1, 1] {starts = [0, 0], steps = [1, 1]}\n"
      "  %12 = slice(%0) f32[1, 1] {starts = [0, 1], steps = [1, 1]}\n"
      "  %13 = slice(%0) f32[1, 1] {starts = [0, 0], steps = [1, 2]}\n"
      "  return %0\n";
  EXPECT_EQ(after(pass_cse, text), body(text));
}

TEST(Passes, WidenHalfCastsAtTheEdgesOnly) {
  EXPECT_EQ(after(widen_half,
                  "%0 = input f16[s0, 4] %1 = constant f16[] {value = 0.5}\n"
                  "%2 = broadcast(%1) f16[s0, 4] %3 = mul(%0, %2) f16[s0, 4]\n"
                  "%4 = exp(%3) f16[s0, 4] %5 = sum(%4) f16[s0, 1] {axes = [1]}\n"
                  "%6 = lt(%3, %4) bool[s0, 4] return %5, %6, %4"),
            body("  %0 = input f16[s0, 4]\n"
                 "  %1 = cast(%0) f32[s0, 4]\n"
                 "  %2 = constant f32[] {value = 0x1p-1}\n"
                 "  %3 = broadcast(%2) f32[s0, 4]\n"
                 "  %4 = mul(%1, %3) f32[s0, 4]\n"
                 "  %5 = exp(%4) f32[s0, 4]\n"
                 "  %6 = cast(%5) f16[s0, 4]\n"
                 "  %7 = sum(%5) f32[s0, 1] {axes = [1]}\n"
                 "  %8 = cast(%7) f16[s0, 1]\n"
                 "  %9 = lt(%4, %5) bool[s0, 4]\n"
                 "  return %8, %9, %6\n"));
}

TEST(Passes, WidenHalfLeavesMovedDataAlone) {
  const std::string text =
      "  %0 = input f16[s0, 4]\n"
      "  %1 = transpose(%0) f16[4, s0] {axes = [1, 0]}\n"
      "  %2 = constant f16[] {value = 0x1p+0}\n"
      "  %3 = broadcast(%2) f16[s0]\n"
      "  %4 = cast(%0) f16[s0, 4]\n"
      "  return %1, %3, %4\n";
  EXPECT_EQ(after(widen_half, text), body(text));
}

TEST(Passes, WidenHalfKeepsWrittenCastsAndCallsNarrow) {
  EXPECT_EQ(after(widen_half,
                  "%0 = input f32[s0] %1 = cast(%0) f16[s0] %2 = neg(%1) f16[s0]\n"
                  "%3 = call(%2) f16[s0] {callee = \"f\"} %4 = add(%3, %2) f16[s0]\n"
                  "%5 = cast(%4) f64[s0] return %5"),
            body("  %0 = input f32[s0]\n"
                 "  %1 = cast(%0) f16[s0]\n"
                 "  %2 = cast(%1) f32[s0]\n"
                 "  %3 = neg(%2) f32[s0]\n"
                 "  %4 = cast(%3) f16[s0]\n"
                 "  %5 = cast(%4) f32[s0]\n"
                 "  %6 = call(%4) f16[s0] {callee = \"f\"}\n"
                 "  %7 = cast(%6) f32[s0]\n"
                 "  %8 = add(%7, %5) f32[s0]\n"
                 "  %9 = cast(%8) f16[s0]\n"
                 "  %10 = cast(%9) f64[s0]\n"
                 "  return %10\n"));
}

TEST(Passes, WidenHalfRoundsForAllReadersOrNone) {
  // Rounded where it is cast behind the transpose, and so where it is subtracted from.
  EXPECT_EQ(after(widen_half,
                  "%0 = input f16[s0, 4] %1 = mul(%0, %0) f16[s0, 4]\n"
                  "%2 = transpose(%1) f16[4, s0] {axes = [1, 0]} %3 = cast(%2) f32[4, s0]\n"
                  "%4 = sub(%1, %0) f16[s0, 4] return %3, %4, %1"),
            body("  %0 = input f16[s0, 4]\n"
                 "  %1 = cast(%0) f32[s0, 4]\n"
                 "  %2 = mul(%1, %1) f32[s0, 4]\n"
                 "  %3 = cast(%2) f16[s0, 4]\n"
                 "  %4 = cast(%3) f32[s0, 4]\n"
                 "  %5 = transpose(%3) f16[4, s0] {axes = [1, 0]}\n"
                 "  %6 = cast(%5) f32[4, s0]\n"
                 "  %7 = sub(%4, %1) f32[s0, 4]\n"
                 "  %8 = cast(%7) f16[s0, 4]\n"
                 "  return %6, %8, %3\n"));
  // That a value leaves is no reason: what is left inside need not wait for its rounding.
  EXPECT_EQ(after(widen_half,
                  "%0 = input f16[s0] %1 = mul(%0, %0) f16[s0]\n"
                  "%2 = sub(%1, %0) f16[s0] return %1, %2"),
            body("  %0 = input f16[s0]\n"
                 "  %1 = cast(%0) f32[s0]\n"
                 "  %2 = mul(%1, %1) f32[s0]\n"
                 "  %3 = cast(%2) f16[s0]\n"
                 "  %4 = sub(%2, %1) f32[s0]\n"
                 "  %5 = cast(%4) f16[s0]\n"
                 "  return %3, %5\n"));
}

template <AnyHalf H>
Array converted(const Array& from, DType to) {
  Array result = make_array(to, from.shape);
  for (size_t i = 0; i < static_cast<size_t>(from.size()); ++i) {
    if (to == DType::f32) {
      elements<float>(result)[i] = to_float(elements<H>(from)[i]);
    } else {
      elements<H>(result)[i] = to_half<H>(elements<float>(from)[i]);
    }
  }
  return result;
}

// What looks at bits alone has no rounding that f32 would change.
bool is_of_bits(Op op) { return op == Op::abs || op == Op::fabs || op == Op::neg; }

// The oracle is a text: the same program with every half spelt f32, fed with widened inputs.
template <DType D>
void compare_with_f32() {
  using H = Storage<D>;
  const std::string half = std::string(to_string(D)) + "[";
  const GeneratorOptions options{.nodes = 20,
                                 .dtypes = {D, D, DType::i32, DType::boolean},
                                 .calls = false,
                                 .casts = false,
                                 .whole = false,
                                 .tensors = false};
  int rounded = 0;
  for (uint64_t seed = 0; seed < 2500; ++seed) {
    const GraphCase test = generate_graph(seed, options);
    const Graph widened = widen_half(test.graph);
    ASSERT_NO_THROW(verify(widened)) << "seed " << seed;
    for (const Node& node : widened.nodes()) {
      const bool computes =
          op_class(node.op) == OpClass::reduce || (op_class(node.op) == OpClass::elementwise &&
                                                   node.op != Op::cast && !is_of_bits(node.op));
      ASSERT_FALSE(computes && node.type.dtype == D) << "seed " << seed;
    }

    std::string text = print(test.graph);
    for (size_t at; (at = text.find(half)) != std::string::npos;) {
      text.replace(at, half.size(), "f32[");
    }
    std::vector<Array> inputs = test.inputs;
    for (Array& input : inputs) {
      if (input.dtype == D) input = converted<H>(input, DType::f32);
    }
    std::vector<Array> expected = evaluate(parse_graph(text), inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (test.graph.type(test.graph.outputs[i]).dtype != D) continue;
      expected[i] = converted<H>(expected[i], D);
      ++rounded;
    }
    ASSERT_TRUE(same_values(evaluate(widened, test.inputs), expected))
        << "seed " << seed << "\n"
        << print(test.graph) << print(widened);
  }
  EXPECT_GT(rounded, 1000);
}

TEST(Passes, WidenHalfMeansF32WithRoundedOutputs) {
  compare_with_f32<DType::f16>();
  compare_with_f32<DType::bf16>();
}

TEST(Passes, WidenHalfLeavesOtherDtypesAlone) {
  const GeneratorOptions options{.nodes = 20,
                                 .dtypes = {DType::boolean, DType::i64, DType::f32, DType::f64}};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = generate_graph(seed, options).graph;
    ASSERT_TRUE(equal(widen_half(graph), graph)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dvm::test
