// Each row of simplify.def on special values of each dtype it admits: same bits, same status flags.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/graph_generator.h"
#include "core/ops/fp_flags.h"
#include "core/passes/passes.h"
#include "core/passes/simplify_rules.h"

namespace dvm::test {
namespace {

std::vector<double> special_values(DType dtype) {
  if (info(dtype).kind == core::Kind::boolean) return {0, 1};
  std::vector<double> values = {0, 1, 2, 3, 4, 5, 7, 8, 100, 127};
  if (info(dtype).kind == core::Kind::integer) {
    const double bits = byte_size(dtype) * 8;
    for (const double v : {-1.0, -2.0, -3.0, -8.0, -127.0}) values.push_back(v);
    values.insert(values.end(), {std::ldexp(1, static_cast<int>(bits) - 2),
                                 -std::ldexp(1, static_cast<int>(bits) - 1)});
    return values;
  }
  const bool narrow = dtype == DType::f32 || dtype == DType::bf16;
  const int least = dtype == DType::f16 ? -24 : dtype == DType::bf16 ? -133 : narrow ? -149 : -1074;
  const int most = dtype == DType::f16 ? 15 : narrow ? 127 : 1023;
  for (const double v :
       {0.5, 1.5, 0.1, 1e-3, std::ldexp(1, least), std::ldexp(3, least), std::ldexp(1, least + 12),
        std::ldexp(1.75, most), std::ldexp(1, most), std::numeric_limits<double>::infinity()}) {
    values.push_back(v);
  }
  for (size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  values.push_back(std::numeric_limits<double>::quiet_NaN());
  return values;
}

void store(Array& array, size_t i, Scalar value) {
  dispatch(array.dtype, [&]<DType D>() { elements<Storage<D>>(array)[i] = element_of<D>(value); });
}

// The Graph of one side of a row. Its value is no result itself, which a row leaves alone.
class Side {
 public:
  Side(const Term& term, DType dtype, Scalar power) : dtype_(dtype), power_(power) {
    shape_ = {graph_.dims().symbol("s0")};
    const Value chosen = graph_.input({DType::boolean, shape_});
    x_ = graph_.input({dtype, shape_});
    y_ = graph_.input({dtype, shape_});
    const Value made = build(term);
    graph_.outputs = {graph_.elementwise(Op::select, std::array{chosen, made, made})};
  }
  const Graph& graph() const { return graph_; }

 private:
  Value build(const Term& term) {
    switch (term.kind) {
      case Term::Kind::variable:
        return term.variable == 'x' ? x_ : y_;
      case Term::Kind::op: {
        std::vector<Value> operands;
        for (const Term& operand : term.operands) operands.push_back(build(operand));
        return graph_.elementwise(term.op, operands);
      }
      case Term::Kind::number:
        return constant(scalar_of(dtype_, term.number));
      case Term::Kind::power_of_two:
        return constant(power_);
      default:
        return constant(derived(term.kind, dtype_, power_));
    }
  }
  Value constant(Scalar value) { return graph_.broadcast(graph_.constant(dtype_, value), shape_); }

  Graph graph_;
  DType dtype_;
  Scalar power_;
  Shape shape_;
  Value x_ = -1, y_ = -1;
};

std::vector<Array> operands_of(DType dtype) {
  const std::vector<double> values = special_values(dtype);
  const auto n = static_cast<int64_t>(values.size());
  Array chosen = make_array(DType::boolean, {n * n}), x = make_array(dtype, {n * n}), y = x;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t k = 0; k < values.size(); ++k) {
      store(chosen, i * values.size() + k, Scalar::of_int(1));
      store(x, i * values.size() + k, scalar_of(dtype, values[i]));
      store(y, i * values.size() + k, scalar_of(dtype, values[k]));
    }
  }
  return {chosen, x, y};
}

FpFlags flags_of(const Graph& graph, const std::vector<Array>& operands,
                 std::vector<Array>& results) {
  const WatchFpFlags watch;
  results = evaluate(graph, operands);
  return watch.raised();
}

bool has_power(const Term& term) {
  if (term.kind == Term::Kind::power_of_two) return true;
  return std::any_of(term.operands.begin(), term.operands.end(), has_power);
}

// Extremes of NaN raise nothing in NumPy and in kernels, but the reference compares.
bool is_quiet(const SimplifyRule& rule) {
  const Op op = rule.from.op;
  return op == Op::maximum || op == Op::minimum || op == Op::fmax || op == Op::fmin;
}

// The constants to try for p; one that is not used where the row has none.
std::vector<Scalar> powers_of(const SimplifyRule& rule, DType dtype) {
  if (!has_power(rule.from)) return {Scalar()};
  std::vector<Scalar> powers;
  for (int exponent = -1074; exponent <= 1023; ++exponent) {
    if (!is_floating(dtype) && (exponent < 1 || exponent > 62)) continue;
    for (const double sign : {1.0, -1.0}) {
      const Scalar power = scalar_of(dtype, sign * std::ldexp(1, exponent));
      // 1 has rows of its own.
      if (power != scalar_of(dtype, 1) && is_power_of_two(dtype, power)) powers.push_back(power);
    }
  }
  return powers;
}

Graph simplified(const Graph& graph) { return pass_dead_code(pass_simplify(graph)); }

TEST(Simplify, RowsKeepBitsAndFlags) {
  for (const SimplifyRule& rule : simplify_rules()) {
    int tried = 0;
    for (int d = 0; d < kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!rule.admits(dtype)) continue;
      const std::vector<Array> operands = operands_of(dtype);
      for (const Scalar power : powers_of(rule, dtype)) {
        const std::string where = std::string(rule.from_text) + " of " +
                                  std::string(to_string(dtype)) + ", p bits " +
                                  std::to_string(power.bits());
        const Graph before = Side(rule.from, dtype, power).graph();
        const Graph after = simplified(before);
        ASSERT_TRUE(equal(after, simplified(Side(rule.to, dtype, power).graph()))) << where << "\n"
                                                                                   << print(after);
        ASSERT_FALSE(equal(after, before)) << where;
        std::vector<Array> expected, results;
        const FpFlags raised = flags_of(before, operands, expected);
        const FpFlags raised_after = flags_of(after, operands, results);
        ASSERT_TRUE(is_quiet(rule) || raised_after == raised) << where;
        ASSERT_TRUE(same_values(results, expected)) << where;
        ++tried;
      }
    }
    EXPECT_GT(tried, 0) << rule.from_text;
  }
}

void variables_of(const Term& term, std::set<char>& variables) {
  if (term.kind == Term::Kind::variable) variables.insert(term.variable);
  for (const Term& operand : term.operands) variables_of(operand, variables);
}

TEST(Simplify, RowsKeepEveryVariable) {
  for (const SimplifyRule& rule : simplify_rules()) {
    std::set<char> from, to;
    variables_of(rule.from, from);
    variables_of(rule.to, to);
    EXPECT_EQ(from, to) << rule.from_text;
    EXPECT_TRUE(from.contains('x')) << rule.from_text;
  }
}

std::string graph_of(const std::string& text) { return "graph v1 {\n" + text + "}\n"; }
std::string simplified_text(const std::string& text) {
  const Graph result = simplified(parse_graph(graph_of(text)));
  verify(result);
  return print(result);
}

TEST(Simplify, CastsOfCastsVanishWhereTheDetourLosesNothing) {
  for (int a = 0; a < kDTypeCount; ++a) {
    for (int b = 0; b < kDTypeCount; ++b) {
      for (int c = 0; c < kDTypeCount; ++c) {
        const auto from = static_cast<DType>(a), middle = static_cast<DType>(b);
        const auto to = static_cast<DType>(c);
        Graph graph;
        const Shape shape = {graph.dims().symbol("s0")};
        const Value cast = graph.cast(graph.cast(graph.input({from, shape}), middle), to);
        graph.outputs = {graph.elementwise(Op::eq, std::array{cast, cast})};
        const Array operand = operands_of(from)[1];
        graph.outputs.push_back(graph.cast(cast, to == DType::f64 ? DType::i64 : DType::f64));
        const Graph result = simplified(graph);
        std::vector<Array> expected, results;
        const FpFlags raised = flags_of(graph, {operand}, expected);
        const FpFlags raised_now = flags_of(result, {operand}, results);
        const std::string where = print(graph) + print(result);
        ASSERT_TRUE(same_values(results, expected)) << where;
        ASSERT_EQ(raised_now, raised) << where;
      }
    }
  }
}

TEST(Simplify, ConstantsFoldUnlessAFlagWouldGo) {
  EXPECT_EQ(
      simplified_text("%0 = input f32[s0] %1 = constant f32[] {value = 0x1p+1}\n"
                      "%2 = sqrt(%1) f32[] %3 = mul(%2, %2) f32[] %4 = broadcast(%3) f32[s0]\n"
                      "%5 = constant f32[] {value = 0x0p+0} %6 = div(%3, %5) f32[]\n"
                      "%7 = broadcast(%6) f32[s0] %8 = add(%0, %4) f32[s0]\n"
                      "%9 = add(%8, %7) f32[s0] return %9"),
      graph_of("  %0 = input f32[s0]\n"
               "  %1 = constant f32[] {value = 0x1.fffffep+0}\n"
               "  %2 = broadcast(%1) f32[s0]\n"
               "  %3 = constant f32[] {value = 0x0p+0}\n"
               "  %4 = div(%1, %3) f32[]\n"
               "  %5 = broadcast(%4) f32[s0]\n"
               "  %6 = add(%0, %2) f32[s0]\n"
               "  %7 = add(%6, %5) f32[s0]\n"
               "  return %7\n"));
}

}  // namespace
}  // namespace dvm::test
