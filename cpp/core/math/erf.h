// erf in f32 and f64, at most 1.5 ulp (tests/cpp/core/math_ulp_test.cpp), right at zeros, NaN and
// infinities. It raises nothing.
//   a = |x| <= 1:  a + a * P(a**2)
//   a > 1:         1 - erfc a = 1 - e**(-a * Q(a))
#pragma once

#include "core/math/exp.h"

namespace dvm::core::math {

template <Float T>
struct ErfTable;
template <>
struct ErfTable<float> {
  static constexpr float kOne = 3.93f;  // erf beyond is 1
  // erf(a) / a - 1 over a**2: 2**-29.4
  static constexpr float kSmall[] = {0x1.06eba8p-3f,  -0x1.81273ep-2f, 0x1.ce2ce6p-4f,
                                     -0x1.b7f71ap-6f, 0x1.53f224p-8f,  -0x1.a3515cp-11f,
                                     0x1.4771eap-14f};
  // -log(erfc a) / a, minimax in its effect on erf a: 2**-28.6
  static constexpr float kLarge[] = {0x1.20e410p0f,   0x1.458bbep-1f, 0x1.ae8dd2p-4f,
                                     -0x1.758676p-6f, 0x1.a1b4e2p-9f, -0x1.b9b946p-13f};
};
template <>
struct ErfTable<double> {
  static constexpr double kOne = 5.93;
  // 2**-56.0 and 2**-55.4
  static constexpr double kSmall[] = {
      0x1.06eba8214db68p-3,  -0x1.812746b03799dp-2,  0x1.ce2f21a03f8bcp-4,  -0x1.b82ce311a9976p-6,
      0x1.565bcceedf775p-8,  -0x1.c02daeb818dedp-11, 0x1.f9a296d591642p-14, -0x1.f4c8316e8dea6p-17,
      0x1.b96b73a0098dap-20, -0x1.5b8d3333957bdp-23, 0x1.d3e3b62db07c4p-27, -0x1.a2520f1140b2dp-31};
  static constexpr double kLarge[] = {
      0x1.20dd7412851a3p0,    0x1.45f316fc61a32p-1,   0x1.a4f3059351117p-4,
      -0x1.3957e7ca8eeb6p-6,  -0x1.bcae99263e9f6p-13, 0x1.bbb56504a47bcp-10,
      -0x1.2d4a306083eeep-11, -0x1.0471cc0e7a4dap-20, 0x1.907cf79c63fc3p-14,
      -0x1.d6131f73985f0p-15, 0x1.556e808f7b5b6p-16,  -0x1.69638b4a42221p-18,
      0x1.216640c1d342bp-20,  -0x1.5e13af94fe773p-23, 0x1.3776833e6c303p-26,
      -0x1.8172ca06b0c3ap-30, 0x1.289234e52d5e2p-34,  -0x1.ab5718950dccep-40};
};

template <typename A, Float T>
DVM_ALWAYS_INLINE T erf(T x) {
  using C = ErfTable<T>;
  const T a = absolute(x);
  const T near = A::mul_add(a, polynomial<A>(a * a, C::kSmall), a);
  const T c = a > C::kOne ? C::kOne : a;
  const Reduced<T> e = reduce<A>(-c * polynomial<A>(c, C::kLarge));
  const T far = 1 - scale(1 + e.p, e.t);
  return with_sign_of(a > 1 ? far : near, x);
}

}  // namespace dvm::core::math
