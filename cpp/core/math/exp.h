// exp, exp2, expm1 in f32 and f64: at most 1.2 ulp, 2.2 for expm1 in f64
// (tests/cpp/core/math_ulp_test.cpp), right at zeros, NaN, infinities, subnormals and both limits.
//
// All begin alike (`reduce`), operation by operation; `*+` is A::mul_add, rounded once if fused:
//   t = x *+ (kLog2E, kRound)      kRound + n, n the integer nearest x / ln 2
//   n = t - kRound
//   r = n *+ (-kLn2High, x)        exact: kLn2High has so many zero bits that n * kLn2High is
//   r = n *+ (-kLn2Low, r)         |r| <= ln 2 / 2
//   q = c4; q = q *+ (r, c3); ... q = q *+ (r, c0)     (f64: from c9 on)
//   p = q *+ (r * r, r)            e**r - 1
// and differ in how 2**n comes in. (bits(t) << kFraction) are the bits that add n to an exponent.
#pragma once

#include "core/math/basis.h"

namespace dvm::core::math {

template <Float T>
struct ExpTable;
template <>
struct ExpTable<float> {
  static constexpr float kLog2E = 0x1.715476p0f, kLn2 = 0x1.62e430p-1f;
  static constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
  // (e**r - 1 - r) / r**2, minimax on |r| <= ln 2 / 2 in its effect on e**r - 1: 2**-26.2
  static constexpr float kQuotient[] = {0x1.000000p-1f, 0x1.5554b0p-3f, 0x1.555488p-5f,
                                        0x1.1227fep-7f, 0x1.6d98dap-10f};
  static constexpr float kMax = 0x1.62e42ep6f;      // the last x of finite exp(x)
  static constexpr float kNormal = -0x1.5d589ep6f;  // the first of normal exp(x)
  static constexpr float kSmall = -86, kZero = -104;
  static constexpr float kMax2 = 128, kSmall2 = -125, kZero2 = -151;
  static constexpr float kMinusOne = -18, kLastPlain = 88;  // of expm1
  static constexpr float kTanhOne = 9.5f;
};
template <>
struct ExpTable<double> {
  static constexpr double kLog2E = 0x1.71547652b82fep0, kLn2 = 0x1.62e42fefa39efp-1;
  static constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  // 2**-55.6
  static constexpr double kQuotient[] = {
      0x1.0000000000005p-1,  0x1.555555555555cp-3,  0x1.55555555520f5p-5,  0x1.111111110e6dep-7,
      0x1.6c16c17f373b3p-10, 0x1.a01a01b5d1af1p-13, 0x1.a019a686599f9p-16, 0x1.71ddea16c30b2p-19,
      0x1.28a2ab1bcbcfap-22, 0x1.af768facead75p-26};
  static constexpr double kMax = 0x1.62e42fefa39efp9;
  static constexpr double kNormal = -0x1.6232bdd7abcd1p9;
  static constexpr double kSmall = -707, kZero = -746;
  static constexpr double kMax2 = 1024, kSmall2 = -1021, kZero2 = -1076;
  static constexpr double kMinusOne = -38, kLastPlain = 709;
  static constexpr double kTanhOne = 20;
};

template <Float T>
struct Reduced {
  T t, p;  // kRound + n, and e**r - 1
};

template <typename A, Float T, int kCount>
DVM_ALWAYS_INLINE T exp_minus_one_near_zero(T r, const T (&quotient)[kCount]) {
  return A::mul_add(polynomial<A>(r, quotient), r * r, r);
}

// kRound + n, and r.
template <Float T>
struct Exponent {
  T t, r;
};
template <typename A, Float T>
DVM_ALWAYS_INLINE Exponent<T> exponent_of(T x) {
  using C = ExpTable<T>;
  constexpr T kRound = Format<T>::kRound;
  const T t = A::mul_add(x, C::kLog2E, kRound);
  const T n = t - kRound;
  const T r = A::mul_add(n, -C::kLn2High, x);
  return {t, A::mul_add(n, -C::kLn2Low, r)};
}

template <typename A, Float T>
DVM_ALWAYS_INLINE Reduced<T> reduce(T x) {
  const Exponent<T> e = exponent_of<A>(x);
  return {e.t, exp_minus_one_near_zero<A>(e.r, ExpTable<T>::kQuotient)};
}

// y * 2**n, exactly, where neither y nor the result is subnormal.
template <Float T>
DVM_ALWAYS_INLINE T scale(T y, T t) {
  return from_bits<T>(to_bits(y) + (to_bits(t) << Format<T>::kFraction));
}

// (1 + p) * 2**n. Results that may be subnormal are made 2**64 times too large first, so that one
// multiplication rounds them once.
template <Float T>
DVM_ALWAYS_INLINE T scale_up(Reduced<T> x, bool small) {
  const T up = small ? T{64} : T{0}, down = small ? T(0x1p-64) : T{1};
  return scale(1 + x.p, x.t + up) * down;
}

// x beyond kZero gives 0 whatever it is; the comparisons let NaN through.
//   c = kZero > x ? kZero : x;  (t, p) = reduce(c);  small = c < kSmall
//   y = 1 + p;  y = from_bits(bits(y) + (bits(t + (small ? 64 : 0)) << kFraction))
//   y = y * (small ? 2**-64 : 1);  result = x <= kMax ? y : x + infinity
template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T exp(T x) {
  using C = ExpTable<T>;
  if constexpr (kDomain == Domain::plain) {
    const Reduced<T> e = reduce<A>(x);
    return scale(1 + e.p, e.t);
  }
  const T c = C::kZero > x ? C::kZero : x;
  const T y = scale_up(reduce<A>(c), c < C::kSmall);
  return x <= C::kMax ? y : x + std::numeric_limits<T>::infinity();
}

struct ExpFlags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x) {
    return beyond_magnitude(-ExpTable<T>::kSmall, x);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> overflow(T x) {
    return between(to_bits(ExpTable<T>::kMax), x, Format<T>::kInfinity);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> underflow(T x) {
    return between(to_bits(-ExpTable<T>::kNormal), -x, Format<T>::kInfinity);
  }
};

template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T exp2(T x) {
  using C = ExpTable<T>;
  constexpr T kRound = Format<T>::kRound;
  constexpr bool kPlain = kDomain == Domain::plain;
  const T c = !kPlain && C::kZero2 > x ? C::kZero2 : x;
  const T t = c + kRound;
  const T r = (c - (t - kRound)) * C::kLn2;
  const Reduced<T> e{t, exp_minus_one_near_zero<A>(r, C::kQuotient)};
  if constexpr (kPlain) return scale(1 + e.p, e.t);
  const T y = scale_up(e, c < C::kSmall2);
  return x < C::kMax2 ? y : x + std::numeric_limits<T>::infinity();
}

struct Exp2Flags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x) {
    return beyond_magnitude(-ExpTable<T>::kSmall2, x);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> overflow(T x) {
    return between(to_bits(ExpTable<T>::kMax2) - 1, x, Format<T>::kInfinity);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> underflow(T x) {
    return between(to_bits(ExpTable<T>::kMax2 - 2), -x, Format<T>::kInfinity);
  }
};

// 2**n * p + (2**n - 1): both terms have the sign of x, or the second is 0. The last n but one is
// the last whose 2**n is finite.
template <typename A, Domain kDomain = Domain::all, Float T>
DVM_ALWAYS_INLINE T expm1(T x) {
  using C = ExpTable<T>;
  if constexpr (kDomain == Domain::plain) {
    const Reduced<T> e = reduce<A>(x);
    const T s = scale(T{1}, e.t);
    return with_sign_of(A::mul_add(s, e.p, s - 1), x);
  }
  const T c = C::kMinusOne > x ? C::kMinusOne : x;
  const Reduced<T> e = reduce<A>(c);
  const bool large = c > C::kLastPlain;
  const T s = scale(T{1}, large ? e.t - 1 : e.t);
  const T y = A::mul_add(s, e.p, s - 1) * (large ? T{2} : T{1});
  return with_sign_of(x <= C::kMax ? y : x + std::numeric_limits<T>::infinity(), x);
}

struct Expm1Flags {
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> special(T x) {
    return ExpFlags::special(x);
  }
  template <Float T>
  DVM_ALWAYS_INLINE static Bits<T> overflow(T x) {
    return ExpFlags::overflow(x);
  }
};

}  // namespace dvm::core::math
