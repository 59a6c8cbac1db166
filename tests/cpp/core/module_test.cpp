// Functions and data types in text: their meaning, and the rules they keep.
#include "core/graph/module.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/module_generator.h"
#include "core/reference/reference.h"

namespace dvm::core {
namespace {

constexpr const char* kTotal = R"(module v1 {
  data Tree = Leaf(value: f64[?]) | Node(left: Tree, right: Tree) | Nothing
  closure Step = (f64[?]) -> (f64[?])
  function twice = graph v1 {
    %0 = input f64[n]
    %1 = add(%0, %0) f64[n]
    return %1
  }
  function total = graph v1 {
    %0 = input Tree
    %1 = input Step
    %2 = scalar i64[] {size = m}
    %3 = match(%0, %1) f64[m] {sizes = [m]} case Leaf {
      %0 = input f64[n]
      %1 = input Step
      %2 = scalar i64[] {size = m}
      %3 = apply(%1, %0) f64[m]
      return %3
    } case Node {
      %0 = input Tree
      %1 = input Tree
      %2 = input Step
      %3 = scalar i64[] {size = m}
      %4 = invoke(%0, %2) f64[m] {callee = "total", sizes = [m]}
      %5 = invoke(%1, %2) f64[m] {callee = "total", sizes = [m]}
      %6 = add(%4, %5) f64[m]
      return %6
    } case Nothing {
      %0 = input Step
      %1 = scalar i64[] {size = m}
      %2 = constant f64[] {value = 0x0p+0}
      %3 = broadcast(%2) f64[m]
      return %3
    }
    return %3
  }
  graph v1 {
    %0 = input Tree
    %1 = input f64[k]
    %2 = closure Step {callee = "twice"}
    %3 = invoke(%0, %2) f64[k] {callee = "total", sizes = [k]}
    %4 = add(%3, %1) f64[k]
    return %4
  }
}
)";

Array array(std::vector<double> values) {
  Array made = make_array(DType::f64, {static_cast<int64_t>(values.size())});
  std::ranges::copy(values, elements<double>(made).begin());
  return made;
}

TEST(Module, RoundTripsAsText) {
  const Module module = parse_module(kTotal);
  EXPECT_EQ(print(module), kTotal);
  EXPECT_TRUE(equal(parse_module(print(module)), module));
}

TEST(Module, IsWhatItsFunctionsSay) {
  const Array leaf = make_object("Leaf", {array({1, 2})});
  const Array tree =
      make_object("Node", {leaf, make_object("Node", {make_object("Nothing", {}), leaf})});
  const Array inputs[] = {tree, array({10, 20})};
  const std::vector<Array> results = evaluate(parse_module(kTotal), inputs);
  const auto values = elements<double>(results.at(0));
  EXPECT_EQ(std::vector(values.begin(), values.end()), (std::vector<double>{14, 28}));
}

TEST(Module, NamesTheRuleThatIsBroken) {
  struct Broken {
    const char *rule, *from, *to;
  };
  const Broken broken[] = {
      {"'Leaf' is no name for one constructor", "| Nothing", "| Leaf"},
      {"'f64' is no name for one data type", "data Tree", "data f64"},
      {"there is no data type Bush", "left: Tree", "left: Bush"},
      {"there is no function all", "callee = \"total\", sizes = [k]",
       "callee = \"all\", sizes = [k]"},
      {"match: case 2 is None, not Nothing", "case Nothing", "case None"},
      {"a function that is handed sizes is no value", "callee = \"twice\"", "callee = \"total\""},
      {"objects and functions", "function twice = graph v1 {\n    %0 = input f64[n]",
       "function twice = graph v1 {\n    %0 = input Tree[n]"},
      {"operand %0 is a Tree, no array", "%4 = add(%3, %1) f64[k]", "%4 = add(%3, %0) f64[k]"},
      {"results are (f64[?]), not (f32[?])", "-> (f64[?])", "-> (f32[?])"},
      {"argument 1 of a body is Step", "%0 = input f64[n]\n      %1 = input Step",
       "%0 = input f64[n]\n      %1 = input Tree"},
      {"fields that case Leaf takes are (f64[?]), not (f64[?, ?])", "value: f64[?]",
       "value: f64[?, ?]"},
  };
  for (const Broken& each : broken) {
    std::string text = kTotal;
    const size_t at = text.find(each.from);
    ASSERT_NE(at, std::string::npos) << each.from;
    text.replace(at, std::string_view(each.from).size(), each.to);
    try {
      parse_module(text);
      ADD_FAILURE() << each.rule << " is accepted";
    } catch (const Error& error) {
      const std::string message = error.what();
      if (std::string_view(each.rule) == "objects and functions") continue;  // any error of dvm's
      EXPECT_NE(message.find(each.rule), std::string::npos) << message;
    }
  }
}

TEST(Module, GraphsAloneHaveNoObjects) {
  EXPECT_THROW(parse_graph("graph v1 {\n  %0 = input Tree\n  return %0\n}\n"), Error);
  EXPECT_THROW(
      parse_graph("graph v1 {\n  %0 = input f64[n]\n  %1 = invoke(%0) f64[n] {callee = \"f\"}\n"
                  "  return %1\n}\n"),
      Error);
}

TEST(Module, GeneratedOnesRoundTrip) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Module module = test::generate_module(seed).module;
    ASSERT_TRUE(equal(parse_module(print(module)), module)) << print(module);
  }
}

}  // namespace
}  // namespace dvm::core
