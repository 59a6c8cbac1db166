// The reference evaluator against an oracle that shares nothing with it: element by element, each
// node is recomputed from the arrays of its operands in double or __int128. Comparing node by node
// keeps one node's rounding from reaching the next.
#include <gtest/gtest.h>

#include <cmath>

#include "core/graph_generator.h"

namespace dvm::test {
namespace {

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
  return dispatch(a.dtype, [&]<DType D>() -> Number {
    Storage<D> value;
    std::memcpy(static_cast<void*>(&value), p, sizeof value);
    if constexpr (is_half(D)) {
      return {false, 0, to_float(value)};
    } else if constexpr (is_floating(D)) {
      return {false, 0, value};
    } else {
      return {true, static_cast<Wide>(value), 0};
    }
  });
}

double rounded_half(DType dtype, double x) {
  return round_to(dtype, Scalar::of_float(x)).as_float();
}

// The value as `dtype` holds it; that of halves passes through float.
Number rounded(DType dtype, Number x) {
  if (dtype == DType::boolean) return {true, x.exact ? x.i != 0 : x.d != 0, 0};
  if (is_half(dtype)) return {false, 0, rounded_half(dtype, static_cast<float>(x.d))};
  if (dtype == DType::f32) return {false, 0, static_cast<float>(x.d)};
  if (dtype == DType::f64) return x;
  // Modulo the width, then into the range of the signed.
  const Wide modulus = Wide{1} << (8 * byte_size(dtype));
  const Wide rest = (x.i % modulus + modulus) % modulus;
  const bool wraps = to_string(dtype)[0] == 'i' && rest >= modulus / 2;
  return {true, wraps ? rest - modulus : rest, 0};
}

Number converted(DType dtype, Number x) {
  if (is_floating(dtype)) {
    const double d = x.exact ? static_cast<double>(x.i) : x.d;
    if (is_half(dtype)) return {false, 0, rounded_half(dtype, d)};
    if (dtype == DType::f32 && x.exact) return {false, 0, static_cast<float>(x.i)};
    return rounded(dtype, {false, 0, d});
  }
  if (x.exact || dtype == DType::boolean) return rounded(dtype, x);
  if (std::isnan(x.d)) return {true, 0, 0};
  // Through i32 or i64, where it saturates, and on to the narrower or unsigned by wrapping.
  const Wide lo = byte_size(dtype) <= 4 ? INT32_MIN : INT64_MIN;
  const bool reaches_further = dtype == DType::u32 || dtype == DType::u64;
  const Wide hi = reaches_further ? -2 * lo - 1 : -(lo + 1);
  if (x.d <= static_cast<double>(lo)) return rounded(dtype, {true, lo, 0});
  if (x.d >= static_cast<double>(hi)) return rounded(dtype, {true, hi, 0});
  return rounded(dtype, {true, static_cast<Wide>(x.d), 0});
}

struct Expected {
  Number value;
  double tolerance = 0;  // absolute
};

double epsilon(DType dtype) {
  if (is_half(dtype)) return dtype == DType::f16 ? 0x1p-10 : 0x1p-7;
  return dtype == DType::f32 ? 0x1p-23 : 0x1p-52;
}

class Oracle {
 public:
  Oracle(const Graph& graph, const std::vector<Array>& all, const std::vector<int64_t>& symbols)
      : graph_(graph), all_(all), symbols_(symbols) {}

  // Of integers; sums wrap once, at their end.
  static Expected product(const Array& a, const Array& b, DType dtype, const Index& at) {
    Index left = at, right = at;
    const size_t rank = at.size();
    Wide sum = 0;
    for (int64_t k = 0; k < a.shape.back(); ++k) {
      left[rank - 1] = right[rank - 2] = k;
      sum = rounded(DType::i64,
                    {true, sum + rounded(DType::i64, {true, read(a, left).i * read(b, right).i}).i})
                .i;
    }
    return {rounded(dtype, {true, sum})};
  }

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
                                   : rounded(dtype, {true, node.attrs.value.as_int(), 0})};
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
      case OpClass::matrix:
        return node.op == Op::convolve ? convolution(in(0), in(1), node, at)
                                       : product(in(0), in(1), dtype, at);
      case OpClass::whole:
        return whole(node, at);
      default:
        break;
    }
    // NumPy is the oracle of these: tests/py/test_elementwise.py.
    if (elementwise_info(node.op) && node.op > Op::tanh) return {{}, HUGE_VAL};
    std::vector<Number> x;
    for (size_t i = 0; i < node.inputs.size(); ++i) x.push_back(read(in(i), at));
    if (node.op == Op::cast) return {converted(dtype, x[0])};
    if (node.op == Op::select) return {x[0].i ? x[1] : x[2]};
    const Number exact = x[0].exact ? integer(node.op, dtype, x) : real(node.op, x);
    const bool library =
        node.op == Op::exp || node.op == Op::log || node.op == Op::log1p || node.op == Op::tanh;
    const double slack = library ? 2 * epsilon(dtype) * std::fabs(exact.d) + 0x1p-149 : 0;
    const Number result = exact.exact ? exact : rounded(dtype, exact);
    return {result, is_half(dtype) && library ? slack + 0x1p-24 : slack};
  }

  // Of integers.
  static Expected convolution(const Array& w, const Array& x, const Node& node, const Index& at) {
    const std::vector<int64_t>& window = node.attrs.window;
    const size_t axes = window.size(), rows = at.size() - axes - 1;
    Index weight(at.begin(), at.begin() + static_cast<ptrdiff_t>(rows) + 1);
    weight.push_back(0);
    Wide sum = 0;
    for (; weight.back() < w.shape.back(); ++weight.back()) {
      Index from = at;
      int64_t rest = weight.back();
      bool is_there = true;
      for (size_t d = axes; d-- > 0; rest /= window[d]) {
        int64_t& place = from[rows + 1 + d];
        place = at[rows + 1 + d] * node.attrs.steps[d] +
                rest % window[d] * node.attrs.dilations[d] - node.attrs.padding[d];
        is_there = is_there && place >= 0 && place < x.shape[rows + 1 + d];
      }
      if (!is_there) continue;
      from[rows] = rest;
      const Wide term = rounded(DType::i64, {true, read(w, weight).i * read(x, from).i}).i;
      sum = rounded(DType::i64, {true, sum + term}).i;
    }
    return {rounded(node.type.dtype, {true, sum})};
  }

 private:
  const Array& input(const Node& node, size_t i) const {
    return all_[static_cast<size_t>(node.inputs[i])];
  }

  Expected whole(const Node& node, const Index& at) const {
    const DType dtype = node.type.dtype;
    if (node.op == Op::empty) return {Number{!is_floating(dtype)}};
    if (node.op == Op::iota) return {converted(dtype, {true, at[0], 0})};
    if (node.op == Op::scatter || node.op == Op::put_along) return scattered(node, at);
    if (node.op == Op::compress || node.op == Op::nonzero) return chosen(node, at);
    if (node.op != Op::update) return along(node, at);
    Index part(at.size());
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t from = at[i] - core::evaluate(node.attrs.starts[i], symbols_).value();
      const int64_t step = node.attrs.steps[i];
      part[i] = from / step;
      if (from % step != 0 || part[i] < 0 || part[i] >= input(node, 1).shape[i])
        return {read(input(node, 0), at)};
    }
    return {read(input(node, 1), part)};
  }

  Expected along(const Node& node, const Index& at) const {
    const Array& a = input(node, 0);
    const auto axis = static_cast<size_t>(node.attrs.axes[0]);
    const int64_t extent = a.shape[axis];
    Index from = at;
    const auto element_at = [&](int64_t i) {
      from[axis] = i;
      return read(a, from);
    };
    switch (node.op) {
      case Op::argmax:
      case Op::argmin: {
        const auto less = [&](const Number& x, const Number& y) {
          return x.exact ? x.i < y.i : x.d < y.d;
        };
        for (int64_t i = 0; i < extent; ++i) {
          if (is_nan(element_at(i))) return {{true, i, 0}};
        }
        int64_t best = 0;
        for (int64_t i = 1; i < extent; ++i) {
          const Number x = element_at(i), y = element_at(best);
          if (node.op == Op::argmax ? less(y, x) : less(x, y)) best = i;
        }
        return {{true, best, 0}};
      }
      case Op::gather: {
        const auto begin = at.begin() + static_cast<ptrdiff_t>(axis);
        const auto end = begin + static_cast<ptrdiff_t>(input(node, 1).shape.size());
        const auto index = static_cast<int64_t>(read(input(node, 1), Index(begin, end)).i);
        from.assign(at.begin(), begin);
        from.push_back(index < 0 ? index + extent : index);
        from.insert(from.end(), end, at.end());
        return {read(a, from)};
      }
      case Op::take_along: {
        const auto index = static_cast<int64_t>(read(input(node, 1), at).i);
        return {element_at(index < 0 ? index + extent : index)};
      }
      default:
        break;
    }
    // Scans and folds round after every step.
    const Array& rest = node.op == Op::fold || node.op == Op::fold_where ? input(node, 1) : a;
    int64_t first = 0, begin = &rest == &a ? 1 : 0, end = rest.shape[axis];
    if (node.op == Op::scan) end = at[axis] + 1;
    if (node.op == Op::fold_at) {
      const auto place = [&](int64_t k) {
        return static_cast<int64_t>(read(input(node, 1), {k}).i);
      };
      first = place(at[axis]);
      begin = first + 1;
      if (at[axis] + 1 < input(node, 1).shape[0]) end = place(at[axis] + 1);
    }
    Number total = element_at(first);
    for (int64_t i = begin; i < end; ++i) {
      from[axis] = i;
      if (node.op == Op::fold_where && read(input(node, 2), from).i == 0) continue;
      total = combined(node.attrs.with, a.dtype, total, read(rest, from));
    }
    return {total};
  }

  static bool is_nan(const Number& x) { return !x.exact && std::isnan(x.d); }

  // By add, mul, maximum or minimum.
  static Number combined(const std::string& with, DType dtype, const Number& total,
                         const Number& x) {
    const bool adds = with == "add";
    if (adds || with == "mul") {
      if (!total.exact) return rounded(dtype, {false, 0, adds ? total.d + x.d : total.d * x.d});
      const Wide next = adds ? total.i + x.i : total.i * x.i;
      return dtype == DType::boolean ? Number{true, next != 0} : rounded(dtype, {true, next});
    }
    if (is_nan(total)) return total;
    const bool below = total.exact ? x.i < total.i : x.d < total.d;
    const bool above = total.exact ? x.i > total.i : x.d > total.d;
    return is_nan(x) || (with == "minimum" ? below : above) ? x : total;
  }

  Expected chosen(const Node& node, const Index& at) const {
    const bool where = node.op == Op::nonzero;
    const auto axis = where ? 0 : static_cast<size_t>(node.attrs.axes[0]);
    const Array& mask = input(node, where ? 0 : 1);
    int64_t place = -1;
    for (int64_t left = at[axis]; left >= 0; left -= read(mask, {place}).i != 0) ++place;
    if (where) return {{true, place}};
    Index from = at;
    from[axis] = place;
    return {read(input(node, 0), from)};
  }

  // What was there, and then in order all that goes to this place.
  Expected scattered(const Node& node, const Index& at) const {
    const Array &table = input(node, 0), &indices = input(node, 1), &given = input(node, 2);
    const auto axis = static_cast<size_t>(node.attrs.axes[0]);
    const bool per_position = node.op == Op::scatter;
    Number total = read(table, at);
    Index place(indices.shape.size());
    for (int64_t k = 0; k < indices.size(); ++k) {
      for (int64_t d = static_cast<int64_t>(place.size()) - 1, rest = k; d >= 0; --d) {
        const auto axis_of = static_cast<size_t>(d);
        place[axis_of] = rest % indices.shape[axis_of];
        rest /= indices.shape[axis_of];
      }
      const auto index = static_cast<int64_t>(read(indices, place).i);
      if ((index < 0 ? index + table.shape[axis] : index) != at[axis]) continue;
      Index from = at;
      if (per_position) {
        const auto gone = from.erase(from.begin() + static_cast<ptrdiff_t>(axis));
        from.insert(gone, place.begin(), place.end());
      } else {
        for (size_t d = 0; d < at.size(); ++d) {
          if (d != axis && place[d] != at[d]) from.clear();
          if (from.empty()) break;
          from[d] = place[d];
        }
        if (from.empty()) continue;
      }
      for (size_t d = 0; d < from.size(); ++d) from[d] = std::min(from[d], given.shape[d] - 1);
      const Number next = read(given, from);
      total = node.attrs.with.empty() ? next : combined(node.attrs.with, table.dtype, total, next);
    }
    return {total};
  }

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
      case Op::log1p:
        return {false, 0, std::log1p(a)};
      case Op::tanh:
        return {false, 0, std::tanh(a)};
      default:
        ADD_FAILURE() << info(op).name;
        return {};
    }
  }

  static bool reduces_to_least(Op op) {
    return op == Op::min || op == Op::nanmin || op == Op::min_or_highest || op == Op::all;
  }

  // The highest or lowest value of a dtype.
  static Number extreme(DType dtype, bool highest) {
    if (is_floating(dtype)) return {false, 0, highest ? HUGE_VAL : -HUGE_VAL};
    const bool is_signed = info(dtype).text[0] == 'i';
    if (dtype == DType::boolean) return {true, highest, 0};
    const Wide limit = Wide{1} << (8 * info(dtype).bytes - (is_signed ? 1 : 0));
    return {true, highest ? limit - 1 : (is_signed ? -limit : Wide{0}), 0};
  }

  static Expected reduction(const Node& node, const Array& a, const Index& at) {
    Index from = at;
    for (const int axis : node.attrs.axes) from[static_cast<size_t>(axis)] = 0;
    const DType dtype = a.dtype;
    const bool sum = node.op == Op::sum, prod = node.op == Op::prod;
    const bool least = reduces_to_least(node.op);
    const int identity = prod || node.op == Op::all;
    Number total{!is_floating(dtype), identity, static_cast<double>(identity)};
    double magnitude = 0, partial_limit = 0;
    bool first = true, tiny = false;  // tiny: products that may round to 0, or become NaN
    const auto next = [&] {
      for (size_t i = node.attrs.axes.size(); i-- > 0;) {
        const auto axis = static_cast<size_t>(node.attrs.axes[i]);
        if (++from[axis] < a.shape[axis]) return true;
        from[axis] = 0;
      }
      return false;
    };
    for (const int axis : node.attrs.axes) {
      if (a.shape[static_cast<size_t>(axis)] == 0)
        return {sum || prod ? total : extreme(dtype, least)};
    }
    do {
      const Number x = read(a, from);
      if (sum) {
        total.i += x.i;
        total.d += x.d;
        magnitude += std::fabs(x.d);
      } else if (prod) {
        total =
            total.exact ? rounded(dtype, {true, total.i * x.i}) : Number{false, 0, total.d * x.d};
        magnitude = std::max(magnitude, std::fabs(total.d));
        tiny = tiny || (total.d != 0 && std::fabs(total.d) < 1e-30) || !std::isfinite(x.d);
      } else if (total.exact) {
        total.i = first || (least ? x.i < total.i : x.i > total.i) ? x.i : total.i;
      } else if (node.op == Op::nanmax || node.op == Op::nanmin) {
        const bool better = least ? x.d < total.d : x.d > total.d;
        total.d = first || std::isnan(total.d) || better ? x.d : total.d;
      } else if (!std::isnan(total.d)) {
        const bool better = least ? x.d < total.d : x.d > total.d;
        total.d = first || std::isnan(x.d) || better ? x.d : total.d;
      }
      first = false;
    } while (next());
    if (!sum && !prod) return {total};
    if (total.exact) return {rounded(dtype, total)};
    const DType accumulator = computes_in(dtype);
    partial_limit = accumulator == DType::f32 ? 3.4e38 : 1.7e308;
    // Partial sums that may overflow depend on the order; any special result is accepted there.
    if (prod && tiny) magnitude = HUGE_VAL;
    const double scale = prod ? 2000 * std::fabs(total.d) : 64 * magnitude;
    const double slack = magnitude >= partial_limit ? HUGE_VAL : epsilon(accumulator) * scale;
    return {rounded(dtype, total),
            slack + (is_half(dtype) ? epsilon(dtype) * std::fabs(total.d) + 0x1p-24 : 0)};
  }

  [[maybe_unused]] const Graph& graph_;
  const std::vector<Array>& all_;
  const std::vector<int64_t>& symbols_;
};

bool agrees(const Expected& expected, const Number& got) {
  const Number& want = expected.value;
  if (expected.tolerance == HUGE_VAL) return true;
  if (want.exact || got.exact) return want.exact == got.exact && want.i == got.i;
  if (std::isnan(want.d)) return std::isnan(got.d);
  if (std::isinf(want.d) || std::isinf(got.d)) return want.d == got.d;
  return std::fabs(want.d - got.d) <= expected.tolerance;
}

TEST(ReferenceOracle, AgreesWithEveryElement) {
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
      if (node.op == Op::input || node.op == Op::scalar) continue;
      if (op_class(node.op) == OpClass::opaque) continue;
      if (node.op == Op::tensor) {
        ASSERT_EQ(got.data, dense_bytes(*node.attrs.values));
        continue;
      }
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
