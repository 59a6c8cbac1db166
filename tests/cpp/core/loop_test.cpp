// Loops and branches in Graphs: text, rules, meaning.
#include <gtest/gtest.h>

#include "core/loop_generator.h"

namespace dvm::core {
namespace {

constexpr const char* kRows = R"(graph v1 {
  %0 = input f64[n]
  %1 = input f64[m, n]
  %2 = loop(%0, %1) i64[] {size = t, results = 2, sizes = [m], count = m} do {
    %0 = scalar i64[] {size = k}
    %1 = input f64[n]
    %2 = input f64[m, n]
    %3 = scalar i64[] {size = m}
    %4 = slice(%2) f64[1, n] {starts = [k, 0], steps = [1, 1]}
    %5 = reshape(%4) f64[n]
    %6 = add(%1, %5) f64[n]
    %7 = sum(%6) f64[1] {axes = [0]}
    %8 = reshape(%7) f64[]
    %9 = constant f64[] {value = 0x1.9p+6}
    %10 = gt(%8, %9) bool[]
    %11 = leave(%10, %1) bool[]
    return %6
  }
  %3 = result(%2) f64[n] {index = 1}
  %4 = dim i64[] {size = t}
  return %3, %2, %4
}
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string message_of(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Array floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  Array array = make_array(DType::f64, std::move(shape));
  std::ranges::copy(values, elements<double>(array).begin());
  return array;
}

TEST(Loops, RowsAreAddedUntilTheSumIsLarge) {
  const Graph graph = parse_graph(kRows);
  const Array start = floats({2}, {1, 2});
  const auto run = [&](const Array& rows) {
    const Array inputs[] = {start, rows};
    return evaluate(graph, inputs);
  };
  std::vector<Array> results = run(floats({3, 2}, {1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(results[0].data, floats({2}, {7, 8}).data);
  EXPECT_EQ(elements<int64_t>(results[1])[0], 3);
  results = run(floats({3, 2}, {1, 1, 90, 10, 3, 3}));
  EXPECT_EQ(results[0].data, floats({2}, {2, 3}).data);
  EXPECT_EQ(elements<int64_t>(results[1])[0], 1);
  EXPECT_EQ(elements<int64_t>(results[2])[0], 1);
  results = run(floats({0, 2}, {}));
  EXPECT_EQ(results[0].data, start.data);
}

TEST(Loops, RoundTripAsText) {
  EXPECT_EQ(print(parse_graph(kRows)), kRows);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = test::generate_loops(seed).graph;
    const std::string text = print(graph);
    ASSERT_NO_THROW(verify(graph)) << "seed " << seed << "\n" << text;
    const Graph back = parse_graph(text);
    ASSERT_TRUE(equal(graph, back)) << "seed " << seed << "\n" << text;
    ASSERT_EQ(print(back), text) << "seed " << seed;
  }
}

TEST(Loops, EqualSeesBodies) {
  const Graph graph = parse_graph(kRows);
  EXPECT_FALSE(equal(graph, parse_graph(replaced(kRows, "count = m", "count = n"))));
  EXPECT_FALSE(equal(graph, parse_graph(replaced(kRows, "value = 0x1.9p+6", "value = 0x1.8p+6"))));
}

TEST(Loops, VerifierNamesTheRule) {
  const std::pair<const char*, std::pair<const char*, const char*>> rules[] = {
      {"argument 1 of a body is f32[n], not f64 of rank 1",
       {"%0 = input f64[n]", "%0 = input f32[n]"}},
      {"carries 1 values, which are neither its results from 1 on nor its first operands",
       {"results = 2", "results = 3"}},
      {"a body takes 4 arguments, it is given 3", {"loop(%0, %1)", "loop(%0)"}},
      {"no argument of a body tells the size q", {"starts = [k, 0]", "starts = [q, 0]"}},
      {"a leave with 1 operands, not 2", {"leave(%10, %1)", "leave(%10)"}},
      {"needs a condition, which is bool[]", {"leave(%10, %1)", "leave(%8, %1)"}},
      {"has no value that a node may use", {"return %6", "return %11"}},
      {"stands in no loop's body",
       {"  return %3, %2, %4", "  %5 = gt(%2, %4) bool[]\n  %6 = leave(%5) bool[]\n  return %3"}},
      {"result 1 is f32[n], not f64 of rank 1", {"result(%2) f64[n]", "result(%2) f32[n]"}},
      {"operand %12 is not defined before", {"leave(%10, %1)", "leave(%10, %12)"}},
  };
  for (const auto& [message, edit] : rules) {
    EXPECT_NE(message_of(replaced(kRows, edit.first, edit.second)).find(message), std::string::npos)
        << message << "\n"
        << message_of(replaced(kRows, edit.first, edit.second));
  }
}

TEST(Loops, BodiesNestOnlySoDeep) {
  std::string text = "graph v1 {\n";
  for (int depth = 0; depth < 40; ++depth) text += "%0 = loop i64[] {count = 1} do { ";
  EXPECT_NE(message_of(text).find("bodies within bodies are too many"), std::string::npos)
      << message_of(text);
}

}  // namespace
}  // namespace dvm::core
