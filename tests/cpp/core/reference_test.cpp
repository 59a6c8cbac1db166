// The reference evaluator: hand values, refusals, and an oracle that recomputes single elements.
#include "core/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/graph_generator.h"

namespace dvm::test {
namespace {

template <typename T>
Array array_of(DType dtype, std::vector<int64_t> shape, std::vector<T> values) {
  Array a = make_array(dtype, std::move(shape));
  EXPECT_EQ(a.data.size(), values.size() * sizeof(T));
  std::memcpy(a.data.data(), values.data(), a.data.size());
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
  const HostFunction positive = [](const std::string& callee, std::span<const Array> arguments) {
    EXPECT_EQ(callee, "positive");
    std::vector<float> kept;
    for (const float x : elements<float>(arguments[0])) {
      if (x > 0) kept.push_back(x);
    }
    return f32({static_cast<int64_t>(kept.size())}, kept);
  };
  EXPECT_TRUE(same_values(run(body, {f32({3}, {1, -1, 2})}, positive),
                          array_of<int64_t>(DType::i64, {}, {2})));
  EXPECT_EQ(refusal(body, {f32({1}, {1})}), "HostCallError no host to call 'positive'");
  const HostFunction wrong = [](const std::string&, std::span<const Array>) {
    return make_array(DType::f64, {1});
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

// ---- The oracle: element `at` of a node from the arrays of its operands, in double or __int128.

__extension__ using Wide = __int128;
struct Number {
  bool exact;  // an integer or bool, in `i`
  Wide i = 0;
  double d = 0;
};
using Index = std::vector<int64_t>;

Number read(const Array& a, const Index& at) {
  size_t flat = 0;
  for (size_t i = 0; i < at.size(); ++i)
    flat = flat * static_cast<size_t>(a.shape[i]) + static_cast<size_t>(at[i]);
  const std::byte* p = a.data.data() + flat * static_cast<size_t>(byte_size(a.dtype));
  const auto load = [&]<typename T>(T value) {
    return std::memcpy(&value, p, sizeof value), value;
  };
  switch (a.dtype) {
    case DType::boolean:
      return {true, load(uint8_t{}), 0};
    case DType::i32:
      return {true, load(int32_t{}), 0};
    case DType::i64:
      return {true, load(int64_t{}), 0};
    case DType::f16:
      return {false, 0, to_float(load(Half{}))};
    case DType::f32:
      return {false, 0, load(float{})};
    case DType::f64:
      return {false, 0, load(double{})};
  }
  return {};
}

// The value as `dtype` holds it; f16 arithmetic passes through float.
Number rounded(DType dtype, Number x) {
  switch (dtype) {
    case DType::boolean:
      return {true, x.exact ? x.i != 0 : x.d != 0, 0};
    case DType::i32:
      return {true, static_cast<int32_t>(static_cast<uint64_t>(x.i)), 0};
    case DType::i64:
      return {true, static_cast<int64_t>(static_cast<uint64_t>(x.i)), 0};
    case DType::f16:
      return {false, 0, to_float(to_half(static_cast<float>(x.d)))};
    case DType::f32:
      return {false, 0, static_cast<float>(x.d)};
    case DType::f64:
      return x;
  }
  return x;
}

Number converted(DType dtype, Number x) {
  if (is_floating(dtype)) {
    const double d = x.exact ? static_cast<double>(x.i) : x.d;
    if (dtype == DType::f16) return {false, 0, to_float(half_from_double(d))};
    if (dtype == DType::f32 && x.exact) return {false, 0, static_cast<float>(x.i)};
    return rounded(dtype, {false, 0, d});
  }
  if (x.exact || dtype == DType::boolean) return rounded(dtype, x);
  if (std::isnan(x.d)) return {true, 0, 0};
  const Wide lo = dtype == DType::i32 ? INT32_MIN : INT64_MIN, hi = -(lo + 1);
  if (x.d <= static_cast<double>(lo)) return {true, lo, 0};
  if (x.d >= static_cast<double>(hi)) return {true, hi, 0};
  return {true, static_cast<Wide>(x.d), 0};
}

struct Expected {
  Number value;
  double tolerance = 0;  // absolute
};

double epsilon(DType dtype) {
  return dtype == DType::f16 ? 0x1p-10 : dtype == DType::f32 ? 0x1p-23 : 0x1p-52;
}

class Oracle {
 public:
  Oracle(const Graph& graph, const std::vector<Array>& all, const std::vector<int64_t>& symbols)
      : graph_(graph), all_(all), symbols_(symbols) {}

  Expected element(const Node& node, const Index& at) const {
    const auto in = [&](size_t i) -> const Array& {
      return all_[static_cast<size_t>(node.inputs[i])];
    };
    const DType dtype = node.type.dtype;
    Index from;
    switch (op_class(node.op)) {
      case OpClass::source:
        if (node.op == Op::dim)
          return {converted(dtype, {true, core::evaluate(node.attrs.size, symbols_).value(), 0})};
        return {is_floating(dtype) ? Number{false, 0, node.attrs.value.as_float()}
                                   : Number{true, node.attrs.value.as_int(), 0}};
      case OpClass::broadcast:
        for (size_t i = 0, lead = at.size() - in(0).shape.size(); i < in(0).shape.size(); ++i)
          from.push_back(in(0).shape[i] == 1 ? 0 : at[lead + i]);
        return {read(in(0), from)};
      case OpClass::view: {
        if (node.op == Op::transpose) {
          from.resize(at.size());
          for (size_t i = 0; i < at.size(); ++i)
            from[static_cast<size_t>(node.attrs.axes[i])] = at[i];
        } else if (node.op == Op::slice) {
          for (size_t i = 0; i < at.size(); ++i)
            from.push_back(core::evaluate(node.attrs.starts[i], symbols_).value() +
                           at[i] * node.attrs.steps[i]);
        } else {
          int64_t flat = 0;
          for (size_t i = 0; i < at.size(); ++i)
            flat = flat * core::evaluate(node.type.shape[i], symbols_).value() + at[i];
          from.resize(in(0).shape.size());
          for (size_t i = from.size(); i-- > 0; flat /= in(0).shape[i])
            from[i] = flat % in(0).shape[i];
        }
        return {read(in(0), from)};
      }
      case OpClass::reduce:
        return reduction(node, in(0), at);
      default:
        break;
    }
    std::vector<Number> x;
    for (size_t i = 0; i < node.inputs.size(); ++i) x.push_back(read(in(i), at));
    if (node.op == Op::cast) return {converted(dtype, x[0])};
    if (node.op == Op::select) return {x[0].i ? x[1] : x[2]};
    const Number exact = x[0].exact ? integer(node.op, dtype, x) : real(node.op, x);
    const bool library = node.op == Op::exp || node.op == Op::log || node.op == Op::tanh;
    const double slack = library ? 2 * epsilon(dtype) * std::fabs(exact.d) + 0x1p-149 : 0;
    const Number result = exact.exact ? exact : rounded(dtype, exact);
    return {result, dtype == DType::f16 && library ? slack + 0x1p-24 : slack};
  }

 private:
  static Number integer(Op op, DType dtype, const std::vector<Number>& x) {
    const Wide a = x[0].i, b = x.size() > 1 ? x[1].i : 0;
    switch (op) {
      case Op::eq:
        return {true, a == b};
      case Op::ne:
        return {true, a != b};
      case Op::lt:
        return {true, a < b};
      case Op::le:
        return {true, a <= b};
      case Op::gt:
        return {true, a > b};
      case Op::ge:
        return {true, a >= b};
      case Op::add:
        return rounded(dtype, {true, a + b});
      case Op::sub:
        return rounded(dtype, {true, a - b});
      case Op::mul:
        return rounded(dtype, {true, a * b});
      case Op::maximum:
        return {true, a > b ? a : b};
      case Op::minimum:
        return {true, a < b ? a : b};
      case Op::neg:
        return rounded(dtype, {true, -a});
      case Op::abs:
        return rounded(dtype, {true, a < 0 ? -a : a});
      default:
        ADD_FAILURE() << info(op).name;
        return {};
    }
  }

  static Number real(Op op, const std::vector<Number>& x) {
    const double a = x[0].d, b = x.size() > 1 ? x[1].d : 0;
    const bool nan = std::isnan(a) || std::isnan(b);
    switch (op) {
      case Op::eq:
        return {true, a == b};
      case Op::ne:
        return {true, a != b};
      case Op::lt:
        return {true, a < b};
      case Op::le:
        return {true, a <= b};
      case Op::gt:
        return {true, a > b};
      case Op::ge:
        return {true, a >= b};
      case Op::add:
        return {false, 0, a + b};
      case Op::sub:
        return {false, 0, a - b};
      case Op::mul:
        return {false, 0, a * b};
      case Op::div:
        return {false, 0, a / b};
      case Op::maximum:
        return {false, 0, nan ? a + b : std::max(a, b)};
      case Op::minimum:
        return {false, 0, nan ? a + b : std::min(a, b)};
      case Op::neg:
        return {false, 0, -a};
      case Op::abs:
        return {false, 0, std::fabs(a)};
      case Op::sqrt:
        return {false, 0, std::sqrt(a)};
      case Op::exp:
        return {false, 0, std::exp(a)};
      case Op::log:
        return {false, 0, std::log(a)};
      case Op::tanh:
        return {false, 0, std::tanh(a)};
      default:
        ADD_FAILURE() << info(op).name;
        return {};
    }
  }

  static Expected reduction(const Node& node, const Array& a, const Index& at) {
    Index from = at;
    for (const int axis : node.attrs.axes) from[static_cast<size_t>(axis)] = 0;
    const DType dtype = a.dtype;
    const bool sum = node.op == Op::sum;
    Number total{!is_floating(dtype)};
    double magnitude = 0, partial_limit = 0;
    bool first = true;
    const auto next = [&] {
      for (size_t i = node.attrs.axes.size(); i-- > 0;) {
        const auto axis = static_cast<size_t>(node.attrs.axes[i]);
        if (++from[axis] < a.shape[axis]) return true;
        from[axis] = 0;
      }
      return false;
    };
    for (const int axis : node.attrs.axes) {
      if (a.shape[static_cast<size_t>(axis)] == 0) return {total};
    }
    do {
      const Number x = read(a, from);
      if (sum) {
        total.i += x.i;
        total.d += x.d;
        magnitude += std::fabs(x.d);
      } else if (total.exact) {
        total.i = first || x.i > total.i ? x.i : total.i;
      } else {
        total.d = first || std::isnan(x.d) || x.d > total.d ? x.d : total.d;
      }
      first = false;
    } while (next());
    if (!sum) return {total};
    if (total.exact) return {rounded(dtype, total)};
    const DType accumulator = dtype == DType::f16 ? DType::f32 : dtype;
    partial_limit = accumulator == DType::f32 ? 3.4e38 : 1.7e308;
    // Partial sums that may overflow depend on the order; any special result is accepted there.
    const double slack =
        magnitude >= partial_limit ? HUGE_VAL : 64 * epsilon(accumulator) * magnitude;
    return {rounded(dtype, total),
            slack + (dtype == DType::f16 ? epsilon(dtype) * std::fabs(total.d) + 0x1p-24 : 0)};
  }

  const Graph& graph_;
  const std::vector<Array>& all_;
  const std::vector<int64_t>& symbols_;
};

bool agrees(const Expected& expected, const Number& got) {
  const Number& want = expected.value;
  if (want.exact || got.exact) return want.exact == got.exact && want.i == got.i;
  if (expected.tolerance == HUGE_VAL) return true;
  if (std::isnan(want.d)) return std::isnan(got.d);
  if (std::isinf(want.d) || std::isinf(got.d)) return want.d == got.d;
  return std::fabs(want.d - got.d) <= expected.tolerance;
}

TEST(Reference, EveryElementAgreesWithTheNaiveOracle) {
  int64_t compared = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    GraphCase test = generate_graph(seed);
    test.graph.outputs.clear();
    for (Value v = 0; v < test.graph.size(); ++v) test.graph.outputs.push_back(v);
    const std::vector<Array> all = evaluate(test.graph, test.inputs, generated_host);
    const Oracle oracle(test.graph, all, test.symbols);
    for (Value v = 0; v < test.graph.size(); ++v) {
      const Node& node = test.graph.node(v);
      const Array& got = all[static_cast<size_t>(v)];
      ASSERT_EQ(got.dtype, node.type.dtype);
      ASSERT_EQ(got.shape.size(), node.type.shape.size());
      for (size_t i = 0; i < got.shape.size(); ++i) {
        ASSERT_EQ(got.shape[i], core::evaluate(node.type.shape[i], test.symbols))
            << "seed " << seed;
      }
      if (node.op == Op::input || node.op == Op::scalar || node.op == Op::call) continue;
      Index at(got.shape.size());
      for (int64_t flat = 0; flat < got.size(); ++flat, ++compared) {
        int64_t rest = flat;
        for (size_t i = at.size(); i-- > 0; rest /= got.shape[i]) at[i] = rest % got.shape[i];
        const Expected expected = oracle.element(node, at);
        const Number element = read(got, at);
        ASSERT_TRUE(agrees(expected, element))
            << "seed " << seed << " %" << v << " element " << flat << ": got " << element.d
            << " or " << static_cast<int64_t>(element.i) << ", expected " << expected.value.d
            << " or " << static_cast<int64_t>(expected.value.i) << "\n"
            << print(test.graph);
      }
    }
  }
  EXPECT_GT(compared, 500000);
}

}  // namespace
}  // namespace dvm::test
