// The reference evaluator: hand values and refusals.
#include "core/reference/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/graph_generator.h"

namespace dvm::test {
namespace {

template <typename T>
Array array_of(DType dtype, std::vector<int64_t> shape, std::vector<T> values) {
  Array a = make_array(dtype, std::move(shape));
  EXPECT_EQ(a.data.size(), values.size() * sizeof(T));
  std::copy(values.begin(), values.end(), elements<T>(a).begin());
  return a;
}
Array f32(std::vector<int64_t> shape, std::vector<float> values) {
  return array_of(DType::f32, std::move(shape), std::move(values));
}

// The one output of a graph in text form.
Array run(const std::string& body, const std::vector<Array>& inputs,
          const HostFunction& host = {}) {
  return evaluate(parse_graph("graph v1 {\n" + body + "\n}"), inputs, host).at(0);
}
std::string refusal(const std::string& body, const std::vector<Array>& inputs,
                    const HostFunction& host = {}) {
  try {
    run(body, inputs, host);
  } catch (const Error& e) {
    return std::string(error_info(e.code()).python_class) + " " + e.message();
  }
  return "";
}

constexpr float kInf = HUGE_VALF;
const float kNaN = std::nanf("");

TEST(Reference, AddsAndBroadcasts) {
  const Array y =
      run("%0 = input f32[s0, 2] %1 = input f32[2] %2 = broadcast(%1) f32[s0, 2]\n"
          "%3 = add(%0, %2) f32[s0, 2] return %3",
          {f32({3, 2}, {1, 2, 3, 4, 5, 6}), f32({2}, {10, 20})});
  EXPECT_TRUE(same_values(y, f32({3, 2}, {11, 22, 13, 24, 15, 26})));
}

TEST(Reference, ASymbolicSizeMayBeOneOrTheTarget) {
  const std::string body =
      "%0 = input f32[s0] %1 = input f32[s1] %2 = broadcast(%0) f32[bcast(s0, s1)]\n"
      "%3 = broadcast(%1) f32[bcast(s0, s1)] %4 = mul(%2, %3) f32[bcast(s0, s1)] return %4";
  EXPECT_TRUE(same_values(run(body, {f32({1}, {2}), f32({2}, {3, 4})}), f32({2}, {6, 8})));
  EXPECT_TRUE(same_values(run(body, {f32({2}, {3, 4}), f32({1}, {2})}), f32({2}, {6, 8})));
  EXPECT_TRUE(same_values(run(body, {f32({0}, {}), f32({1}, {2})}), f32({0}, {})));
  EXPECT_EQ(refusal(body, {f32({2}, {3, 4}), f32({3}, {1, 2, 3})}),
            "ShapeError the size bcast(s0, s1) is undefined");
  EXPECT_EQ(refusal("%0 = input f32[s0] %1 = broadcast(%0) f32[5] return %1", {f32({2}, {1, 2})}),
            "ShapeError shape [2] does not broadcast to [5]");
}

TEST(Reference, ReducesNeighbouringAxes) {
  const Array x = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const std::string head = "%0 = input f32[s0, s1, s2]\n";
  EXPECT_TRUE(same_values(run(head + "%1 = sum(%0) f32[s0, 1, 1] {axes = [1, 2]} return %1", {x}),
                          f32({2, 1, 1}, {10, 26})));
  EXPECT_TRUE(same_values(run(head + "%1 = max(%0) f32[s0, 1, s2] {axes = [1]} return %1", {x}),
                          f32({2, 1, 2}, {3, 4, 7, 8})));
  EXPECT_TRUE(same_values(run(head + "%1 = sum(%0) f32[1, s1, s2] {axes = [0]} return %1", {x}),
                          f32({1, 2, 2}, {6, 8, 10, 12})));
}

// 2**24 swallows every single 1 added to it, so the total tells in which order it was reached.
TEST(Reference, SumsAlongTheLastAxisUseLanes) {
  const auto total = [](std::vector<int64_t> shape, const std::string& rest) {
    Array x = make_array(DType::f32, std::move(shape));
    std::ranges::fill(elements<float>(x), 1.0f);
    elements<float>(x)[0] = 0x1p24f;
    return elements<float>(run("%0 = input f32[s0, s1] %1 = sum(%0) " + rest, {x}))[0];
  };
  const std::string rows = "f32[s0, 1] {axes = [1]} return %1";
  const std::string columns = "f32[1, s1] {axes = [0]} return %1";
  const std::string all = "f32[1, 1] {axes = [0, 1]} return %1";
  const float in_lanes = 0x1p24f + 126;  // the other 63 lanes hold 2 each
  EXPECT_EQ(total({1, 128}, rows), in_lanes);
  EXPECT_EQ(total({128, 1}, columns), in_lanes);
  EXPECT_EQ(total({2, 64}, all), in_lanes);
  // The runs of 8 behind the first one, and those of 64.
  EXPECT_EQ(total({128, 2}, columns), 0x1p24f + 7 * 8 + 64);
  EXPECT_EQ(total({1, 63}, rows), 0x1p24f + 6 * 8 + 7 + 1);  // too short for lanes; to even
}

TEST(Reference, NaNWinsAMaximum) {
  const std::string body = "%0 = input f32[s0] %1 = max(%0) f32[1] {axes = [0]} return %1";
  EXPECT_TRUE(same_values(run(body, {f32({3}, {1, kNaN, kInf})}), f32({1}, {kNaN})));
  EXPECT_TRUE(same_values(run(body, {f32({2}, {-kInf, -3})}), f32({1}, {-3})));
  EXPECT_TRUE(same_values(run(body, {f32({1}, {-kInf})}), f32({1}, {-kInf})));
}

TEST(Reference, EmptyReductions) {
  const std::string head = "%0 = input f32[s0, s1] %1 = ";
  const Array tall = f32({0, 3}, {}), wide = f32({3, 0}, {});
  const std::string sum = "sum(%0) f32[1, s1] {axes = [0]} return %1";
  const std::string max = "max(%0) f32[1, s1] {axes = [0]} return %1";
  EXPECT_TRUE(same_values(run(head + sum, {tall}), f32({1, 3}, {0, 0, 0})));
  EXPECT_TRUE(same_values(run(head + sum, {wide}), f32({1, 0}, {})));
  EXPECT_TRUE(same_values(run(head + max, {wide}), f32({1, 0}, {})));
  EXPECT_EQ(refusal(head + max, {tall}),
            "ShapeError zero-size array to reduction operation maximum which has no identity");
  const std::string least = "max_or_lowest(%0) f32[1, s1] {axes = [0]} return %1";
  EXPECT_TRUE(same_values(run(head + least, {tall}), f32({1, 3}, {-kInf, -kInf, -kInf})));
  EXPECT_TRUE(same_values(run(head + least, {wide}), f32({1, 0}, {})));
  EXPECT_TRUE(same_values(run(head + least, {f32({1, 2}, {kNaN, -3})}), f32({1, 2}, {kNaN, -3})));
}

// Of every dtype: the values that change no maximum, and no minimum.
TEST(Reference, ExtremesOfNothing) {
  for (int d = 0; d < kDTypeCount; ++d) {
    dispatch(static_cast<DType>(d), [&]<DType D>() {
      using T = Storage<D>;
      const std::string type(to_string(D));
      const auto of_nothing = [&](const std::string& op) {
        const Array none = make_array(D, {0});
        std::string body = "%0 = input ";
        body.append(type).append("[s0] %1 = ").append(op).append("(%0) ").append(type);
        return elements<T>(run(body + "[1] {axes = [0]} return %1", {none}))[0];
      };
      const T lowest = of_nothing("max_or_lowest"), highest = of_nothing("min_or_highest");
      if constexpr (is_floating(D)) {
        EXPECT_EQ(scalar::cast<double>(lowest), -HUGE_VAL) << type;
        EXPECT_EQ(scalar::cast<double>(highest), HUGE_VAL) << type;
      } else if constexpr (D == DType::boolean) {
        EXPECT_EQ(lowest, 0);
        EXPECT_EQ(highest, 1);
      } else {
        EXPECT_EQ(lowest, std::numeric_limits<T>::min()) << type;
        EXPECT_EQ(highest, std::numeric_limits<T>::max()) << type;
      }
    });
  }
}

TEST(Reference, RankZeroAndSizes) {
  const Array y =
      run("%0 = scalar f64[] %1 = input f32[2*s0 + s1] %2 = input f32[s1] %3 = dim f64[] {size = "
          "s0*s1}\n"
          "%4 = mul(%0, %3) f64[] return %4",
          {array_of<double>(DType::f64, {}, {0.5}), f32({7}, std::vector<float>(7)),
           f32({3}, {1, 2, 3})});
  EXPECT_TRUE(same_values(y, array_of<double>(DType::f64, {}, {3.0})));  // s1 = 3, s0 = 2
}

TEST(Reference, Views) {
  const Array x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::string head = "%0 = input f32[s0, s1] ";
  EXPECT_TRUE(
      same_values(run(head + "%1 = transpose(%0) f32[s1, s0] {axes = [1, 0]} return %1", {x}),
                  f32({3, 2}, {1, 4, 2, 5, 3, 6})));
  EXPECT_TRUE(same_values(run(head + "%1 = reshape(%0) f32[s1, s0] return %1", {x}),
                          f32({3, 2}, {1, 2, 3, 4, 5, 6})));
  const std::string slice =
      "%1 = slice(%0) f32[s0, 2] {starts = [0, s1 - 1], steps = [1, -2]} return %1";
  EXPECT_TRUE(same_values(run(head + slice, {x}), f32({2, 2}, {3, 1, 6, 4})));
  EXPECT_EQ(refusal(head + slice, {f32({1, 2}, {1, 2})}),
            "ShapeError axis 1 of size 2 ends before 2 elements from 1 with step -2");
  EXPECT_EQ(refusal(head + slice, {f32({1, 0}, {})}), "ShapeError the size s1 - 1 is negative: -1");
  EXPECT_EQ(refusal(head + "%1 = reshape(%0) f32[s0, s0] return %1", {x}),
            "ShapeError cannot reshape [2, 3] into [2, 2]");
}

TEST(Reference, CallsBindTheSizesTheyReturn) {
  const std::string body =
      "%0 = input f32[s0] %1 = call(%0) f32[u0] {callee = \"positive\"}\n"
      "%2 = dim i64[] {size = u0} return %2";
  const HostFunction positive = [](const GivenToCall& given) -> std::vector<Array> {
    EXPECT_EQ(given.callee, "positive");
    std::vector<float> kept;
    for (const float x : elements<float>(given.arrays[0])) {
      if (x > 0) kept.push_back(x);
    }
    return {f32({static_cast<int64_t>(kept.size())}, kept)};
  };
  EXPECT_TRUE(same_values(run(body, {f32({3}, {1, -1, 2})}, positive),
                          array_of<int64_t>(DType::i64, {}, {2})));
  EXPECT_EQ(refusal(body, {f32({1}, {1})}), "HostCallError no host to call 'positive'");
  const HostFunction wrong = [](const GivenToCall&) -> std::vector<Array> {
    return {make_array(DType::f64, {1})};
  };
  EXPECT_EQ(refusal(body, {f32({1}, {1})}, wrong),
            "DtypeError the result of 'positive' is f64, not f32");
}

TEST(Reference, InputsMustMatchTheTypes) {
  const std::string two = "%0 = input f32[s0, 3] %1 = input f32[s0] return %1";
  const Array x = f32({2, 3}, {1, 2, 3, 4, 5, 6}), y = f32({2}, {1, 2});
  EXPECT_EQ(refusal(two, {x, y}), "");
  EXPECT_EQ(refusal(two, {x}), "GraphError the graph takes 2 inputs, got 1");
  EXPECT_EQ(refusal(two, {y, y}), "ShapeError input 0 has rank 1, not that of [s0, 3]");
  EXPECT_EQ(refusal(two, {x, f32({3}, {1, 2, 3})}), "ShapeError input 1 has size 3 where s0 is 2");
  EXPECT_EQ(refusal(two, {f32({3, 2}, {1, 2, 3, 4, 5, 6}), y}),
            "ShapeError input 0 has size 2 where 3 is 3");
  EXPECT_EQ(refusal(two, {make_array(DType::f16, {2, 3}), y}),
            "DtypeError input 0 is f16, not f32");
  EXPECT_EQ(refusal("symbol n in [2, 9] %0 = input f32[n] return %0", {f32({1}, {1})}),
            "ShapeError input 0 has size 1, which puts n outside of [2, 9]");
  EXPECT_EQ(refusal("%0 = input f32[2*s0] return %0", {f32({1}, {1})}),
            "ShapeError input 0 has size 1 where 2*s0 is another number for every s0");
  EXPECT_EQ(refusal("%0 = input f32[s0*s1] %1 = input f32[s0*s1] return %0",
                    {f32({1}, {1}), f32({2}, {1, 2})}),
            "ShapeError input 1 has size 2 where s0*s1 is 1");
  EXPECT_EQ(refusal("%0 = dim i64[] {size = s0} return %0", {}),
            "ShapeError no shape tells the size s0");
  Array torn = y;
  torn.data.pop_back();
  EXPECT_THROW(run(two, {x, torn}), Error);
}

TEST(Reference, SizesKnownOnlyAsAWholeAreEnough) {
  const Array y =
      run("%0 = input f32[s0*s1] %1 = constant f32[] {value = 2} %2 = broadcast(%1) f32[s0*s1]\n"
          "%3 = mul(%0, %2) f32[s0*s1] return %3",
          {f32({2}, {1, 2})});
  EXPECT_TRUE(same_values(y, f32({2}, {2, 4})));
}

TEST(Reference, KnownSymbolsNeedNoShape) {
  const Graph graph =
      parse_graph("graph v1 { %0 = input f32[s0*s1] %1 = reshape(%0) f32[s0, s1] return %1 }");
  const std::vector<Array> inputs{f32({6}, {1, 2, 3, 4, 5, 6})};
  const std::vector<int64_t> symbols{2, 3};
  EXPECT_TRUE(
      same_values(evaluate(graph, inputs, {}, symbols)[0], f32({2, 3}, {1, 2, 3, 4, 5, 6})));
  const std::vector<int64_t> wrong{2, 4};
  EXPECT_THROW(evaluate(graph, inputs, {}, wrong), Error);
}

TEST(Reference, RefusesWhatWouldNotFitIntoMemory) {
  const std::string refused = refusal(
      "%0 = constant f32[] {value = 1} %1 = broadcast(%0) f32[1000000, 1000000] return %1", {});
  EXPECT_EQ(refused, "ShapeError shape [1000000, 1000000] is too large to evaluate");
}

}  // namespace
}  // namespace dvm::test
