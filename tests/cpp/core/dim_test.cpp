// Canonical forms, text and evaluation of Dims.
#include "core/dims/dim.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/dim_random.h"
#include "core/error.h"

namespace dvm::core {
namespace {

class DimTest : public testing::Test {
 protected:
  std::shared_ptr<DimContext> context = DimContext::create();
  Dim a = context->symbol("a"), b = context->symbol("b"), c = context->symbol("c");
  Dim number(int64_t value) { return context->constant(value); }
  std::optional<int64_t> at(Dim dim, std::vector<int64_t> values) { return evaluate(dim, values); }
};

TEST_F(DimTest, SumsAndProductsCommuteAssociateAndDistribute) {
  EXPECT_EQ(a + 1, 1 + a);
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ(a * b, b * a);
  EXPECT_EQ((a + b) + c, a + (b + c));
  EXPECT_EQ((a * b) * c, a * (b * c));
  EXPECT_EQ(a * (b + c), a * b + a * c);
  EXPECT_EQ((a + b) * (a - b), a * a - b * b);
  EXPECT_EQ((a + b) * (a + b) - a * a - 2 * a * b - b * b, number(0));
  EXPECT_NE(a + 1, a);
  EXPECT_NE(a * b, a + b);
}

TEST_F(DimTest, RandomPolynomialsHaveTheSameFormInAnyOrderOfOperations) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    std::vector<Dim> parts;
    while (parts.size() < 5)
      if (const auto d = try_build(random_tree(random, 2, 3), *context)) parts.push_back(*d);
    Dim sum = number(0), product = number(1), distributed = number(0);
    for (const Dim d : parts)
      sum = sum + d, product = product * d, distributed = distributed + d * c;
    EXPECT_EQ(sum * c, distributed);
    std::shuffle(parts.begin(), parts.end(), random);
    Dim sum2 = number(0), product2 = number(1);
    for (const Dim d : parts) sum2 = d + sum2, product2 = d * product2;
    EXPECT_EQ(sum, sum2);
    EXPECT_EQ(product, product2);
  }
}

TEST_F(DimTest, FunctionsHaveOneFormToo) {
  EXPECT_EQ(floor_div(a - 1, number(2)), floor_div(a + 1, number(2)) - 1);
  EXPECT_EQ(floor_div(4 * a + 7, number(4)), a + 1);
  EXPECT_EQ(floor_div(4 * a + 1, number(6)), floor_div(2 * a, number(3)));
  EXPECT_EQ(floor_div(floor_div(a, number(3)) + 1, number(4)), floor_div(a + 3, number(12)));
  EXPECT_EQ(ceil_div(a, number(4)), floor_div(a + 3, number(4)));
  EXPECT_EQ(floor_div(a, number(-4)), -ceil_div(a, number(4)));
  EXPECT_EQ(mod(6 * a + 3, number(4)), 2 * mod(a + 1, number(2)) + 1);
  EXPECT_EQ(mod(mod(a, number(12)) + 5, number(4)), mod(a + 1, number(4)));
  EXPECT_EQ(max(a, max(b, a)), max(b, a));
  EXPECT_EQ(max(max(a, b), c), max(a, max(c, b)));
  EXPECT_EQ(max(a, a + 1), a + 1);
  EXPECT_EQ(min(a, a + 1), a);
  EXPECT_EQ(bcast(a, number(1)), a);
  EXPECT_EQ(bcast(bcast(a, b), b), bcast(b, a));
  EXPECT_EQ(bcast(a, number(4)), number(4));
  EXPECT_EQ(bcast(number(0), number(1)), number(0));
}

TEST_F(DimTest, DivisionByAPossiblyZeroSymbolIsNotSimplified) {
  for (const Dim d : {floor_div(a * b, b), floor_div(b, b), mod(b, b), floor_div(number(0), b)}) {
    EXPECT_FALSE(d.as_constant()) << to_string(d);
    EXPECT_EQ(at(d, {5, 0, 0}), std::nullopt) << to_string(d);
  }
}

TEST_F(DimTest, ConstantsThatDoNotBroadcastThrow) {
  try {
    bcast(number(2), number(3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
    EXPECT_EQ(error.message(), "sizes 2 and 3 do not broadcast together");
  }
}

TEST_F(DimTest, OverflowPoisonsInsteadOfWrapping) {
  const Dim big = number(int64_t{1} << 40);
  const Dim poison = big * big;
  EXPECT_TRUE(poison.is_overflow());
  EXPECT_EQ(poison.kind(), DimKind::overflow);
  EXPECT_TRUE((poison - poison).is_overflow());
  EXPECT_TRUE((poison * 0).is_overflow());
  EXPECT_TRUE(((a * big) * (b * big)).is_overflow());
  EXPECT_TRUE(number(INT64_MIN).is_overflow());
  EXPECT_TRUE((number(INT64_MAX) + 1).is_overflow());
  EXPECT_TRUE((-number(INT64_MAX) - 1).is_overflow());
  EXPECT_TRUE(floor_div(a, number(0)).is_overflow());
  EXPECT_TRUE(max(poison, a).is_overflow());
  EXPECT_EQ(at(poison, {1, 1, 1}), std::nullopt);
  EXPECT_EQ(at(a * b, {int64_t{1} << 40, int64_t{1} << 40, 0}), std::nullopt);
  EXPECT_EQ(to_string(poison), "overflow");
}

TEST_F(DimTest, ExpressionsBeyondTheLimitsArePoisonedNotBuilt) {
  Dim power = a, nested = a, wide = a + b + c;
  for (int i = 0; i < 100; ++i) power = power * (a + 1);
  EXPECT_TRUE(power.is_overflow());
  for (int i = 0; i < 100; ++i) nested = max(nested * 2, b);
  EXPECT_TRUE(nested.is_overflow());
  for (int i = 0; i < 10; ++i) wide = floor_div(wide, b) * wide;
  EXPECT_TRUE(wide.is_overflow());
}

TEST_F(DimTest, PrintingFollowsTheCanonicalOrder) {
  const Dim s2 = context->symbol("s2"), s10 = context->symbol("s10");
  EXPECT_EQ(to_string(2 * s2 - 1 + s10 * s2), "s2*s10 + 2*s2 - 1");
  EXPECT_EQ(to_string(b - a * a), "-a*a + b");
  EXPECT_EQ(to_string(number(0)), "0");
  EXPECT_EQ(to_string(number(-3)), "-3");
  EXPECT_EQ(to_string(ceil_div(a, number(4))), "floordiv(a + 3, 4)");
  EXPECT_EQ(to_string(-floor_div(a, b) * 2), "-2*floordiv(a, b)");
  EXPECT_EQ(to_string(max(min(a, b), number(1)) + mod(a, b)), "mod(a, b) + max(min(a, b), 1)");
  EXPECT_EQ(to_string(bcast(b, a)), "bcast(a, b)");
}

TEST_F(DimTest, TheStructureCanBeWalked) {
  const Dim d = 3 * a * floor_div(b, number(2)) - 1;
  ASSERT_EQ(d.kind(), DimKind::add);
  ASSERT_EQ(d.terms().size(), 2u);
  EXPECT_EQ(d.terms()[0].coefficient, 3);
  ASSERT_EQ(d.terms()[0].factors.size(), 2u);
  const DimAtom& quotient = *d.terms()[0].factors[1].atom;
  EXPECT_EQ(quotient.kind, DimKind::floordiv);
  EXPECT_EQ(quotient.lhs, b);
  EXPECT_EQ(quotient.rhs.as_constant(), 2);
  EXPECT_EQ(quotient.self.kind(), DimKind::floordiv);
  EXPECT_EQ((2 * a).kind(), DimKind::mul);
  EXPECT_EQ(a.kind(), DimKind::symbol);
  EXPECT_EQ(b.symbol_index(), 1);
  EXPECT_EQ(symbols_of(d * c), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(map_atoms(a * b + 1, [&](const DimAtom& x) { return x.self + 1; }), a * b + a + b + 2);
}

TEST_F(DimTest, RoundingIsTowardsMinusInfinity) {
  EXPECT_EQ(at(floor_div(a - b, c), {1, 8, 2}), -4);
  EXPECT_EQ(at(mod(a - b, c), {1, 8, 2}), 1);
  EXPECT_EQ(at(ceil_div(a, b), {7, 2, 0}), 4);
  EXPECT_EQ(at(bcast(a, b), {1, 5, 0}), 5);
  EXPECT_EQ(at(bcast(a, b), {0, 1, 0}), 0);
  EXPECT_EQ(at(bcast(a, b), {3, 5, 0}), std::nullopt);
  EXPECT_EQ(at(floor_div(a, b), {3, 0, 0}), std::nullopt);
}

TEST_F(DimTest, ASymbolKeepsItsDeclaration) {
  EXPECT_EQ(context->symbol("a"), a);
  EXPECT_EQ(context->symbol_count(), 3);
  EXPECT_EQ(context->symbol_info(0).name, "a");
  EXPECT_EQ(context->symbol_at(2), c);
  const auto message = [&](std::string name, int64_t lo, int64_t hi) {
    try {
      context->symbol(std::move(name), lo, hi);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::graph_invalid);
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("a", 1, 64),
            "symbol 'a' in [1, 64] is already declared in [0, 4611686018427387904]");
  EXPECT_EQ(message("x", 5, 4), "symbol 'x' has the impossible range [5, 4]");
  EXPECT_EQ(message("max", 0, 1), "'max' is not a name for a symbol");
  EXPECT_EQ(message("2x", 0, 1), "'2x' is not a name for a symbol");
}

TEST_F(DimTest, MalformedTextIsRefusedWithTheColumn) {
  const auto message = [&](const std::string& text) {
    try {
      context->parse(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::text_syntax);
      return error.message();
    }
    return std::string("accepted");
  };
  const std::string at = "dim expression, column ";
  EXPECT_EQ(message(""), at + "1: expected a number, a name or '(', found the end");
  EXPECT_EQ(message("a +"), at + "4: expected a number, a name or '(', found the end");
  EXPECT_EQ(message("a b"), at + "3: expected the end of the expression, found 'b'");
  EXPECT_EQ(message("max(a; b)"), at + "6: expected ',', found ';'");
  EXPECT_EQ(message("(a"), at + "3: expected ')', found the end");
  EXPECT_EQ(message("mod"), at + "4: expected '(', found the end");
  EXPECT_EQ(message("a + \x01"), at + "5: expected a number, a name or '(', found byte 0x01");
  EXPECT_EQ(message("9223372036854775808"),
            at + "1: the number does not fit into 64 bits, found '9'");
  EXPECT_EQ(message(std::string(65, 'x')), at + "1: the name is too long, found 'x'");
  EXPECT_EQ(message(std::string(1000000, '(')), at + "1: the expression is too long, found '('");
  EXPECT_EQ(message(std::string(2000, '(')),
            at + "97: the expression is nested too deeply, found '('");
  EXPECT_EQ(message(std::string(2000, '-') + "a"),
            at + "97: the expression is nested too deeply, found '-'");
  std::string slow = "(x0";
  for (int i = 1; i < 500; ++i) slow += "+x" + std::to_string(i);
  slow += ")";
  for (int i = 0; i < 5000; ++i) slow += "*-1";
  EXPECT_NE(message(slow).find("the expression takes too long to simplify"), std::string::npos);
}

TEST_F(DimTest, TextIsParsedWithTheUsualPrecedence) {
  EXPECT_EQ(context->parse("a + 2*b*-c - (a - 1)"), -2 * b * c + 1);
  EXPECT_EQ(context->parse(" floordiv( a ,4 ) "), floor_div(a, number(4)));
  EXPECT_EQ(context->parse("-9223372036854775807"), number(-INT64_MAX));
  EXPECT_TRUE(context->parse("overflow").is_overflow());
  const Dim fresh = context->parse("fresh");
  EXPECT_EQ(fresh, context->symbol_at(3));
}

TEST(DimProperty, TextRoundTripsAndEvaluationAgreesWithTheExpressionTree) {
  constexpr int kCases = 12000, kSymbols = 4;
  Random random(20240601);
  int compared = 0, poisoned = 0;
  for (int i = 0; i < kCases; ++i) {
    const auto context = DimContext::create(), fresh = DimContext::create();
    for (int s = 0; s < kSymbols; ++s) context->symbol("s" + std::to_string(s), -kDimMax);
    Tree tree = random_tree(random, 4, kSymbols);
    std::optional<Dim> built = try_build(tree, *context);
    while (!built) {
      tree = random_tree(random, 4, kSymbols);
      built = try_build(tree, *context);
    }
    const std::string text = to_string(*built);
    SCOPED_TRACE("case " + std::to_string(i) + ": " + text);
    ASSERT_EQ(context->parse(text), *built);
    ASSERT_EQ(to_string(fresh->parse(text)), text);
    if (built->is_overflow()) ++poisoned;
    for (int j = 0; j < 8 && !built->is_overflow(); ++j) {
      std::vector<int64_t> values;
      for (int s = 0; s < kSymbols; ++s)
        values.push_back(j < 4 ? draw(random, 0, 6) : draw(random, -50, 200));
      const std::optional<OracleInt> expected = direct(tree, values);
      if (!expected || *expected > INT64_MAX || *expected < -INT64_MAX) continue;
      ASSERT_EQ(evaluate(*built, values), static_cast<int64_t>(*expected));
      ++compared;
    }
  }
  std::cout << "[          ] " << kCases << " Dims, " << compared << " evaluations, " << poisoned
            << " poisoned\n";
  EXPECT_GT(compared, 4 * kCases);
  EXPECT_LT(poisoned, kCases / 10);
}

}  // namespace
}  // namespace dvm::core
