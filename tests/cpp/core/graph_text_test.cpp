// parse(print(x)) == x on generated graphs; malformed text is an Error and nothing worse.
#include <gtest/gtest.h>

#include <set>

#include "core/graph_generator.h"
#include "core/loop_generator.h"
#include "core/module_generator.h"

namespace dvm::test {
namespace {

constexpr char kRich[] = R"(graph v1 {
  symbol n in [1, 64]
  %0 = input f32[n, s1] @ "dir/a \"b\".py":12
  %1 = scalar f64[]
  %2 = constant f32[] {value = -0x1.8p+1}
  %3 = dim i64[] {size = floordiv(n*s1 + 3, 4)}
  %4 = cast(%1) f32[]
  %5 = mul(%2, %4) f32[]
  %6 = broadcast(%5) f32[n, s1]
  %7 = lt(%0, %6) bool[n, s1]
  %8 = select(%7, %0, %6) f32[n, s1] @ "m.py":3
  %9 = sum(%8) f32[1, 1] {axes = [0, 1]}
  %10 = transpose(%8) f32[s1, n] {axes = [1, 0]}
  %11 = slice(%10) f32[floordiv(s1 + 1, 2), n] {starts = [0, n - 1], steps = [2, -1]}
  %12 = reshape(%9) f32[]
  %13 = call(%11, %3) f16[u0, bcast(n, s1)] {callee = "numpy.unique\x0a"}
  %14 = scalar i64[] {size = k}
  return %12, %13, %0
}
)";

std::string message_of(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
    return e.message();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(GraphText, PrintsWhatWasWritten) { EXPECT_EQ(print(parse_graph(kRich)), kRich); }

TEST(GraphText, CommentsAndSpacingAreFree) {
  const Graph a = parse_graph("graph v1{%0=input f32[s0]# a comment, %1 = ...\nreturn %0,%0}");
  EXPECT_EQ(print(a), "graph v1 {\n  %0 = input f32[s0]\n  return %0, %0\n}\n");
  EXPECT_TRUE(equal(a, parse_graph(print(a))));
}

TEST(GraphText, AcceptsDecimalConstants) {
  const Graph graph = parse_graph(
      "graph v1 { %0 = constant f64[] {value = 0.1} %1 = constant i64[] {value = -0x10} return }");
  EXPECT_EQ(graph.node(0).attrs.value.as_float(), 0.1);
  EXPECT_EQ(graph.node(1).attrs.value.as_int(), -16);
}

TEST(GraphText, ConstantsKeepTheirBits) {
  for (const uint64_t bits : {0x7ff8000000000000u, 0xfff8000000000000u, 0x7ff8000000000123u,
                              0x7ff0000000000001u, 0x7ff0000000000000u, 0xfff0000000000000u,
                              0x8000000000000000u, 0ul, 1ul, 0x7fefffffffffffffu}) {
    Graph graph;
    graph.constant(DType::f64, Scalar::of_bits(static_cast<int64_t>(bits)));
    EXPECT_EQ(parse_graph(print(graph)).node(0).attrs.value.bits(), static_cast<int64_t>(bits))
        << print(graph);
  }
}

// Every 16-bit pattern, which covers all kinds of NaN, and the largest of the others.
TEST(GraphText, TensorsKeepTheirBits) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    const int64_t size = byte_size(dtype);
    Graph graph;
    std::vector<std::vector<std::byte>> parts;
    const int64_t end = is_floating(dtype) ? 1 << 16 : 1 << 12;
    for (int64_t first = 0; first < end; first += kMaxWritten) {
      std::vector<std::byte> bytes(static_cast<size_t>(kMaxWritten * size));
      for (int64_t i = 0; i < kMaxWritten; ++i) {
        uint64_t bits = static_cast<uint64_t>(first + i);
        if (size > 2) bits = bits << (8 * size - 16) | (bits & 0xff);
        if (dtype == DType::boolean) bits &= 1;
        std::memcpy(bytes.data() + i * size, &bits, static_cast<size_t>(size));
      }
      graph.tensor(own_tensor(dtype, {2, kMaxWritten / 2}, bytes));
      parts.push_back(std::move(bytes));
    }
    const Graph back = parse_graph(print(graph));
    ASSERT_TRUE(equal(graph, back));
    for (size_t k = 0; k < parts.size(); ++k) {
      ASSERT_EQ(dense_bytes(*back.node(static_cast<Value>(k)).attrs.values), parts[k])
          << to_string(dtype);
    }
  }
}

TEST(GraphText, TensorsAreWhatTheySay) {
  const auto message = [](const std::string& node) {
    return message_of("graph v1 { %0 = " + node + " return %0 }");
  };
  EXPECT_EQ(message("tensor f32[2] {values = [1, -0x1p-1]}"), "");
  EXPECT_EQ(message("tensor f32[2, 0] {values = []}"), "");
  EXPECT_EQ(message("tensor f32[] {values = [nan(0x7f800001)]}"), "");
  EXPECT_EQ(message("tensor f32[100000] {name = \"w\"}"), "");
  EXPECT_EQ(message("tensor f32[2] {values = [1]}"),
            "graph, line 1: 1 elements are given, not those of the shape");
  EXPECT_EQ(message("tensor f32[0] {values = [1]}"),
            "graph, line 1: 1 elements are given, not those of the shape");
  EXPECT_EQ(message("tensor f32[3, 4611686018427387904] {values = [1, 2, 3]}"),
            "graph, line 1: 3 elements are given, not those of the shape");
  EXPECT_EQ(message("tensor f16[1] {values = [0.1]}"), "graph, line 1: the number is none of f16");
  EXPECT_EQ(message("tensor u8[1] {values = [256]}"), "graph, line 1: the number is none of u8");
  EXPECT_EQ(message("tensor f32[1] {values = [nan(0x3f800000)]}"),
            "graph, line 1: these bits are no NaN of f32");
  EXPECT_EQ(message("tensor f32[s0] {values = [1]}"), "graph, line 1: values need a static shape");
  EXPECT_EQ(message("tensor f32[s0] {name = \"w\"}"), "%0 = tensor: has a static shape, not [s0]");
  EXPECT_EQ(message("tensor f32[1]"), "%0 = tensor: needs the attribute 'values' or 'name'");
  EXPECT_EQ(message("tensor f32[] {name = \"w\"} %1 = tensor f64[] {name = \"w\"}"),
            "%1 = tensor: a second one of the name 'w'");
  std::string many = "0";
  for (int64_t i = 0; i < kMaxWritten; ++i) many += ", 0";
  EXPECT_EQ(message("tensor i8[1025] {values = [" + many + "]}"),
            "%0 = tensor: needs a name, for it has 1025 elements");
}

TEST(GraphText, RoundTripsGeneratedGraphs) {
  std::set<Op> seen;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    const Graph graph =
        generate_graph(seed, {.named = true, .attentions = true, .every_row = true}).graph;
    for (const Node& node : graph.nodes()) seen.insert(node.op);
    const std::string text = print(graph);
    ASSERT_NO_THROW(verify(graph)) << "seed " << seed << "\n" << text;
    const Graph back = parse_graph(text);
    ASSERT_TRUE(equal(graph, back)) << "seed " << seed << "\n" << text;
    ASSERT_EQ(print(back), text) << "seed " << seed;
  }
  for (uint64_t seed = 0; seed < 200; ++seed) {
    for_each_node(generate_loops(seed).graph, [&](const Node& node) { seen.insert(node.op); });
  }
  for (uint64_t seed = 0; seed < 50; ++seed) {
    for_each_graph(generate_module(seed).module, [&](const Graph& graph) {
      for (const Node& node : graph.nodes()) seen.insert(node.op);
    });
  }
  EXPECT_EQ(seen.size(), all_ops().size()) << "the generators miss an op";
}

TEST(GraphText, EqualSeesEveryDifference) {
  const Graph graph = parse_graph(kRich);
  const std::pair<const char*, const char*> edits[] = {{"[1, 64]", "[1, 65]"},
                                                       {"a \\\"b", "a \\\"c"},
                                                       {":12", ":13"},
                                                       {"-0x1.8p+1", "0x1.8p+1"},
                                                       {"n*s1 + 3", "n*s1 + 4"},
                                                       {"lt(", "le("},
                                                       {"mul(%2, %4)", "mul(%4, %2)"},
                                                       {"steps = [2", "steps = [3"},
                                                       {"starts = [0", "starts = [1"},
                                                       {"unique", "sort"},
                                                       {"f16[u0", "f64[u0"},
                                                       {"f16[u0", "f16[u1"},
                                                       {"return %12", "return %11"},
                                                       {"%13, %0\n", "%13\n"}};
  for (const auto& [from, to] : edits) {
    EXPECT_FALSE(equal(graph, parse_graph(replaced(kRich, from, to)))) << from;
  }
}

TEST(GraphText, ErrorsNameTheLineAndWhatWasExpected) {
  const auto edited = [](const char* from, const char* to) {
    return message_of(replaced(kRich, from, to));
  };
  EXPECT_EQ(edited("v1", "v9"), "graph version 'v9', expected 'v1'");
  EXPECT_EQ(edited("graph", "plan"), "graph, line 1: expected 'graph', found 'plan'");
  EXPECT_EQ(edited("symbol n in", "symbol max in"),
            "graph, line 2: 'max' is not a name for a symbol");
  EXPECT_EQ(edited("symbol n in [1, 64]", "symbol n in [1, 64] symbol n in [1, 64]"),
            "graph, line 2: symbol 'n' is declared twice");
  EXPECT_EQ(edited("[1, 64]", "[9, 8]"),
            "graph, line 2: integer out of range [9, 4611686018427387904]");
  EXPECT_EQ(edited("%4 =", "%5 ="), "graph, line 7: expected value %4 next");
  EXPECT_EQ(edited("mul(", "mull("), "graph, line 8: unknown op 'mull'; did you mean 'mul'?");
  EXPECT_EQ(edited("f32[n, s1] @", "f31[n, s1] @"),
            "graph, line 3: unknown dtype 'f31'; did you mean 'f32'?");
  EXPECT_EQ(edited("mul(", "multiply("),
            "graph, line 8: unknown op 'multiply'; did you mean 'mul'?");
  EXPECT_EQ(edited("mul(", "qqqqq("), "graph, line 8: unknown op 'qqqqq'");
  EXPECT_EQ(
      edited("f32[n, s1] @", "float32[n, s1] @"),
      "graph, line 3: unknown dtype 'float32'; there are bool, i8, i16, i32, i64, u8, u16, u32, "
      "u64, f16, f32, f64, bf16");
  EXPECT_EQ(edited("f32[n, s1] @", "f32[n,, s1] @"),
            "graph, line 3: dim expression, column 1: expected a number, a name or '(', found the "
            "end");
  EXPECT_EQ(edited("{value = -0x1.8p+1}", "{size = 1}"),
            "graph, line 5: attribute 'size' is not expected here");
  EXPECT_EQ(edited(", steps = [2, -1]", ""), "graph, line 14: an attribute of 'slice' is missing");
  EXPECT_EQ(edited("steps = [2, -1]", "starts = [2, 1]"),
            "graph, line 14: attribute 'starts' is not expected here");
  EXPECT_EQ(edited("-0x1.8p+1", "0x"), "graph, line 5: expected a number, found '0'");
  EXPECT_EQ(edited("-0x1.8p+1", "1e999"), "graph, line 5: the number does not fit into f64");
  EXPECT_EQ(edited("-0x1.8p+1", "nan(0x1)"), "graph, line 5: these bits are no NaN");
  EXPECT_EQ(edited("-0x1.8p+1", "0.1"), "%2 = constant: the value is not one of f32");
  EXPECT_EQ(edited("m.py\"", "m.py"), "graph, line 11: the string has no end");
  EXPECT_EQ(edited("\\x0a", "\\n"),
            "graph, line 16: expected one of '\"', '\\' or 'x' after '\\', found 'n'");
  EXPECT_EQ(edited("\\x0a", "\\x0g"), "graph, line 16: expected two hexadecimal digits, found '0'");
  EXPECT_EQ(edited("  return %12, %13, %0\n", ""), "graph, line 18: expected 'return', found '}'");
  EXPECT_EQ(message_of(std::string(kRich) + "x"),
            "graph, line 20: expected the end of the text, found 'x'");
  EXPECT_EQ(message_of("\xff"), "graph, line 1: expected 'graph', found byte 0xff");
}

TEST(GraphText, EveryTruncationIsAnError) {
  const std::string text(kRich);
  for (size_t length = 0; length + 2 < text.size(); ++length) {
    EXPECT_NE(message_of(text.substr(0, length)), "") << text.substr(0, length);
  }
}

TEST(GraphText, RandomMutationsNeverDoWorseThanError) {
  const std::string pieces[] = {
      "%",   "[", "]",  "(", ")",        "{",   "}",  ",",
      "\"",  "=", "@",  ":", "-",        "0x",  "1",  "99999999999999999999",
      "s0*", "n", "\n", "#", "floordiv", "nan", "\\", std::string(1, '\0')};
  Random random(7);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text =
        i % 2 ? std::string(kRich) : print(generate_graph(static_cast<uint64_t>(i)).graph);
    for (int64_t n = 1 + random.below(3); n > 0; --n) {
      const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(text.size())));
      const auto length = static_cast<size_t>(random.below(6));
      switch (random.below(3)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, length);
          break;
        default:
          text.replace(at, length, random.pick(pieces));
      }
    }
    try {
      const Graph graph = parse_graph(text);
      ASSERT_TRUE(equal(graph, parse_graph(print(graph)))) << "case " << i << "\n" << text;
      ++accepted;
    } catch (const Error& e) {
      ASSERT_NE(e.code(), ErrorCode::internal) << "case " << i << ": " << e.what() << "\n" << text;
    }
  }
  EXPECT_GT(accepted, 500);  // mutations reach past the grammar
  EXPECT_LT(accepted, 15000);
}

TEST(GraphText, DeepAndLongInputIsRefusedQuickly) {
  EXPECT_NE(message_of("graph v1 { %0 = input f32[" + std::string(100000, '(')), "");
  EXPECT_NE(message_of("graph v1 { %0 = add(" + std::string(100000, '(')), "");
  EXPECT_NE(message_of("graph v1 { " + std::string(1000000, '%')), "");
}

}  // namespace
}  // namespace dvm::test
