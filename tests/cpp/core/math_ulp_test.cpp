// The own polynomials against long double, which glibc evaluates to well below an ulp of a double:
// every float of a dense sample and at all limits, doubles sampled, with and without a fused
// multiply-add. Arguments that are left to the library are skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/math/functions.h"

namespace dvm::testing {
namespace {

namespace math = core::math;

template <typename T>
double ulps(T got, long double exact) {
  const T nearest = static_cast<T>(exact);
  if (std::isnan(nearest) || std::isnan(got)) {
    return std::isnan(nearest) == std::isnan(got) ? 0 : INFINITY;
  }
  if (got == nearest) return std::signbit(got) == std::signbit(nearest) ? 0 : INFINITY;
  if (std::isinf(nearest) || std::isinf(got)) return INFINITY;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr int kLeast = std::numeric_limits<T>::min_exponent - kDigits;
  const long double ulp = std::ldexp(1.0L, std::max(exponent - kDigits, kLeast));
  return static_cast<double>(std::fabs(got - exact) / ulp);
}

// Numbers of all magnitudes, the neighbours of where functions change, and every kind of special.
template <typename T>
std::vector<T> sample() {
  std::mt19937_64 random(11);
  std::vector<T> values{0,
                        1,
                        INFINITY,
                        NAN,
                        std::numeric_limits<T>::denorm_min(),
                        std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::max()};
  for (const double limit :
       {88.0, 88.7228, 103.97, 87.3365, 128.0, 126.0, 149.0, 709.78, 745.13, 708.396, 1024.0,
        1022.0, 1074.0, 17.3, 37.4, 0.5, 9.01, 19.1, 0.3466}) {
    T x = static_cast<T>(limit * 0.99999);
    const T step = static_cast<T>(limit * 2e-5) / 1000;
    for (int i = 0; i < 1000; ++i) values.push_back(x += step);
  }
  for (int i = 0; i < 200000; ++i) {
    using Bits = math::Bits<T>;
    values.push_back(math::from_bits<T>(static_cast<Bits>(random()) & ~math::Format<T>::kSign));
    // Where functions are neither constant nor linear.
    const auto fraction = static_cast<double>(random() >> 11) * 0x1p-53;
    values.push_back(static_cast<T>(std::ldexp(1 + fraction, static_cast<int>(random() % 16) - 6)));
  }
  const size_t positive = values.size();
  for (size_t i = 0; i < positive; ++i) values.push_back(-values[i]);
  return values;
}

template <typename Signs, typename T, typename... More>
bool is_hard(T x, More... more) {
  if constexpr (math::HasHardArguments<Signs, T, More...>) {
    return math::says_yes<T>(Signs::hard(x, more...));
  }
  return false;
}

template <typename Signs, typename T, typename Own, typename Exact>
void check(const char* name, double bound, Own own, Exact exact) {
  static const std::vector<T> values = sample<T>();
  double worst = 0;
  T at = 0;
  for (const T x : values) {
    if (is_hard<Signs>(x)) continue;
    const double error = ulps(own(x), exact(static_cast<long double>(x)));
    if (error > worst) worst = error, at = x;
  }
  EXPECT_LE(worst, bound) << name << (sizeof(T) == 4 ? ".f32 of " : ".f64 of ") << std::hexfloat
                          << at << " gives " << own(at);
}

// Bounds for f32 and f64.
#define DVM_CHECK_WITH(A, name, library, Signs, f32, f64)                   \
  check<math::Signs, float>(                                                \
      #name, f32, [](float x) { return math::name<math::A>(x); }, library); \
  check<math::Signs, double>(                                               \
      #name, f64, [](double x) { return math::name<math::A>(x); }, library);
#define DVM_CHECK_ULP(name, library, Signs, f32, f64)                 \
  TEST(MathUlp, name) {                                               \
    const auto exact = [](long double x) { return std::library(x); }; \
    DVM_CHECK_WITH(Fused, name, exact, Signs, f32, f64)               \
    DVM_CHECK_WITH(Separate, name, exact, Signs, f32, f64)            \
  }
DVM_CHECK_ULP(exp, exp, ExpFlags, 1.1, 1.1)
DVM_CHECK_ULP(exp2, exp2, Exp2Flags, 1.2, 1.2)
DVM_CHECK_ULP(expm1, expm1, Expm1Flags, 1.8, 2.2)
DVM_CHECK_ULP(tanh, tanh, NoFlags, 1.9, 2.4)
DVM_CHECK_ULP(log, log, LogFlags, 1.0, 1.3)
DVM_CHECK_ULP(log1p, log1p, Log1pFlags, 1.5, 2.0)
DVM_CHECK_ULP(log2, log2, LogFlags, 1.8, 1.8)
DVM_CHECK_ULP(log10, log10, LogFlags, 1.9, 1.9)
DVM_CHECK_ULP(sin, sin, SinFlags, 1.8, 1.8)
DVM_CHECK_ULP(cos, cos, CosFlags, 1.9, 1.9)
DVM_CHECK_ULP(tan, tan, TanFlags, 2.0, 2.0)
DVM_CHECK_ULP(arcsin, asin, ArcsinFlags, 2.0, 2.2)
DVM_CHECK_ULP(arccos, acos, ArccosFlags, 1.3, 1.3)
DVM_CHECK_ULP(arctan, atan, NoFlags, 1.5, 1.6)
DVM_CHECK_ULP(sinh, sinh, SinhFlags, 1.9, 2.0)
DVM_CHECK_ULP(cosh, cosh, CoshFlags, 1.4, 1.5)
DVM_CHECK_ULP(arcsinh, asinh, ArcsinhFlags, 2.0, 2.0)
DVM_CHECK_ULP(arccosh, acosh, ArccoshFlags, 2.0, 2.8)
DVM_CHECK_ULP(arctanh, atanh, ArctanhFlags, 2.0, 2.0)
DVM_CHECK_ULP(cbrt, cbrt, CbrtFlags, 1.8, 1.1)
DVM_CHECK_ULP(erf, erf, NoFlags, 1.1, 1.2)
#undef DVM_CHECK_ULP
#undef DVM_CHECK_WITH

// Where the errors of what is done in steps met most unhappily, which a sample hardly finds.
TEST(MathUlp, SteepTanAndTanhOfTwiceRoundedProducts) {
  for (const float x : {0x1.61e218p14f, 0x1.2e791cp1f, 0x1.272982p12f, 0x1.626922p10f}) {
    EXPECT_LE(ulps(math::tan<math::Fused>(x), std::tan(static_cast<long double>(x))), 1.8) << x;
  }
  for (const float x : {0x1.020436p-2f, 0x1.da2adcp-3f, 0x1.0374a2p-2f}) {
    const long double exact = std::tanh(static_cast<long double>(x));
    EXPECT_LE(ulps(math::tanh<math::Separate>(x), exact), 1.5) << x;
  }
}

// Far from 1, what s = (m - 1) / (m + 1) lost counts most, and large exponents show it.
TEST(MathUlp, LargePowersOfBasesNearTheRootOfTwo) {
  constexpr float kFound[][2] = {{0x1.6816fep-1f, 0x1.645f74p+6f},
                                 {0x1.6880c6p+0f, -0x1.5cb16p+6f},
                                 {0x1.6c57fep-1f, 0x1.67b68ep+6f}};
  for (const auto& [x, exponent] : kFound) {
    const long double exact = std::pow(static_cast<long double>(x), exponent);
    EXPECT_LE(ulps(math::power<math::Fused>(x, exponent), exact), 1.6) << x;
  }
}

// What computes as Domain::plain has the bits of Domain::all.
#define DVM_SAME(name, Signs)                                                          \
  {                                                                                    \
    const auto same = []<typename T>(T x) {                                            \
      if (math::says_yes<T>(math::Signs::special(x))) return;                          \
      const T plain = math::name<math::Fused, math::Domain::plain>(x);                 \
      ASSERT_EQ(math::to_bits(plain), math::to_bits(math::name<math::Fused>(x))) << x; \
      math::MathFlags<math::Signs, T> flags;                                           \
      flags.note(x);                                                                   \
      ASSERT_EQ(flags.flags(), 0) << x;                                                \
    };                                                                                 \
    for (const float x : sample<float>()) same(x);                                     \
    for (const double x : sample<double>()) same(x);                                   \
  }
TEST(MathUlp, PlainArgumentsNeedNothingElse) {
  DVM_SAME(exp, ExpFlags)
  DVM_SAME(exp2, Exp2Flags)
  DVM_SAME(expm1, Expm1Flags)
  DVM_SAME(log, LogFlags)
  DVM_SAME(log1p, Log1pFlags)
  DVM_SAME(log2, LogFlags)
  DVM_SAME(log10, LogFlags)
}
#undef DVM_SAME

// Pairs of numbers of similar size, whole ones and zeros among them.
template <typename Signs, typename T, typename Own, typename Exact>
void check_pairs(const char* name, double bound, Own own, Exact exact) {
  std::mt19937_64 random(13);
  const auto number = [&] {
    const auto fraction = static_cast<double>(random() >> 11) * 0x1p-53;
    double x = std::ldexp(1 + fraction, static_cast<int>(random() % 16) - 8);
    if (random() % 8 == 0) x = std::rint(x);
    return static_cast<T>(random() & 1 ? x : -x);
  };
  double worst = 0;
  T at[2] = {};
  int compared = 0;
  for (int i = 0; i < 400000; ++i) {
    const T x = number(), y = number();
    if (is_hard<Signs>(x, y)) continue;
    ++compared;
    const double error = ulps(own(x, y), exact(static_cast<long double>(x), y));
    if (error > worst) worst = error, at[0] = x, at[1] = y;
  }
  EXPECT_GT(compared, 100000) << name;
  EXPECT_LE(worst, bound) << name << (sizeof(T) == 4 ? ".f32 of " : ".f64 of ") << std::hexfloat
                          << at[0] << ", " << at[1] << " gives " << own(at[0], at[1]);
}

#define DVM_CHECK_PAIRS(A, name, Signs, f32, f64)                                     \
  check_pairs<math::Signs, float>(                                                    \
      #name, f32, [](float x, float y) { return math::name<math::A>(x, y); }, exact); \
  check_pairs<math::Signs, double>(                                                   \
      #name, f64, [](double x, double y) { return math::name<math::A>(x, y); }, exact);
TEST(MathUlp, power) {
  const auto exact = [](long double x, long double y) { return std::pow(x, y); };
  DVM_CHECK_PAIRS(Fused, power, PowerFlags, 1.9, 1.7)
}
TEST(MathUlp, arctan2) {
  const auto exact = [](long double y, long double x) { return std::atan2(y, x); };
  DVM_CHECK_PAIRS(Fused, arctan2, Arctan2Flags, 1.6, 1.6)
  DVM_CHECK_PAIRS(Separate, arctan2, Arctan2Flags, 1.6, 1.6)
}
TEST(MathUlp, hypot) {
  const auto exact = [](long double x, long double y) { return std::hypot(x, y); };
  DVM_CHECK_PAIRS(Fused, hypot, HypotFlags, 0.6, 1.3)
  DVM_CHECK_PAIRS(Separate, hypot, HypotFlags, 0.6, 1.3)
}
#undef DVM_CHECK_PAIRS

// Of two positive numbers; elsewhere the sum may cancel, and then nobody's digits remain.
template <typename Signs, typename Own, typename Exact>
void check_sum_of_powers(Own own, Exact exact) {
  const auto magnitudes = [&](auto x, auto y) { return own(std::fabs(x), std::fabs(y)); };
  const auto wide = [&](long double x, long double y) {
    return exact(std::max(std::fabs(x), std::fabs(y)), std::fabs(std::fabs(x) - std::fabs(y)));
  };
  check_pairs<Signs, float>("logaddexp", 1.8, magnitudes, wide);
  check_pairs<Signs, double>("logaddexp", 1.8, magnitudes, wide);
}
TEST(MathUlp, logaddexp) {
  check_sum_of_powers<math::LogaddexpFlags>(
      [](auto x, auto y) { return math::logaddexp<math::Fused>(x, y); },
      [](long double high, long double apart) { return high + std::log1p(std::exp(-apart)); });
}
TEST(MathUlp, logaddexp2) {
  check_sum_of_powers<math::Logaddexp2Flags>(
      [](auto x, auto y) { return math::logaddexp2<math::Fused>(x, y); },
      [](long double high, long double apart) {
        return high + std::log1p(std::exp2(-apart)) / std::log(2.0L);
      });
}

// Exactly what the library and npy_divmod give, near whole quotients above all.
template <typename Signs, typename Own>
void check_division(const char* name, Own own) {
  std::mt19937_64 random(17);
  const auto same = [&]<typename T>(T a, T b) {
    if (is_hard<Signs>(a, b)) return;
    ASSERT_EQ(math::to_bits(own(a, b)), math::to_bits(Signs::by_library(a, b)))
        << name << " of " << std::hexfloat << a << ", " << b;
  };
  const auto number = [&] {
    const auto tenths = static_cast<double>(static_cast<int>(random() % 2000) - 1000) / 10;
    return random() & 1 ? tenths : std::ldexp(tenths, static_cast<int>(random() % 40) - 20);
  };
  for (int i = 0; i < 300000; ++i) {
    const double b = number(),
                 a = random() & 1 ? number() : b * static_cast<double>(random() % 999);
    same(a, b);
    same(static_cast<float>(a), static_cast<float>(b));
  }
}
TEST(MathDivide, IsExact) {
  check_division<math::FmodFlags>("fmod",
                                  [](auto a, auto b) { return math::fmod<math::Fused>(a, b); });
  check_division<math::RemainderFlags>(
      "remainder", [](auto a, auto b) { return math::remainder<math::Fused>(a, b); });
  check_division<math::FloorDivideFlags>(
      "floor_divide", [](auto a, auto b) { return math::floor_divide<math::Fused>(a, b); });
}

}  // namespace
}  // namespace dvm::testing
