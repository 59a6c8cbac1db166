// tanh, sinh, cosh, arcsinh, arccosh and arctanh in f32 and f64, at most 2 ulp, 2.8 in f64
// (tests/cpp/core/math_ulp_test.cpp). The inverses are logarithms of some w = 2**k * m, of which
// log m = 2 arctanh((m - 1) / (m + 1)), so that none of them takes more than one division.
#pragma once

#include "core/math_exp.h"
#include "core/math_log.h"

namespace dvm::core::math {

template <Float T>
struct HyperbolicTable;
template <>
struct HyperbolicTable<float> {
  static constexpr float kFar = 86;  // beyond, e**-x / 2 may be subnormal
  static constexpr float kSquarable = 0x1p62f;
  // (arctanh s - s) / s**3 over s**2, up to s = 0.293: 2**-29.6
  static constexpr float kArctanh[] = {0x1.555538p-2f, 0x1.99b2f6p-3f, 0x1.2130d6p-3f,
                                       0x1.101eb4p-3f};
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
  // 2**-58.1 and 2**-62.6
  static constexpr double kArctanh[] = {
      0x1.55555555555aep-2, 0x1.9999999985914p-3, 0x1.2492493106874p-3,
      0x1.c71c6a32f9e5cp-4, 0x1.745e64511ede5p-4, 0x1.3af14fd333ebbp-4,
      0x1.133c9d9193bb7p-4, 0x1.b83ffd403aec9p-5, 0x1.41d44e5cd405cp-4};
  static constexpr double kArcsinh[] = {
      -0x1.5555555555551p-3, 0x1.3333333332953p-4, -0x1.6db6db6d3a44cp-5, 0x1.f1c71c4071bb2p-6,
      -0x1.6e8b9d2589cecp-6, 0x1.1c4e55f0cc387p-6, -0x1.c98e44ffbcb2fp-7, 0x1.7a1fe874baadfp-7,
      -0x1.3d3c2ef90e174p-7, 0x1.06b08dfb5e9d8p-7, -0x1.8e48a0d70a893p-8, 0x1.d5e204a43c408p-9,
      -0x1.2fa7505deac92p-10};
};

// e**x - 1 for x >= 0 to the last digit but one: with n rounded down instead of to nearest, r and
// both terms of 2**n * p + (2**n - 1) are positive, and nothing cancels.
//   t = (x *+ (kLog2E, -1/2)) + kRound;  n = t - kRound
//   r = n *+ (-kLn2High, x);  r = n *+ (-kLn2Low, r);  p = e**r - 1 as in `reduce`
//   s = from_bits(bits(1) + (bits(t) << kFraction));  result = s *+ (p, s - 1)
template <typename A, Float T>
DVM_ALWAYS_INLINE T expm1_of_positive(T x) {
  using C = ExpTable<T>;
  constexpr T kRound = Format<T>::kRound;
  const T t = A::mul_add(x, C::kLog2E, T{-0.5}) + kRound;
  const T n = t - kRound;
  T r = A::mul_add(n, -C::kLn2High, x);
  r = A::mul_add(n, -C::kLn2Low, r);
  const T s = scale(T{1}, t);
  return A::mul_add(s, exp_minus_one_near_zero<A>(r, C::kQuotientUp), s - 1);
}

// s + s**3 * P(s**2)
template <typename A, Float T, int kCount>
DVM_ALWAYS_INLINE T odd_series(T s, const T (&terms)[kCount]) {
  const T z = s * s;
  return A::mul_add(s * z, polynomial<A>(z, terms), s);
}

// e / (e + 2), or, where rounding e + 2 would be felt, e / 2 less its product with that.
//   a = |x|;  c = a > kTanhOne ? kTanhOne : a;  e = expm1_of_positive(c + c);  y = e / (e + 2)
//   h = e / 2;  result = e < 1 ? -h *+ (y, h) : y, with x's sign
// Floats whose products are rounded twice have a series there, in which that is felt less.
template <typename A, Float T>
DVM_ALWAYS_INLINE T tanh(T x) {
  constexpr T kOne = ExpTable<T>::kTanhOne;
  const T a = absolute(x);
  const T c = a > kOne ? kOne : a;
  const T e = expm1_of_positive<A>(c + c);
  const T y = e / (e + 2), h = T{0.5} * e;
  T small = A::mul_add(-h, y, h);
  if constexpr (std::same_as<T, float> && !A::kExact) {
    small = odd_series<A>(c, HyperbolicTable<float>::kTanh);
  }
  return with_sign_of(e < 1 ? small : y, x);
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
    return ArcsinhFlags::hard(x) | ~between(Format<T>::kOne - 1, x, Format<T>::kInfinity + 1);
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

// The logarithm of high + low >= 1, of which `low` is less than an ulp of high.
template <typename A, Float T>
DVM_ALWAYS_INLINE T log_of_sum(T high, T low) {
  using C = ExpTable<T>;
  const Binary<T> b = split(high);
  const T rest = low * scale(T{1}, Format<T>::kRound - b.k);
  const T half = odd_series<A>(((b.m - 1) + rest) / (b.m + 1), HyperbolicTable<T>::kArctanh);
  return A::mul_add(b.k, C::kLn2High, A::mul_add(b.k, C::kLn2Low, 2 * half));
}

// log(a + sqrt(a**2 + 1)), unless that is near 0.
template <typename A, Float T>
DVM_ALWAYS_INLINE T arcsinh(T x) {
  const T a = absolute(x), root = std::sqrt(A::mul_add(a, a, T{1}));
  const T sum = root + a;
  const T large = log_of_sum<A>(sum, a - (sum - root));
  const T small = odd_series<A>(a, HyperbolicTable<T>::kArcsinh);
  return with_sign_of(choose<T>(all_if(beyond_magnitude(T{0.53f}, a)), large, small), x);
}

// log(1 + q) with q = d + sqrt(d**2 + 2 d), d = x - 1; in f32 small ones are nearer to sqrt(2 d).
template <typename A, Float T>
DVM_ALWAYS_INLINE T arccosh(T x) {
  const T d = x - 1;
  const Bits<T> large =
      std::same_as<T, float> ? all_if(beyond_magnitude(T{0.125}, d)) : ~Bits<T>{0};
  const T root = std::sqrt(A::mul_add(choose<T>(large, d, T{0}), d, d + d));
  const T q = root + d, sum = 1 + q;
  const T y = log_of_sum<A>(sum, q - (sum - 1));
  if constexpr (std::same_as<T, float>) {
    const T small = d * polynomial<A>(d, HyperbolicTable<T>::kArccosh);
    return choose<T>(large, y, A::mul_add(root, small, root));
  }
  return y;
}

// Half of log((1 + a) / (1 - a)), of which 2**k is found from both, and
//   arctanh a = k log 2 / 2 + arctanh s,  s = ((1 + a) - 2**k (1 - a)) / ((1 + a) + 2**k (1 - a))
// where s is a itself if k is 0. The dividend is a (1 + 2**k) + (1 - 2**k), of which less cancels
// when a is replaced by its distance to 1/2, unless k is large.
template <typename A, Float T>
DVM_ALWAYS_INLINE T arctanh(T x) {
  using C = ExpTable<T>;
  const T a = absolute(x), more = 1 + a, less = 1 - a;
  const T k = split(more).k - split(less).k, power = scale(T{1}, Format<T>::kRound + k);
  const T start = choose<T>(all_if(beyond_magnitude(T{0.25}, a)), T{0.5}, T{0});
  const T near = A::mul_add(a - start, 1 + power, (1 - power) + start * (1 + power));
  const T far = A::mul_add(-power, less, more);
  const T dividend = choose<T>(all_if(beyond_magnitude(T{0.5}, a)), far, near);
  const T rest =
      odd_series<A>(dividend / A::mul_add(power, less, more), HyperbolicTable<T>::kArctanh);
  return with_sign_of(A::mul_add(k, C::kLn2High / 2, A::mul_add(k, C::kLn2Low / 2, rest)), x);
}

}  // namespace dvm::core::math
