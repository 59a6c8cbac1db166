// The scalar meaning of every op that computes: what the reference evaluator and the simulated
// targets execute and what fast kernels are tested against. NumPy's semantics, except that what C
// leaves undefined (integer overflow, casts out of range) is defined here.
//
// Each op is a functor on storage types (int32_t, Half, ..., bool as uint8_t) named after its row.
// Storage is lifted to a type whose operators mean the right thing, and the result lowered:
//   bool -> Bit (+ is or, * is and)   integers -> Wrapping   Half -> float, rounded once   float
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "core/dtype.h"
#include "core/sum_order.h"

namespace dvm::core::scalar {

struct Bit {
  bool v;
  auto operator<=>(const Bit&) const = default;
  friend Bit operator+(Bit a, Bit b) { return {a.v || b.v}; }
  friend Bit operator*(Bit a, Bit b) { return {a.v && b.v}; }
};

// Two's complement arithmetic. Done in uint64_t: narrower unsigned types promote to signed int.
template <typename T>
struct Wrapping {
  T v;
  auto operator<=>(const Wrapping&) const = default;
  static Wrapping of(uint64_t x) { return {static_cast<T>(x)}; }
  uint64_t bits() const { return static_cast<uint64_t>(v); }
  friend Wrapping operator+(Wrapping a, Wrapping b) { return of(a.bits() + b.bits()); }
  friend Wrapping operator-(Wrapping a, Wrapping b) { return of(a.bits() - b.bits()); }
  friend Wrapping operator*(Wrapping a, Wrapping b) { return of(a.bits() * b.bits()); }
  friend Wrapping operator-(Wrapping a) { return of(-a.bits()); }
};

inline Bit lift(uint8_t x) { return {x != 0}; }
template <std::integral T>
Wrapping<T> lift(T x) {
  return {x};
}
inline float lift(Half x) { return to_float(x); }
inline float lift(float x) { return x; }
inline double lift(double x) { return x; }

inline uint8_t lower(Bit x) { return x.v; }
template <typename T>
T lower(Wrapping<T> x) {
  return x.v;
}
template <typename Storage, typename Lifted>
Storage lower_to(Lifted x) {
  if constexpr (std::is_same_v<Storage, Half>) {
    return to_half(x);
  } else if constexpr (std::is_floating_point_v<Storage>) {
    return x;
  } else {
    return lower(x);
  }
}

// Not a < 0 ? -a : a for floats, which would keep the sign of -0.0 and NaN.
template <typename T>
T magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(x);
  } else {
    return x.v < 0 ? -x : x;
  }
}

#define DVM_SCALAR_1(name, expression) \
  struct name {                        \
    template <typename T>              \
    T operator()(T x) const {          \
      const auto a = lift(x);          \
      return lower_to<T>(expression);  \
    }                                  \
  }
#define DVM_SCALAR_2(name, expression)     \
  struct name {                            \
    template <typename T>                  \
    T operator()(T x, T y) const {         \
      const auto a = lift(x), b = lift(y); \
      return lower_to<T>(expression);      \
    }                                      \
  }

// One line per row of elementwise.def.
DVM_SCALAR_2(add, a + b);
DVM_SCALAR_2(sub, a - b);
DVM_SCALAR_2(mul, (a * b));
DVM_SCALAR_2(div, a / b);
DVM_SCALAR_2(maximum, a >= b || a != a ? a : b);  // the first of two NaNs or zeros, as in NumPy
DVM_SCALAR_2(minimum, a <= b || a != a ? a : b);
DVM_SCALAR_1(neg, -a);
DVM_SCALAR_1(abs, magnitude(a));
DVM_SCALAR_1(sqrt, std::sqrt(a));
DVM_SCALAR_1(exp, std::exp(a));
DVM_SCALAR_1(log, std::log(a));
DVM_SCALAR_1(log1p, std::log1p(a));
DVM_SCALAR_1(tanh, std::tanh(a));

#undef DVM_SCALAR_1
#undef DVM_SCALAR_2

// One functor per row of compare.def.
#define DVM_COMPARE(name, op, numpy)     \
  struct name {                          \
    template <typename T>                \
    uint8_t operator()(T x, T y) const { \
      return lift(x) op lift(y);         \
    }                                    \
  };
#include "core/compare.def"
#undef DVM_COMPARE

struct select {  // NOLINT(readability-identifier-naming): named like its op, as all here
  template <typename T>
  T operator()(uint8_t c, T a, T b) const {
    return c != 0 ? a : b;
  }
};

// What a float passes through on its way to a narrower or unsigned integer, to which it then wraps:
// so does NumPy, and programs rely on it where 256.0 is meant to become a byte.
template <typename To>
using Truncated =
    std::conditional_t<(sizeof(To) < 4 || std::is_same_v<To, int32_t>), int32_t, int64_t>;

// The floats that such an integer holds once truncated: [kLow, kEnd). Those of u64 reach further.
template <typename To, typename From>
struct Truncation {
  static constexpr From kLow = static_cast<From>(std::numeric_limits<Truncated<To>>::min());
  static constexpr From kEnd = std::is_same_v<To, uint64_t> ? kLow * -2 : -kLow;
};

// Float to integer truncates; beyond Truncation it saturates, and NaN is 0. To bool is != 0, so NaN
// is true. Integers wrap. Float to float rounds once.
template <typename To, typename From>
To cast(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Half>) {
    return cast<To>(to_float(x));
  } else if constexpr (std::is_same_v<To, uint8_t>) {
    return x != From{0};
  } else if constexpr (std::is_same_v<To, Half>) {
    return half_from_double(static_cast<double>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    using Wide = Truncated<To>;
    using Range = Truncation<To, From>;
    if (x >= Range::kLow && x < -Range::kLow) return static_cast<To>(static_cast<Wide>(x));
    if (x >= Range::kLow && x < Range::kEnd) return static_cast<To>(x);
    if (x != x) return 0;
    using Limits = std::numeric_limits<Wide>;
    if constexpr (std::is_same_v<To, uint64_t>) {
      if (x > 0) return std::numeric_limits<To>::max();
    }
    return static_cast<To>(x < 0 ? Limits::min() : Limits::max());
  } else {
    return static_cast<To>(x);
  }
}

// What partial sums of T are held in; a sum rounds to T once, at the end.
template <typename T>
using SumType = std::conditional_t<std::is_same_v<T, Half>, float, T>;

// The two reductions. Partials of f16 sums that are stored as f16 change the result;
// pass_widen_sums exists for targets that store them. A maximum may be cut anywhere. count >= 1
// elements, in the order of sum_order.h.
template <typename T, typename Load>
T sum(int64_t count, bool adjacent, Load load) {
  using S = SumType<T>;
  return cast<T>(reduce_canonical<S>(
      count, adjacent, [&](int64_t i) { return cast<S>(load(i)); }, add{}));
}

template <typename T, typename Load>
T max(int64_t count, bool adjacent, Load load) {
  return reduce_canonical<T>(count, adjacent, load, maximum{});
}

}  // namespace dvm::core::scalar
