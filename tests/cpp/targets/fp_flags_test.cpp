// Status flags of the cpu's kernels and of the simulated targets'. The expected ones are what
// NumPy 2.4 reports to np.seterrcall for the same operation on float16, float32 and float64 alike;
// where it reports nothing, a flag of ours would send a replay back to the original program for no
// reason.
#include "core/ops/fp_flags.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>

#include "cpu/cpu_target.h"
#include "cpu/simd_level.h"
#include "oracle.h"
#include "sim/sim_target.h"
#include "tile_program.h"
#include "whole.h"

namespace dvm::testing {
namespace {

using core::FpFlags;
using core::kDivideByZero, core::kInvalid, core::kOverflow, core::kUnderflow;
using vm::Compare;

// Operands by name, since the largest and the smallest number differ from dtype to dtype.
enum Number : uint8_t { zero, minus_zero, one, minus_one, half, thousand, large, tiny, inf, nan };

template <DType D>
double value_of(Number operand) {
  switch (operand) {
    case zero:
      return 0;
    case minus_zero:
      return -0.0;
    case one:
      return 1;
    case minus_one:
      return -1;
    case half:
      return 0.5;
    case thousand:
      return 1000;
    case large:
      return D == DType::f16    ? 65504
             : D == DType::bf16 ? 0x1.fep127
             : D == DType::f32  ? 0x1.fffffep127
                                : 0x1.fffffffffffffp1023;
    case tiny:  // 1.5 times the smallest normal number: half of it is exact, a third is not
      return D == DType::f16    ? 0x1.804p-14
             : D == DType::bf16 ? 0x1.82p-126
             : D == DType::f32  ? 0x1.800002p-126
                                : 0x1.8000000000001p-1022;
    case inf:
      return HUGE_VAL;
    case nan:
      return NAN;
  }
  return 0;
}

struct Row {
  Insn insn;
  Number a, b;
  int flags;
  Compare compare = Compare::eq;
};

constexpr Row kRows[] = {
    {Insn::add, one, one, 0},
    {Insn::add, large, large, kOverflow},
    {Insn::add, nan, one, 0},
    {Insn::sub, inf, inf, kInvalid},
    {Insn::mul, tiny, half, kUnderflow},
    {Insn::mul, zero, inf, kInvalid},
    {Insn::mul, large, thousand, kOverflow},
    {Insn::mul, large, zero, 0},
    {Insn::div, one, zero, kDivideByZero},
    {Insn::div, minus_one, minus_zero, kDivideByZero},
    {Insn::div, zero, zero, kInvalid},
    {Insn::div, inf, inf, kInvalid},
    {Insn::div, inf, zero, 0},
    {Insn::div, nan, zero, 0},
    {Insn::div, large, half, kOverflow},
    {Insn::div, tiny, thousand, kUnderflow},
    {Insn::maximum, nan, one, 0},
    {Insn::maximum, one, nan, 0},
    {Insn::minimum, nan, one, 0},
    {Insn::minimum, one, nan, 0},
    {Insn::neg, nan, one, 0},
    {Insn::abs, nan, one, 0},
    {Insn::sqrt, minus_one, one, kInvalid},
    {Insn::sqrt, minus_zero, one, 0},
    {Insn::sqrt, nan, one, 0},
    {Insn::exp, thousand, one, kOverflow},
    {Insn::exp, inf, one, 0},
    {Insn::exp, nan, one, 0},
    {Insn::log, zero, one, kDivideByZero},
    {Insn::log, minus_one, one, kInvalid},
    {Insn::log, inf, one, 0},
    {Insn::log, nan, one, 0},
    {Insn::log1p, minus_one, one, kDivideByZero},
    {Insn::log1p, inf, one, 0},
    {Insn::tanh, thousand, one, 0},
    {Insn::tanh, nan, one, 0},
    {Insn::floor_divide, one, zero, kDivideByZero},
    {Insn::floor_divide, zero, zero, kInvalid},
    {Insn::remainder, one, zero, kInvalid},
    {Insn::fmod, one, zero, kInvalid},
    {Insn::fmod, inf, one, kInvalid},
    {Insn::power, zero, minus_one, kDivideByZero},
    {Insn::power, minus_one, half, kInvalid},
    {Insn::square, large, one, kOverflow},
    {Insn::reciprocal, zero, one, kDivideByZero},
    {Insn::sign, nan, one, 0},
    {Insn::fmax, nan, one, 0},
    {Insn::fmin, one, nan, 0},
    {Insn::heaviside, nan, one, 0},
    {Insn::floor, nan, one, 0},
    {Insn::ceil, half, one, 0},
    {Insn::trunc, inf, one, 0},
    {Insn::rint, half, one, 0},
    {Insn::exp2, large, one, kOverflow},
    {Insn::expm1, large, one, kOverflow},
    {Insn::log2, zero, one, kDivideByZero},
    {Insn::log10, minus_one, one, kInvalid},
    {Insn::sin, inf, one, kInvalid},
    {Insn::tan, nan, one, 0},
    {Insn::arcsin, thousand, one, kInvalid},
    {Insn::arccosh, zero, one, kInvalid},
    {Insn::arctanh, one, one, kDivideByZero},
    {Insn::cosh, large, one, kOverflow},
    {Insn::hypot, large, large, kOverflow},
    {Insn::hypot, inf, nan, 0},
    {Insn::isnan, nan, one, 0},
    {Insn::isinf, nan, one, 0},
    {Insn::isfinite, nan, one, 0},
    {Insn::logical_and, nan, one, 0},
    {Insn::logical_not, nan, one, 0},
    {Insn::cmp, nan, one, 0, Compare::eq},
    {Insn::cmp, nan, one, 0, Compare::ne},
    {Insn::cmp, nan, one, 0, Compare::lt},
    {Insn::cmp, one, nan, 0, Compare::le},
    {Insn::cmp, nan, nan, 0, Compare::gt},
    {Insn::cmp, one, nan, 0, Compare::ge},
    {Insn::select, nan, inf, 0},
};

vm::Target& sim_target() {
  static const auto sim = sim::make_sim_target(*vm::find_target("ascend910b3"));
  return *sim;
}

// Without underflow, which libm reports for results that NumPy's own exp and tanh round silently.
constexpr int kLoud = kDivideByZero | kOverflow | kInvalid;

// Flags of a call on `count` elements, of which all but the last are 1.
template <typename T>
FpFlags flags_of(const vm::Instruction& fixed, const std::vector<T>& last, int64_t count,
                 bool streams) {
  static const auto cpu = cpu::make_cpu_target();
  const std::vector<std::optional<uint64_t>> scalars(last.size());
  TileCase test = linear_case(fixed.insn, fixed.dtype, fixed.aux, count, 64, scalars);
  test.streams = streams;
  Buffers buffers;
  for (size_t k = 0; k < last.size(); ++k) {
    if (operand_dtype(test.fixed, static_cast<int>(k) + 1) == DType::boolean) {
      buffers.emplace_back(static_cast<size_t>(count), std::byte{1});
      continue;
    }
    std::vector<T> values(static_cast<size_t>(count), narrow<T>(1.0));
    values.back() = last[k];
    buffers.push_back(to_bytes(values));
  }
  const int64_t bytes = count * core::byte_size(operand_dtype(test.fixed, 0));
  buffers.emplace_back(static_cast<size_t>(bytes));
  const std::vector<uint64_t> words = build(cpu->traits(), test, buffers);
  std::vector<std::byte*> globals;
  for (auto& buffer : buffers) globals.push_back(buffer.data());
  static const cpu::SimdLevel best = cpu::simd_level();
  const FpFlags flags = cpu->run(vm::Program(words), globals).flags;
  for (const cpu::SimdLevel level : cpu::simd_levels()) {
    cpu::set_simd_level(level);
    EXPECT_EQ(cpu->run(vm::Program(words), globals).flags, flags) << cpu::to_string(level);
  }
  cpu::set_simd_level(best);
  if (!streams && count < 1000) {
    const std::vector<uint64_t> simulated = build(sim_target().traits(), test, buffers);
    const bool exact = fixed.insn < Insn::exp || fixed.insn == Insn::cast;
    EXPECT_EQ(sim_target().run(vm::Program(simulated), globals).flags & (exact ? 0xff : kLoud),
              flags & (exact ? 0xff : kLoud))
        << "simulated";
  }
  return flags;
}

TEST(FpFlags, AreNumPysForEveryInstructionAndFloat) {
  cpu::set_thread_count(4);
  for (const Row& row : kRows) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      core::dispatch(dtype, [&]<DType D>() {
        if constexpr (core::is_floating(D)) {
          using T = Storage<D>;
          const T unit = narrow<T>(1.0);
          const T a = narrow<T>(value_of<D>(row.a)), b = narrow<T>(value_of<D>(row.b));
          std::vector<T> last{a, b};
          if (row.insn == Insn::select) last.insert(last.begin(), unit);
          last.resize(static_cast<size_t>(vm::info(row.insn).operands) - 1);
          const vm::Instruction fixed{
              .insn = row.insn, .dtype = D, .aux = static_cast<uint8_t>(row.compare)};
          const bool exact = row.insn < Insn::exp;
          for (const int64_t count : {1, 2, 3, 7, 64, 65, 100000}) {
            for (const bool streams : {true, false}) {
              // Many elements take the time: streamed or not by turns.
              if (count > 65 && !whole() && streams != ((&row - kRows + int(D)) % 2 == 0)) continue;
              const int flags = flags_of(fixed, last, count, streams);
              ASSERT_EQ(exact ? flags : flags & kLoud, row.flags)
                  << vm::info(row.insn).name << "." << core::to_string(D) << " " << double(widen(a))
                  << ", " << double(widen(b)) << " count " << count;
            }
          }
        }
      });
    }
  }
  cpu::set_thread_count(2);
}

template <DType D>
void check_signals(std::initializer_list<uint16_t> nans) {
  using H = Storage<D>;
  constexpr std::pair<Insn, int> kExpected[] = {{Insn::add, kInvalid},  {Insn::div, kInvalid},
                                                {Insn::exp, kInvalid},  {Insn::sqrt, kInvalid},
                                                {Insn::cast, kInvalid}, {Insn::copy, 0}};
  for (const auto& [insn, wanted] : kExpected) {
    for (const uint16_t bits : nans) {
      const vm::Instruction fixed{.insn = insn,
                                  .dtype = insn == Insn::cast ? DType::f32 : D,
                                  .aux = static_cast<uint8_t>(insn == Insn::cast ? D : DType{})};
      const bool signals = (bits & (H::kNan - H::kInfinity)) == 0;
      std::vector<H> last(static_cast<size_t>(vm::info(insn).operands) - 1, H{bits});
      for (const int64_t count : {1, 7, 64, 65, 5000}) {
        for (const bool streams : {true, false}) {
          EXPECT_EQ(flags_of(fixed, last, count, streams), signals ? wanted : 0)
              << vm::info(insn).name << " " << bits << " count " << count;
        }
      }
    }
  }
}

// NumPy's sort of halves makes NaNs that signal.
TEST(FpFlags, NumbersOfHalvesThatSignalAreInvalid) {
  check_signals<DType::f16>({0x7c01, 0xfc01, 0x7dff, 0x7e00, 0xffff});
  check_signals<DType::bf16>({0x7f81, 0xff81, 0x7fbf, 0x7fc0, 0xffff});
}

struct CastRow {
  double value;
  DType to;
  int flags;
};
constexpr CastRow kCasts[] = {
    {NAN, DType::i32, kInvalid},
    {HUGE_VAL, DType::i64, kInvalid},
    {-HUGE_VAL, DType::i32, kInvalid},
    {2147483648.0, DType::i32, kInvalid},
    {-2147483649.0, DType::i32, kInvalid},
    {-2147483648.0, DType::i32, 0},
    {2147483647.0, DType::i32, 0},
    {2147483648.0, DType::i64, 0},
    {9223372036854775808.0, DType::i64, kInvalid},
    {-9223372036854775808.0, DType::i64, 0},
    {-0.5, DType::i32, 0},
    {300, DType::i8, 0},  // wraps, as a C cast by way of int does
    {-1, DType::u8, 0},
    {3e9, DType::i16, kInvalid},
    {4294967295.0, DType::u32, 0},
    {4294967296.0, DType::u32, kInvalid},
    {-2147483649.0, DType::u32, kInvalid},
    {9223372036854775808.0, DType::u64, 0},
    {18446744073709551616.0, DType::u64, kInvalid},
    {NAN, DType::boolean, 0},
    {HUGE_VAL, DType::boolean, 0},
    {NAN, DType::f16, 0},
    {HUGE_VAL, DType::f16, 0},
    {65519, DType::f16, 0},
    {65520, DType::f16, kOverflow},
    {1e30, DType::f16, kOverflow},
    {0x1p-24, DType::f16, 0},
    {0x1.8p-24, DType::f16, kUnderflow},
    {1e-30, DType::f16, kUnderflow},
    {NAN, DType::bf16, 0},
    {HUGE_VAL, DType::bf16, 0},
    {0x1.fefffep127, DType::bf16, 0},
    {0x1.ffp127, DType::bf16, kOverflow},
    {-0x1.fffffep127, DType::bf16, kOverflow},
    {0x1p-126, DType::bf16, 0},
    {0x1p-133, DType::bf16, 0},
    {0x1.8p-133, DType::bf16, kUnderflow},
    {0x1p-149, DType::bf16, kUnderflow},
    {1e300, DType::f32, kOverflow},
    {1e-300, DType::f32, kUnderflow},
    {NAN, DType::f32, 0},
};

TEST(FpFlags, OfCastsAreNumPys) {
  for (const CastRow& row : kCasts) {
    for (const int64_t count : {1, 3, 64, 1000}) {
      const auto check = [&]<typename From>(From value, DType from) {
        const vm::Instruction fixed{
            .insn = Insn::cast, .dtype = row.to, .aux = static_cast<uint8_t>(from)};
        ASSERT_EQ(flags_of<From>(fixed, {value}, count, false), row.flags);
        ASSERT_EQ(flags_of<From>(fixed, {value}, count, true), row.flags)
            << core::to_string(from) << " " << row.value << " -> " << core::to_string(row.to);
      };
      check(row.value, DType::f64);
      if (static_cast<float>(row.value) == row.value || std::isnan(row.value)) {
        check(static_cast<float>(row.value), DType::f32);
      }
    }
  }
}

TEST(FpFlags, IntegersToHalvesOverflow) {
  const vm::Instruction fixed{
      .insn = Insn::cast, .dtype = DType::f16, .aux = static_cast<uint8_t>(DType::i64)};
  EXPECT_EQ(flags_of<int64_t>(fixed, {70000}, 100, true), kOverflow);
  EXPECT_EQ(flags_of<int64_t>(fixed, {65504}, 100, true), 0);
}

TEST(FpFlags, OfIntegersAreRaisedByHand) {
  const auto flags = [](Insn insn, int a, int b) {
    return flags_of<int8_t>({.insn = insn, .dtype = DType::i8},
                            {static_cast<int8_t>(a), static_cast<int8_t>(b)}, 100, false);
  };
  EXPECT_EQ(flags(Insn::floor_divide, 1, 0), kDivideByZero);
  EXPECT_EQ(flags(Insn::remainder, 1, 0), kDivideByZero);
  EXPECT_EQ(flags(Insn::fmod, 1, 0), kDivideByZero);
  EXPECT_EQ(flags(Insn::floor_divide, -128, -1), kOverflow);
  EXPECT_EQ(flags(Insn::remainder, -128, -1), 0);
  EXPECT_EQ(flags(Insn::power, 2, -1), kInvalid);  // a ValueError
  EXPECT_EQ(flags(Insn::add, 127, 127), 0);
  EXPECT_EQ(flags(Insn::left_shift, 1, 127), 0);
}

struct ReduceRow {
  Insn insn;
  std::vector<double> values;
  int flags;
};

TEST(FpFlags, OfReductionsComeFromTheirElementsAlone) {
  const ReduceRow rows[] = {
      {Insn::sum, {1, 2, 3}, 0},
      {Insn::sum, {HUGE_VAL, -HUGE_VAL, 1}, kInvalid},
      {Insn::sum, {HUGE_VAL, HUGE_VAL, NAN}, 0},
      {Insn::sum, {65504, 65504, 65504}, kOverflow},
      {Insn::max, {1, NAN, 3}, 0},
      {Insn::max, {NAN, NAN, HUGE_VAL}, 0},
      {Insn::min, {1, NAN, 3}, 0},
      {Insn::min, {NAN, NAN, -HUGE_VAL}, 0},
      {Insn::nanmax, {1, NAN, 3}, 0},
      {Insn::nanmin, {NAN, NAN, -HUGE_VAL}, 0},
      {Insn::prod, {HUGE_VAL, 0, 1}, kInvalid},
      {Insn::prod, {HUGE_VAL, NAN, 1}, 0},
      {Insn::prod, {65504, 2, 1}, kOverflow},
      {Insn::min, {0.0, -0.0, 1}, core::kTiedZeros},
      {Insn::min, {-0.0, -0.0, 1}, 0},
      {Insn::min, {0.0, -0.0, -1}, 0},
      {Insn::nanmin, {-0.0, NAN, 0.0}, core::kTiedZeros},
      {Insn::max, {0.0, -0.0, 1}, 0},
  };
  static const auto cpu = cpu::make_cpu_target();
  for (const ReduceRow& row : rows) {
    for (const uint32_t size : {3u, 70u, 600u}) {
      for (const uint32_t n : {1u, 5u, 16u}) {
        std::vector<Half> source(size_t{size} * n, narrow<Half>(1.0));
        for (size_t i = 0; i < row.values.size(); ++i) source[i * n] = narrow<Half>(row.values[i]);
        TileCase test{.fixed = {.insn = row.insn, .dtype = DType::f16}};
        test.fixed.size = size;
        test.fixed.n = n;
        test.fixed.aux =
            static_cast<uint8_t>(n == 1 ? vm::ReduceOrder::lanes : vm::ReduceOrder::sequential);
        test.sources.resize(1);
        for (const bool simulated : {false, true}) {
          vm::Target& target = simulated ? sim_target() : *cpu;
          test.streams = !simulated;
          Buffers buffers{to_bytes(source), std::vector<std::byte>(n * sizeof(Half))};
          const std::vector<uint64_t> words = build(target.traits(), test, buffers);
          std::byte* globals[] = {buffers[0].data(), buffers[1].data()};
          EXPECT_EQ(target.run(vm::Program(words), globals).flags, row.flags)
              << vm::info(row.insn).name << " size " << size << " n " << n << " on "
              << target.traits().name;
        }
      }
    }
  }
}

TEST(FpFlags, OfTheCallerStayAsTheyWere) {
  std::feclearexcept(FE_ALL_EXCEPT);
  const vm::Instruction fixed{.insn = Insn::div, .dtype = DType::f32};
  EXPECT_EQ(flags_of<float>(fixed, {1, 0}, 100, true), kDivideByZero);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW), 0);
  std::feraiseexcept(FE_INVALID);
  EXPECT_EQ(flags_of<float>(fixed, {1, 1}, 100, true), 0);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW), FE_INVALID);
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST(FpFlags, ReadAsTheyAreRaised) {
  for (int flags = 0; flags < 16; ++flags) {
    const core::WatchFpFlags watch;
    core::raise(static_cast<FpFlags>(flags));
    EXPECT_EQ(watch.raised(), flags);
  }
}

}  // namespace
}  // namespace dvm::testing
