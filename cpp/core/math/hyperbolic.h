// tanh, sinh, cosh, arcsinh, arccosh and arctanh in f32 and f64, at most 2 ulp, 2.8 in f64
// (tests/cpp/core/math_ulp_test.cpp). The inverses are logarithms of sums (`log_of_sum`). What
// does not wait for a division or a root stands before what does, so that a core which runs ahead
// has something to run.
#pragma once

#include <iterator>

#include "core/math/exp.h"
#include "core/math/log.h"

namespace dvm::core::math {

template <Float T>
struct HyperbolicTable;
template <>
struct HyperbolicTable<float> {
  static constexpr float kFar = 86;  // beyond, e**-x / 2 may be subnormal
  static constexpr float kSquarable = 0x1p62f;
  // (arcsinh s - s) / s**3 over s**2, up to s = 0.53: 2**-28.7
  static constexpr float kArcsinh[] = {-0x1.555522p-3f, 0x1.331e24p-4f, -0x1.6ae2f4p-5f,
                                       0x1.c64a46p-6f, -0x1.98c40cp-7f};
  // (arccosh(1 + d) / sqrt(2 d) - 1) / d, up to d = 1/8: 2**-27.9
  static constexpr float kArccosh[] = {-0x1.5554aep-4f, 0x1.32b302p-6f, -0x1.518baap-8f};
  // (cosh r - 1) / r**2 and (sinh r - r) / r**3 over r**2, up to r = 0.3466: 2**-31
  static constexpr float kCosh[] = {0x1.000000p-1f, 0x1.5554e8p-5f, 0x1.6d436ap-10f};
  static constexpr float kSinh[] = {0x1.555556p-3f, 0x1.1110e0p-7f, 0x1.a12530p-13f};
  // (tanh s - s) / s**3 over s**2, up to s = 0.3466: 2**-31.1
  static constexpr float kTanh[] = {-0x1.55554ep-2f, 0x1.110c38p-3f, -0x1.b82d14p-5f,
                                    0x1.3ef864p-6f};
};
template <>
struct HyperbolicTable<double> {
  static constexpr double kFar = 707;
  static constexpr double kSquarable = 0x1p510;
  // 2**-56
  static constexpr double kCosh[] = {0x1.0000000000001p-1, 0x1.5555555553d4dp-5,
                                     0x1.6c16c1789442ap-10, 0x1.a019b8ec9eb15p-16,
                                     0x1.2891abf65f8ebp-22};
  static constexpr double kSinh[] = {0x1.5555555555556p-3, 0x1.11111111109adp-7,
                                     0x1.a01a01a7c945dp-13, 0x1.71de0d9a6c6b0p-19,
                                     0x1.af38d90b4365ap-26};
  // (arctanh s - s) / s**3 over s**2, up to s = 0.293: 2**-58.1
  static constexpr double kArctanh[] = {
      0x1.55555555555aep-2, 0x1.9999999985914p-3, 0x1.2492493106874p-3,
      0x1.c71c6a32f9e5cp-4, 0x1.745e64511ede5p-4, 0x1.3af14fd333ebbp-4,
      0x1.133c9d9193bb7p-4, 0x1.b83ffd403aec9p-5, 0x1.41d44e5cd405cp-4};
  // 2**-62.6
  static constexpr double kArcsinh[] = {
      -0x1.5555555555551p-3, 0x1.3333333332953p-4, -0x1.6db6db6d3a44cp-5, 0x1.f1c71c4071bb2p-6,
      -0x1.6e8b9d2589cecp-6, 0x1.1c4e55f0cc387p-6, -0x1.c98e44ffbcb2fp-7, 0x1.7a1fe874baadfp-7,
      -0x1.3d3c2ef90e174p-7, 0x1.06b08dfb5e9d8p-7, -0x1.8e48a0d70a893p-8, 0x1.d5e204a43c408p-9,
      -0x1.2fa7505deac92p-10};
};

// The terms of e**(2 r) - 1 = 2 (r + r**2 * P(r)).
template <Float T>
struct TanhTable {
  using C = ExpTable<T>;
  struct Terms {
    T at[std::size(C::kQuotient)];
  };
  static constexpr Terms kTerms = [] {
    Terms terms{};
    T power = 2;
    for (size_t i = 0; i < std::size(terms.at); ++i, power *= 2) {
      terms.at[i] = power * C::kQuotient[i];
    }
    return terms;
  }();
};

// s + s**3 * P(s**2)
template <typename A, Float T, int kCount>
DVM_ALWAYS_INLINE T odd_series(T s, const T (&terms)[kCount]) {
  const T z = s * s;
  return A::mul_add(s * z, polynomial<A>(z, terms), s);
}

// h / (h + 1) of h = (e**(2 |x|) - 1) / 2, or, where rounding h + 1 would be felt, h less its
// product with that.
//   a = |x|;  c = kTanhOne < a ? kTanhOne : a
//   t = c *+ (2 * kLog2E, kRound);  n = t - kRound
//   r = n *+ (-kLn2 / 2, c)        where kLn2 is not good enough, e**(2 r) is large
//   p = P(r) *+ (r * r, r);  s = from_bits(bits(1) + (bits(t) << kFraction))
//   h = s *+ (p, s *+ (1/2, -1/2));  y = h / (h + 1)
//   result = h < 1/2 ? -h *+ (y, h) : y, with x's sign
// Floats whose products are rounded twice have a series there, in which that is felt less.
template <typename A, Float T>
DVM_ALWAYS_INLINE T tanh(T x) {
  using C = ExpTable<T>;
  constexpr T kRound = Format<T>::kRound;
  const T a = absolute(x);
  const T c = C::kTanhOne < a ? C::kTanhOne : a;
  const T t = A::mul_add(c, 2 * C::kLog2E, kRound);
  const T s = scale(T{1}, t);
  const T r = A::mul_add(t - kRound, -C::kLn2 / 2, c);
  const T p = exp_minus_one_near_zero<A>(r, TanhTable<T>::kTerms.at);
  const T h = A::mul_add(s, p, A::mul_add(s, T{0.5}, T{-0.5}));
  const T y = h / (h + 1);
  T small = A::mul_add(-h, y, h);
  if constexpr (std::same_as<T, float> && !A::kExact) {
    small = odd_series<A>(c, HyperbolicTable<float>::kTanh);
  }
  return flip_sign(h < T{0.5} ? small : y, x);
}

struct FarFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x) {
    return between(to_bits(HyperbolicTable<T>::kFar), absolute(x), Format<T>::kInfinity + 1);
  }
};
struct SinhFlags : FarFlags {
  template <Float T>
  static T by_library(T x) {
    return std::sinh(x);
  }
};
struct CoshFlags : FarFlags {
  template <Float T>
  static T by_library(T x) {
    return std::cosh(x);
  }
};

// |x| = n log 2 + r: half of 2**n and of 2**-n, r, sinh r - r and cosh r - 1.
template <Float T>
struct HyperbolicParts {
  T up, down, r, sinh, cosh;
};
template <typename A, Float T>
DVM_ALWAYS_INLINE HyperbolicParts<T> hyperbolic_parts(T x) {
  using C = HyperbolicTable<T>;
  const Exponent<T> e = exponent_of<A>(x);
  const T z = e.r * e.r;
  const T down = from_bits<T>(to_bits(T{0.5}) - (to_bits(e.t) << Format<T>::kFraction));
  return {scale(T{0.5}, e.t), down, e.r, e.r * z * polynomial<A>(z, C::kSinh),
          z * polynomial<A>(z, C::kCosh)};
}

// The large terms last. Where n is 0, sinh x is sinh r.
template <typename A, Float T>
DVM_ALWAYS_INLINE T sinh(T x) {
  const HyperbolicParts<T> p = hyperbolic_parts<A>(absolute(x));
  const T sum = p.up + p.down, difference = p.up - p.down;
  const T rest = A::mul_add(sum, p.sinh, difference * p.cosh);
  return with_sign_of(difference + A::mul_add(sum, p.r, rest), x);
}

template <typename A, Float T>
DVM_ALWAYS_INLINE T cosh(T x) {
  const HyperbolicParts<T> p = hyperbolic_parts<A>(absolute(x));
  const T sum = p.up + p.down, difference = p.up - p.down;
  const T rest = A::mul_add(difference, p.sinh, A::mul_add(sum, p.cosh, p.down));
  const T y = p.up + A::mul_add(difference, p.r, rest);
  return x == x ? y : x;
}

// Where the square of x, or of its distance to 1, is too large.
struct ArcsinhFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x) {
    return beyond_magnitude(HyperbolicTable<T>::kSquarable, x);
  }
  template <Float T>
  static T by_library(T x) {
    return std::asinh(x);
  }
};
struct ArccoshFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x) {
    return (to_bits(x) - Format<T>::kOne) | (to_bits(HyperbolicTable<T>::kSquarable) - to_bits(x));
  }
  template <Float T>
  static T by_library(T x) {
    return std::acosh(x);
  }
};
struct ArctanhFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> hard(T x) {
    return between(Format<T>::kOne - 1, absolute(x), Format<T>::kInfinity + 1);
  }
  template <Float T>
  static T by_library(T x) {
    return std::atanh(x);
  }
};

// log(a + sqrt(a**2 + 1)), unless that is near 0.
template <typename A, Float T>
DVM_ALWAYS_INLINE T arcsinh(T x) {
  const T a = absolute(x), root = std::sqrt(A::mul_add(a, a, T{1}));
  const T small = odd_series<A>(a, HyperbolicTable<T>::kArcsinh);
  const T sum = root + a;
  const T large = log_of_sum<A>(sum, a - (sum - root));
  return flip_sign(choose<T>(all_if(beyond_magnitude(T{0.53f}, a)), large, small), x);
}

// log(1 + q) with q = d + sqrt(d**2 + 2 d), d = x - 1; in f32 small ones are nearer to sqrt(2 d).
template <typename A, Float T>
DVM_ALWAYS_INLINE T arccosh(T x) {
  const T d = x - 1;
  const Bits<T> large =
      std::same_as<T, float> ? all_if(beyond_magnitude(T{0.125}, d)) : ~Bits<T>{0};
  const T root = std::sqrt(A::mul_add(choose<T>(large, d, T{0}), d, d + d));
  const T q = root + d, sum = 1 + q;
  if constexpr (std::same_as<T, float>) {
    const T small = d * polynomial<A>(d, HyperbolicTable<float>::kArccosh);
    const T y = log_of_sum<A>(sum, q - (sum - 1));
    return choose<T>(large, y, A::mul_add(root, small, root));
  }
  return log_of_sum<A>(sum, q - (sum - 1));
}

// Half of log(1 + q) with q = 2 a + 2 a * a / (1 - a).
template <typename A>
DVM_ALWAYS_INLINE float arctanh(float x) {
  const float a = absolute(x), twice = a + a;
  const float q = A::mul_add(twice, a / (1 - a), twice), sum = 1 + q;
  return flip_sign(0.5f * log_of_sum<A>(sum, q - (sum - 1)), x);
}

// Half of log((1 + a) / (1 - a)), of which 2**k is found from both, and
//   arctanh a = k log 2 / 2 + arctanh s,  s = ((1 + a) - 2**k (1 - a)) / ((1 + a) + 2**k (1 - a))
// where s is a itself if k is 0: one division in f64, where the logarithm takes one as well. The
// dividend is a (1 + 2**k) + (1 - 2**k), of which less cancels when a is replaced by its distance
// to 1/2, unless k is large.
template <typename A>
DVM_ALWAYS_INLINE double arctanh(double x) {
  using C = ExpTable<double>;
  const double a = absolute(x), more = 1 + a, less = 1 - a;
  const double k = split(more).k - split(less).k;
  const double power = scale(1.0, Format<double>::kRound + k);
  const double start = choose<double>(all_if(beyond_magnitude(0.25, a)), 0.5, 0);
  const double near = A::mul_add(a - start, 1 + power, (1 - power) + start * (1 + power));
  const double far = A::mul_add(-power, less, more);
  const double dividend = choose<double>(all_if(beyond_magnitude(0.5, a)), far, near);
  const double s = dividend / A::mul_add(power, less, more);
  const double rest = odd_series<A>(s, HyperbolicTable<double>::kArctanh);
  return flip_sign(A::mul_add(k, C::kLn2High / 2, A::mul_add(k, C::kLn2Low / 2, rest)), x);
}

}  // namespace dvm::core::math
