// What facts let prove() conclude, and what it must leave unknown without them. The first group is
// the mergeability list that fusion relies on.
#include "core/dims/facts.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace dvm::core {

std::ostream& operator<<(std::ostream& out, Verdict v) {
  return out << (v == Verdict::yes ? "yes" : v == Verdict::no ? "no" : "unknown");
}

namespace {

constexpr Verdict kYes = Verdict::yes, kNo = Verdict::no, kUnknown = Verdict::unknown;

class FactsTest : public testing::Test {
 protected:
  std::shared_ptr<DimContext> context = DimContext::create();
  Facts facts{context};
  Dim a = context->symbol("a"), b = context->symbol("b"), c = context->symbol("c"),
      d = context->symbol("d");
  Dim number(int64_t value) { return context->constant(value); }
  Verdict equal(Dim x, Dim y) { return prove_equal(facts, x, y); }
  Verdict proved(DimCmp cmp, Dim x, Dim y) { return prove(facts, cmp, x, y); }
};

TEST_F(FactsTest, AddingOneOnEitherSideIsTheSameSize) { EXPECT_EQ(equal(a + 1, 1 + a), kYes); }

TEST_F(FactsTest, TheBinomialExpandsToItsSquares) {
  EXPECT_EQ(equal((a + b) * (a + b) - a * a - 2 * a * b - b * b, number(0)), kYes);
}

TEST_F(FactsTest, ReshapingAbcToAbTimesCFlattensToTheSameSize) {
  const Dim ab = context->symbol("ab");
  EXPECT_EQ(equal(a * b * c, ab * c), kUnknown);
  facts.add_product_equal(std::vector{a, b, c}, std::vector{ab, c});
  EXPECT_EQ(equal(a * b * c, ab * c), kYes);
  EXPECT_EQ(equal(a * b, ab), kUnknown) << "c may be 0";
  facts.add_nonzero(c);
  EXPECT_EQ(equal(a * b, ab), kYes);
}

TEST_F(FactsTest, TransposedHeadsFlattenOnTheBatchAloneNotOnLengthAndHeads) {
  // [B, L, H*D] -> [B, L, H, D] -> [B, H, L, D]: merging L with the axis before it would need the
  // stride of that axis (D) to be L times the stride of L (H*D).
  const Dim length = context->symbol("L"), heads = context->symbol("H"),
            depth = context->symbol("D");
  EXPECT_EQ(equal(depth, length * heads * depth), kUnknown);
  facts.add_range(depth, 1, kDimMax);
  facts.add_range(heads, 2, kDimMax);
  facts.add_range(length, 1, kDimMax);
  EXPECT_EQ(equal(depth, length * heads * depth), kNo);
  // Batch: its stride is the product of all the rest in either layout.
  EXPECT_EQ(equal(length * (heads * depth), heads * (length * depth)), kYes);
}

TEST_F(FactsTest, PatchCountsOfAnImageAreOneExpressionHoweverTheyAreComputed) {
  const Dim h = context->symbol("h"), w = context->symbol("w");
  const auto patches = [&](Dim x) { return floor_div(x - 16, number(16)) + 1; };
  EXPECT_EQ(equal(patches(h) * patches(w), floor_div(h, number(16)) * floor_div(w, number(16))),
            kYes);
  EXPECT_EQ(equal(256 * patches(h) * patches(w), h * w), kUnknown);
  facts.add_divisible(h, 16);
  EXPECT_EQ(equal(256 * patches(h) * patches(w), h * w), kUnknown);
  facts.add_divisible(w, 16);
  EXPECT_EQ(equal(256 * patches(h) * patches(w), h * w), kYes);
}

TEST_F(FactsTest, ConcatenatingATensorWithItselfDoublesTheSize) {
  EXPECT_EQ(equal(a + a, 2 * a), kYes);
}

TEST_F(FactsTest, SlicingOffTheFirstElementNeverKeepsTheSize) {
  EXPECT_EQ(equal(a - 1, a), kNo);
  EXPECT_EQ(proved(DimCmp::lt, a - 1, a), kYes);
  // The size NumPy gives x[1:] is 0 for an empty x, and only then the same.
  EXPECT_EQ(equal(max(a - 1, number(0)), a), kUnknown);
  facts.add_nonzero(a);
  EXPECT_EQ(equal(max(a - 1, number(0)), a), kNo);
  EXPECT_EQ(facts.normalize(max(a - 1, number(0))), a - 1);
}

TEST_F(FactsTest, PaddingAndUnpaddingGivesBackTheSize) {
  EXPECT_EQ(equal((a + 2 * b) - b - b, a), kYes);
  const Dim padded = ceil_div(a, number(8)) * 8;
  EXPECT_EQ(equal(padded - (padded - a), a), kYes);
  EXPECT_EQ(proved(DimCmp::ge, padded, a), kYes);
  EXPECT_EQ(proved(DimCmp::lt, padded, a + 8), kYes);
}

TEST_F(FactsTest, SplittingAnEvenSizeGivesTwoEqualHalves) {
  const Dim k = floor_div(2 * a, number(2));
  EXPECT_EQ(equal(k, 2 * a - k), kYes);
  EXPECT_EQ(equal(floor_div(b, number(2)), b - floor_div(b, number(2))), kUnknown);
  facts.add_divisible(b, 2);
  EXPECT_EQ(equal(floor_div(b, number(2)), b - floor_div(b, number(2))), kYes);
}

TEST_F(FactsTest, TileCountsCoverTheSizeAndNoMoreThanOneTileTooMuch) {
  const Dim tiles = ceil_div(a, number(832));
  EXPECT_EQ(proved(DimCmp::ge, tiles * 832, a), kYes);
  EXPECT_EQ(proved(DimCmp::gt, a, (tiles - 1) * 832), kYes);
  EXPECT_EQ(proved(DimCmp::ge, tiles, number(0)), kYes);
  EXPECT_EQ(equal(tiles, floor_div(a + 831, number(832))), kYes);
}

TEST_F(FactsTest, HeightOverSixteenTimesSixteenNeedsTheDivisibilityFact) {
  const Dim quotient = floor_div(a, number(16));
  EXPECT_EQ(equal(quotient * 16, a), kUnknown);
  EXPECT_EQ(proved(DimCmp::le, quotient * 16, a), kYes);
  facts.add_divisible(a, 16);
  EXPECT_EQ(equal(quotient * 16, a), kYes);
  EXPECT_EQ(equal(mod(a, number(16)), number(0)), kYes);
  EXPECT_EQ(equal(ceil_div(a, number(16)), quotient), kYes);
  EXPECT_EQ(equal(a, b * 16 + 3), kNo);
}

TEST_F(FactsTest, ACountUsedTwiceIsOneSymbolAndTwoCountsAreLeftToARunTimeCheck) {
  const Dim n = context->symbol("n"), m = context->symbol("m");
  EXPECT_EQ(equal(n * 4, n * 4), kYes);
  EXPECT_EQ(equal(n, m), kUnknown);
  facts.add_equal(n, m);  // what the check establishes on its yes branch
  EXPECT_EQ(equal(n, m), kYes);
}

TEST_F(FactsTest, APossiblyZeroSizeDoesNotCancel) {
  facts.add_product_equal(std::vector{a, b}, std::vector{a, c});
  EXPECT_EQ(equal(a * b, a * c), kYes);
  EXPECT_EQ(equal(b, c), kUnknown);
  EXPECT_EQ(equal(floor_div(a * b, a), b), kUnknown);
  facts.add_nonzero(a);
  EXPECT_EQ(equal(b, c), kYes);
  EXPECT_EQ(equal(floor_div(a * b, a), b), kYes);
}

TEST_F(FactsTest, APossiblyZeroDivisorDoesNotDivideOut) {
  EXPECT_EQ(equal(floor_div(a * b, b), a), kUnknown);
  EXPECT_EQ(equal(floor_div(b, b), number(1)), kUnknown);
  EXPECT_EQ(equal(mod(a * b, b), number(0)), kUnknown);
  facts.add_range(b, 1, kDimMax);
  EXPECT_EQ(equal(floor_div(a * b, b), a), kYes);
  EXPECT_EQ(equal(floor_div(b, b), number(1)), kYes);
  EXPECT_EQ(equal(mod(a * b, b), number(0)), kYes);
}

TEST_F(FactsTest, ZeroAndOneAreNotExcluded) {
  EXPECT_EQ(equal(a, number(0)), kUnknown);
  EXPECT_EQ(equal(a, number(1)), kUnknown);
  EXPECT_EQ(proved(DimCmp::ge, a, number(0)), kYes);
  EXPECT_EQ(proved(DimCmp::ge, a, number(1)), kUnknown);
  EXPECT_EQ(equal(a * b, a), kUnknown);
  EXPECT_EQ(equal(bcast(a, b), b), kUnknown);
  EXPECT_EQ(equal(a, number(-1)), kNo);
}

TEST_F(FactsTest, OverflowIsUnknown) {
  const Dim big = number(int64_t{1} << 40);
  EXPECT_EQ(equal(big * big, big * big), kUnknown);
  EXPECT_EQ(equal(a, big * big), kUnknown);
  EXPECT_EQ(proved(DimCmp::lt, a, big * big), kUnknown);
  facts.add_equal(a, big * big);
  facts.add_range(big * big, 0, 1);
  facts.add_divisible(big * big, 2);
  facts.add_nonzero(big * big);
  EXPECT_FALSE(facts.contradictory());
}

TEST_F(FactsTest, ABroadcastSizeIsKnownOnceOneSideIsAtLeastTwo) {
  facts.add_range(a, 2, 100);
  EXPECT_EQ(equal(bcast(a, b), a), kYes);
  EXPECT_EQ(equal(bcast(b, c), bcast(c, b)), kYes);
  facts.add_equal(b, c);
  EXPECT_EQ(equal(bcast(b, c), b), kYes);
}

TEST_F(FactsTest, EqualSizesStandForEachOtherThroughChainsAndExpressions) {
  facts.add_equal(a, b + 1);
  facts.add_equal(c, a);
  facts.add_equal(2 * d, 2 * c + 2);
  EXPECT_EQ(equal(d, b + 2), kYes);
  EXPECT_EQ(equal(floor_div(d, number(3)), floor_div(a + 1, number(3))), kYes);
  EXPECT_EQ(equal(c, b), kNo);
  EXPECT_EQ(facts.normalize(c), facts.normalize(b + 1));
  EXPECT_EQ(proved(DimCmp::ge, a, number(1)), kYes) << "b >= 0";
}

TEST_F(FactsTest, ALaterSymbolIsWrittenInTermsOfAnEarlierOne) {
  facts.add_equal(a, d);
  EXPECT_EQ(facts.normalize(d + 1), a + 1);
}

TEST_F(FactsTest, ASymbolIsNotSolvedForWhereItOccursAgain) {
  facts.add_equal(a, floor_div(a, number(2)) + b);
  EXPECT_EQ(equal(a - floor_div(a, number(2)), b), kYes);
  facts.add_equal(c, c * c);
  EXPECT_EQ(equal(c * c * c, c), kYes);
  EXPECT_FALSE(facts.contradictory());
}

TEST_F(FactsTest, InequalitiesChain) {
  facts.add_range(b - a, 0, kDimMax);
  facts.add_range(c - b, 1, kDimMax);
  EXPECT_EQ(proved(DimCmp::lt, a, c), kYes);
  EXPECT_EQ(proved(DimCmp::ge, a, c), kNo);
  EXPECT_EQ(equal(a, c), kNo);
  EXPECT_EQ(equal(a, b), kUnknown);
  facts.add_range(b - a, -5, 0);
  EXPECT_EQ(equal(a, b), kYes) << "both inequalities together";
}

TEST_F(FactsTest, ProductsAreComparedByTheirCommonFactor) {
  facts.add_nonzero(b);
  EXPECT_EQ(proved(DimCmp::ge, a * b, a), kYes);
  EXPECT_EQ(proved(DimCmp::ge, a * c, a), kUnknown);
  EXPECT_EQ(proved(DimCmp::ne, b, number(0)), kYes);
}

TEST_F(FactsTest, ResiduesExcludeEquality) {
  EXPECT_EQ(equal(2 * a, 2 * b + 1), kNo);
  facts.add_divisible(a, 4, 1);
  facts.add_divisible(a, 3, 2);
  EXPECT_EQ(facts.residue(a), (Residue{12, 5}));
  EXPECT_EQ(equal(mod(a, number(12)), number(5)), kYes);
  EXPECT_EQ(proved(DimCmp::ge, a, number(5)), kYes) << "the least member of the class";
}

TEST_F(FactsTest, AKnownRemainderIsADivisibilityFact) {
  facts.add_equal(mod(a, number(8)), number(0));
  EXPECT_EQ(equal(floor_div(a, number(8)) * 8, a), kYes);
  EXPECT_EQ(equal(mod(a, number(4)), number(0)), kYes);
  EXPECT_EQ(equal(b - floor_div(b, number(7)) * 7, mod(b, number(7))), kYes);
}

TEST_F(FactsTest, AKnownQuotientBoundsItsDividend) {
  facts.add_equal(floor_div(a, number(10)), number(3));
  EXPECT_EQ(facts.interval(a), (Interval{30, 39}));
}

TEST_F(FactsTest, MaxAndMinFollowTheKnownOrder) {
  EXPECT_EQ(proved(DimCmp::ge, max(a, b), b), kYes);
  EXPECT_EQ(proved(DimCmp::le, min(a, b), max(a, b)), kYes);
  EXPECT_EQ(proved(DimCmp::le, max(a, b), a + b), kYes);
  EXPECT_EQ(equal(max(a, b) + min(a, b), a + b), kYes);
  EXPECT_EQ(equal(max(a, b), a), kUnknown);
  facts.add_range(a - b, 0, kDimMax);
  EXPECT_EQ(facts.normalize(max(a, b)), a);
  EXPECT_EQ(facts.normalize(min(a, b)), b);
}

TEST_F(FactsTest, ContradictionsAreNotedAndNothingIsConcludedFromThem) {
  const auto contradictory = [&](auto&& add) {
    Facts child = facts.fork();
    add(child);
    if (child.contradictory()) {
      EXPECT_EQ(prove_equal(child, a, b), kUnknown);
    }
    return child.contradictory();
  };
  EXPECT_TRUE(contradictory([&](Facts& f) { f.add_equal(number(1), number(2)); }));
  EXPECT_TRUE(contradictory([&](Facts& f) { f.add_equal(a, a + 1); }));
  EXPECT_TRUE(contradictory([&](Facts& f) { f.add_equal(a + b, number(-1)); }));
  EXPECT_TRUE(contradictory([&](Facts& f) { f.add_equal(2 * a, 4 * b + 1); }));
  EXPECT_TRUE(contradictory([&](Facts& f) { f.add_range(a, 3, 2); }));
  EXPECT_TRUE(contradictory([&](Facts& f) { f.add_range(a, -5, -1); }));
  EXPECT_TRUE(contradictory([&](Facts& f) {
    f.add_range(a, 0, 4);
    f.add_equal(a, b + 5);
  }));
  EXPECT_TRUE(contradictory([&](Facts& f) {
    f.add_divisible(a, 4, 1);
    f.add_divisible(a, 6, 2);
  }));
  EXPECT_TRUE(contradictory([&](Facts& f) {
    f.add_nonzero(a);
    f.add_equal(a, number(0));
  }));
  EXPECT_TRUE(contradictory([&](Facts& f) {
    f.add_equal(a, b);
    f.add_equal(b, c);
    f.add_range(c - a, 1, 9);
  }));
  EXPECT_FALSE(facts.contradictory());
}

TEST_F(FactsTest, AForkedScopeKeepsItsFactsToItself) {
  facts.add_equal(a, b);
  Facts child = facts.fork();
  child.add_equal(b, c);
  EXPECT_EQ(prove_equal(child, a, c), kYes);
  EXPECT_EQ(equal(a, c), kUnknown);
  EXPECT_EQ(equal(a, b), kYes);
}

TEST_F(FactsTest, DeclaredRangesCount) {
  const Dim n = context->symbol("n", 2, 64);
  EXPECT_EQ(equal(n, number(1)), kNo);
  EXPECT_EQ(facts.normalize(floor_div(n - 2, number(100))), number(0));
  EXPECT_EQ(facts.interval(n * n - n), (Interval{2, 4032}));
}

TEST_F(FactsTest, ManyTangledFactsEndInBoundedTime) {
  std::vector<Dim> s;
  for (int i = 0; i < 24; ++i) s.push_back(context->symbol("t" + std::to_string(i)));
  for (size_t i = 0; i + 3 < s.size(); ++i) {
    facts.add_equal(s[i] * s[i + 1], s[i + 2] * s[i + 3] + floor_div(s[i], s[i + 1]));
    facts.add_equal(max(s[i], s[i + 2]), 2 * s[i + 1] - mod(s[i + 3], number(5)));
    facts.add_range(s[i] * 3 - s[i + 1] * 2, -7, 1000);
    facts.add_divisible(s[i] + s[i + 2], 6, 1);
  }
  EXPECT_EQ(proved(DimCmp::lt, s[0] * s[5], s[1] * s[7] - 1), kUnknown);
}

}  // namespace
}  // namespace dvm::core
