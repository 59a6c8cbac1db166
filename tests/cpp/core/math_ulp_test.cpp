// The own polynomials against long double, which glibc evaluates to well below an ulp of a double:
// every float of a dense sample and at all limits, doubles sampled, with and without a fused
// multiply-add.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/math_log.h"
#include "core/math_trig.h"

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

template <typename T>
bool never(T) {
  return false;
}
template <typename T>
bool too_wide_an_angle(T x) {
  return math::is_hard<math::SinFlags>(x);
}

template <typename T, typename Own, typename Exact>
void check(const char* name, double bound, Own own, Exact exact, bool skip(T) = never<T>) {
  static const std::vector<T> values = sample<T>();
  double worst = 0;
  T at = 0;
  for (const T x : values) {
    if (skip(x)) continue;
    const double error = ulps(own(x), exact(static_cast<long double>(x)));
    if (error > worst) worst = error, at = x;
  }
  EXPECT_LE(worst, bound) << name << (sizeof(T) == 4 ? ".f32 of " : ".f64 of ") << std::hexfloat
                          << at << " gives " << own(at);
}

// Bounds for f32 and f64, and the arguments that are left to the library.
#define DVM_CHECK(name, f32, f64, skip)                                                   \
  TEST(MathUlp, name) {                                                                   \
    const auto exact = [](long double x) { return std::name(x); };                        \
    check<float>(                                                                         \
        #name, f32, [](float x) { return math::name<math::Fused>(x); }, exact, skip);     \
    check<double>(                                                                        \
        #name, f64, [](double x) { return math::name<math::Fused>(x); }, exact, skip);    \
    check<float>(                                                                         \
        #name, f32, [](float x) { return math::name<math::Separate>(x); }, exact, skip);  \
    check<double>(                                                                        \
        #name, f64, [](double x) { return math::name<math::Separate>(x); }, exact, skip); \
  }
DVM_CHECK(exp, 1.1, 1.1, never)
DVM_CHECK(exp2, 1.2, 1.2, never)
DVM_CHECK(expm1, 1.8, 2.2, never)
DVM_CHECK(tanh, 1.6, 2.8, never)
DVM_CHECK(log, 1.0, 1.3, never)
DVM_CHECK(log1p, 1.5, 2.0, never)
DVM_CHECK(log2, 1.8, 1.8, never)
DVM_CHECK(log10, 1.9, 1.9, never)
DVM_CHECK(sin, 1.6, 2.6, too_wide_an_angle)
DVM_CHECK(cos, 1.6, 2.6, too_wide_an_angle)
#undef DVM_CHECK

}  // namespace
}  // namespace dvm::testing
