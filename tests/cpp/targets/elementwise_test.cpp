// Every elementwise instruction, on every legal dtype: all SIMD levels of the cpu and a simulated
// target give the same bits, and all what the oracle says.
#include "core/ops/elementwise.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "cpu/cpu_target.h"
#include "cpu/elementwise/tile_ops.h"
#include "cpu/simd_level.h"
#include "oracle.h"
#include "sim/sim_target.h"
#include "tile_program.h"

namespace dvm::testing {
namespace {

using vm::Compare;

constexpr int64_t kTile = 64;

// What an instruction gives; nothing for the rows that tests/py/test_elementwise.py compares with
// NumPy itself.
template <typename T, typename W>
std::optional<W> oracle(Insn insn, W a, W b) {
  constexpr bool kFloat = std::is_floating_point_v<W>;
  const bool boolean = std::is_same_v<T, uint8_t>;
  switch (insn) {
    case Insn::add:
      return boolean ? W(a != 0 || b != 0) : a + b;
    case Insn::sub:
      return a - b;
    case Insn::mul:
      if constexpr (!kFloat) {
        // The product of two 64-bit integers needs 128 bits, and only its low half matters.
        const uint64_t low = static_cast<uint64_t>(a) * static_cast<uint64_t>(b);
        return W{low};
      }
      return a * b;
    case Insn::maximum:
      if (a != a || b != b) return a != a ? a : b;
      return a > b ? a : b;
    case Insn::minimum:
      if (a != a || b != b) return a != a ? a : b;
      return a < b ? a : b;
    case Insn::neg:
      return -a;
    case Insn::abs:
      if constexpr (kFloat) return std::signbit(a) ? -a : a;
      return a < 0 ? -a : a;
    case Insn::bitwise_and:
    case Insn::bitwise_or:
    case Insn::bitwise_xor:
      if constexpr (!kFloat)
        return insn == Insn::bitwise_and ? a & b : insn == Insn::bitwise_or ? a | b : a ^ b;
      break;
    case Insn::floor_divide:
    case Insn::remainder:
      if constexpr (!kFloat) {
        if (b == 0) return W{0};
        const W quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
        return insn == Insn::remainder ? a - quotient * b : quotient;
      }
      break;
    case Insn::logical_and:
      return W(a != 0 && b != 0);
    case Insn::logical_not:
      return W(a == 0);
    case Insn::isnan:
      return W(a != a);
    default:
      break;
  }
  if constexpr (kFloat) {
    switch (insn) {
      case Insn::div:
        return a / b;
      case Insn::sqrt:
        return std::sqrt(a);
      case Insn::exp:
        return static_cast<W>(std::exp(static_cast<long double>(a)));
      case Insn::log:
        return static_cast<W>(std::log(static_cast<long double>(a)));
      case Insn::log1p:
        return static_cast<W>(std::log1p(static_cast<long double>(a)));
      case Insn::tanh:
        return static_cast<W>(std::tanh(static_cast<long double>(a)));
      default:
        break;
    }
  }
  return std::nullopt;
}

// Own polynomials, which are good to 2 ulp in f32 and 4 in f64 and have other bits where there is
// no fused multiply-add.
bool is_function(Insn insn) {
#define DVM_ELEMENTWISE(name, ...) \
  if (insn == Insn::name && cpu::tile_ops::Function<cpu::tile_ops::name>) return true;
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
  return false;
}

template <typename T>
bool close(Insn insn, T got, T expected) {
  if (same(got, expected)) return true;
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    if (!is_function(insn)) return false;
    const double g = widen(got), e = widen(expected);
    double ulp = 0, tiny = 0;
    if constexpr (core::AnyHalf<T>) {
      ulp = std::ldexp(1, -HalfRange<T>::kFraction);
      tiny = std::ldexp(ulp, HalfRange<T>::kLeast);
    } else {
      ulp = std::numeric_limits<T>::epsilon();
      tiny = std::numeric_limits<T>::denorm_min();
    }
    return std::fabs(g - e) <= (sizeof(T) == 8 ? 4 : 2) * ulp * std::fabs(e) + tiny;
  }
}

// Runs a case with `count` elements per source, of which those in `mask` are literals, on all
// targets and in all ways, and hands each result to `check`.
template <typename R>
void run_everywhere(Insn insn, DType dtype, uint8_t aux, int64_t count, int mask,
                    const std::vector<std::vector<std::byte>>& sources,
                    const std::vector<uint64_t>& literals,
                    const std::function<void(const std::vector<R>&)>& check) {
  static const cpu::SimdLevel best = cpu::simd_level();
  static const auto cpu = cpu::make_cpu_target();
  static const auto sim = sim::make_sim_target(*vm::find_target("ascend910b3"));
  std::vector<std::optional<uint64_t>> scalars;
  Buffers inputs;
  for (size_t k = 0; k < sources.size(); ++k) {
    const bool literal = mask >> k & 1;
    scalars.push_back(literal ? std::optional(literals[k]) : std::nullopt);
    if (!literal) inputs.push_back(sources[k]);
  }
  TileCase test = linear_case(insn, dtype, aux, count, kTile, scalars);
  const DType first = operand_dtype(test.fixed, 1);
  const bool may_be_in_place = !(mask & 1) && first == operand_dtype(test.fixed, 0);
  struct Way {
    vm::Target* target;
    bool streams, in_place;
    cpu::SimdLevel level = best;
  };
  std::vector<Way> ways{{sim.get(), false, false}, {sim.get(), false, true}};
  for (const cpu::SimdLevel level : cpu::simd_levels()) {
    ways.push_back({cpu.get(), true, false, level});
    ways.push_back({cpu.get(), false, false, level});
    ways.push_back({cpu.get(), false, true, level});
  }
  for (const Way way : ways) {
    if (way.in_place && !may_be_in_place) continue;
    test.streams = way.streams;
    test.in_place = way.in_place;
    Buffers buffers = inputs;
    buffers.emplace_back(static_cast<size_t>(count) * sizeof(R), std::byte{0xab});
    SCOPED_TRACE(std::string(vm::info(insn).name) + "." + std::string(core::to_string(dtype)) +
                 " aux " + std::to_string(aux) + " count " + std::to_string(count) + " mask " +
                 std::to_string(mask) + " on " + std::string(way.target->traits().name) + " " +
                 std::string(cpu::to_string(way.level)) + (way.streams ? " streams" : "") +
                 (way.in_place ? " in place" : ""));
    cpu::set_simd_level(way.level);
    run(*way.target, test, buffers);
    std::vector<R> result(static_cast<size_t>(count));
    std::memcpy(result.data(), buffers.back().data(), buffers.back().size());
    check(result);
    cpu::set_simd_level(best);
    if (::testing::Test::HasFailure()) return;
  }
}

// a holds each value |values| times in a row, b cycles: all pairs once count reaches |values|^2.
template <typename T>
std::pair<std::vector<T>, std::vector<T>> all_pairs(int64_t count) {
  std::mt19937_64 random(7);
  const std::vector<T> values = interesting<T>(random);
  std::vector<T> a, b;
  for (int64_t i = 0; i < count; ++i) {
    const auto n = static_cast<int64_t>(values.size());
    a.push_back(values[static_cast<size_t>(i / n % n)]);
    b.push_back(values[static_cast<size_t>(i % n)]);
  }
  return {a, b};
}

// The exponents of ldexp are whole; what else gives is not said.
template <typename T>
void make_whole(std::vector<T>& exponents) {
  for (T& x : exponents) {
    const auto wide = static_cast<double>(widen(x));
    x = narrow<T>(std::isfinite(wide) ? std::rint(wide) : 0.0);
  }
}

const int64_t kCounts[] = {1, 3, kTile - 1, kTile + 1, 3000};

// R: what one element of the result is stored as.
template <DType D, typename R>
void test_elementwise(Insn insn, int arity) {
  using T = Storage<D>;
  for (const int64_t count : kCounts) {
    auto pairs = all_pairs<T>(count);
    if (insn == Insn::ldexp) make_whole(pairs.second);
    const std::vector<T>&a = pairs.first, &b = pairs.second;
    std::vector<std::vector<std::byte>> sources{to_bytes(a)};
    std::vector<uint64_t> literals{bits_of(a.back())};
    if (arity == 2) {
      sources.push_back(to_bytes(b));
      literals.push_back(bits_of(b.front()));
    }
    for (int mask = 0; mask < 1 << arity; ++mask) {
      std::optional<std::vector<R>> first;
      run_everywhere<R>(insn, D, 0, count, mask, sources, literals, [&](const auto& result) {
        if (first && to_bytes(result) == to_bytes(*first)) return;  // which was looked at
        for (size_t i = 0; i < result.size(); ++i) {
          const T x = mask & 1 ? a.back() : a[i], y = mask & 2 ? b.front() : b[i];
          if (const auto exact = oracle<T>(insn, widen(x), widen(y))) {
            const R expected = narrow<R>(*exact);
            ASSERT_TRUE(close(insn, result[i], expected))
                << "element " << i << ": " << double(widen(x)) << ", " << double(widen(y)) << " -> "
                << double(widen(result[i])) << ", expected " << double(widen(expected));
          }
          if (first) {
            const R other = (*first)[i];
            ASSERT_TRUE(cpu::has_fused_arithmetic(cpu::simd_level())
                            ? same(result[i], other)
                            : close(insn, result[i], other))
                << "element " << i << ": " << double(widen(x)) << ", " << double(widen(y))
                << " differs between targets: " << double(widen(result[i])) << ", "
                << double(widen((*first)[i]));
          }
        }
        if (!first) first = result;
      });
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Elementwise, EveryOpOnEveryDTypeHasTheOraclesBitsOnAllTargets) {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                                     \
  for (int d = 0; d < core::kDTypeCount; ++d) {                                               \
    const auto dtype = static_cast<DType>(d);                                                 \
    if (!vm::contains(vm::DTypeSet::dtypes, dtype)) continue;                                 \
    core::dispatch(dtype, [&]<DType D>() {                                                    \
      constexpr bool kAsks = core::ResultRule::result == core::ResultRule::boolean;           \
      test_elementwise<D, std::conditional_t<kAsks, uint8_t, Storage<D>>>(Insn::name, arity); \
    });                                                                                       \
  }
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
}

template <typename W>
bool compare_oracle(Compare compare, W a, W b) {
  switch (compare) {
#define DVM_COMPARE(name, op, numpy) \
  case Compare::name:                \
    return a op b;
#include "core/ops/compare.def"
#undef DVM_COMPARE
  }
  return false;
}

TEST(Elementwise, CmpOrdersEveryDType) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d), [&]<DType D>() {
      using T = Storage<D>;
      for (int c = 0; c < vm::kCompareCount; ++c) {
        for (const int64_t count : kCounts) {
          const auto pairs = all_pairs<T>(count);
          const std::vector<T>&a = pairs.first, &b = pairs.second;
          for (int mask = 0; mask < 4; ++mask) {
            const auto check = [&](const std::vector<uint8_t>& result) {
              for (size_t i = 0; i < result.size(); ++i) {
                const T x = mask & 1 ? a.back() : a[i], y = mask & 2 ? b.front() : b[i];
                ASSERT_EQ(result[i], compare_oracle(static_cast<Compare>(c), widen(x), widen(y)));
              }
            };
            run_everywhere<uint8_t>(Insn::cmp, D, static_cast<uint8_t>(c), count, mask,
                                    {to_bytes(a), to_bytes(b)},
                                    {bits_of(a.back()), bits_of(b.front())}, check);
          }
        }
      }
    });
  }
}

TEST(Elementwise, SelectAndCopyMoveBitsUntouched) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    core::dispatch(static_cast<DType>(d), [&]<DType D>() {
      using T = Storage<D>;
      for (const int64_t count : kCounts) {
        const auto pairs = all_pairs<T>(count);
        const std::vector<T>&a = pairs.first, &b = pairs.second;
        std::vector<uint8_t> c;
        for (int64_t i = 0; i < count; ++i) c.push_back(i % 3 == 0 || i % 7 == 1);
        for (int mask = 0; mask < 8; ++mask) {
          const auto check = [&](const std::vector<T>& result) {
            for (size_t i = 0; i < result.size(); ++i) {
              const T x = mask & 2 ? a.back() : a[i], y = mask & 4 ? b.front() : b[i];
              const bool chosen = (mask & 1 ? c.back() : c[i]) != 0;
              ASSERT_EQ(bits_of(result[i]), bits_of(chosen ? x : y)) << "element " << i;
            }
          };
          run_everywhere<T>(Insn::select, D, 0, count, mask,
                            {to_bytes(c), to_bytes(a), to_bytes(b)},
                            {c.back(), bits_of(a.back()), bits_of(b.front())}, check);
        }
        for (int mask = 0; mask < 2; ++mask) {
          const auto check = [&](const std::vector<T>& result) {
            for (size_t i = 0; i < result.size(); ++i) {
              ASSERT_EQ(bits_of(result[i]), bits_of(mask ? a.back() : a[i])) << "element " << i;
            }
          };
          run_everywhere<T>(Insn::copy, D, 0, count, mask, {to_bytes(a)}, {bits_of(a.back())},
                            check);
        }
      }
    });
  }
}

template <typename To, typename From>
To cast_oracle(From x) {
  const auto wide = widen(x);
  if constexpr (std::is_same_v<To, uint8_t>) {
    return wide != 0;  // NaN is true
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    // Through i32 or i64, where it saturates, and on to the narrower or unsigned by wrapping.
    __extension__ using Wide = __int128;
    const Wide low = sizeof(To) <= 4 ? INT32_MIN : INT64_MIN;
    const bool wraps = sizeof(To) >= 4 && std::is_unsigned_v<To>;
    const Wide high = wraps ? -2 * low - 1 : -(low + 1);
    if (std::isnan(wide)) return 0;
    if (wide <= static_cast<double>(low)) return static_cast<To>(low);
    if (wide >= static_cast<double>(high)) return static_cast<To>(high);
    return static_cast<To>(static_cast<Wide>(wide));
  } else {
    return narrow<To>(wide);
  }
}

TEST(Elementwise, CastsSaturateTruncateWrapAndRoundOnce) {
  for (int from = 0; from < core::kDTypeCount; ++from) {
    for (int to = 0; to < core::kDTypeCount; ++to) {
      core::dispatch(static_cast<DType>(from), [&]<DType F>() {
        core::dispatch(static_cast<DType>(to), [&]<DType T>() {
          for (const int64_t count : kCounts) {
            const auto source = all_pairs<Storage<F>>(count).second;
            for (int mask = 0; mask < 2; ++mask) {
              const auto check = [&](const std::vector<Storage<T>>& result) {
                for (size_t i = 0; i < result.size(); ++i) {
                  const auto x = mask ? source.back() : source[i];
                  const auto expected = cast_oracle<Storage<T>>(x);
                  ASSERT_TRUE(same(result[i], expected))
                      << double(widen(x)) << " -> " << double(widen(result[i])) << ", expected "
                      << double(widen(expected));
                }
              };
              run_everywhere<Storage<T>>(Insn::cast, T, static_cast<uint8_t>(from), count, mask,
                                         {to_bytes(source)}, {bits_of(source.back())}, check);
            }
          }
        });
      });
    }
  }
}

}  // namespace
}  // namespace dvm::testing
