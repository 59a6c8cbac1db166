// The scalar meaning of the reductions besides sum and max (core/ops/scalar_ops.h), of count >= 1
// elements, in the order of core/ops/sum_order.h.
#pragma once

#include "core/ops/scalar_ops.h"

namespace dvm::core::scalar {

// Like a sum, a product of halves is one of f32, rounded once.
template <typename T, typename Load>
T prod(int64_t count, bool adjacent, Load load) {
  using S = SumType<T>;
  return cast<T>(reduce_canonical<S>(
      count, adjacent, [&](int64_t i) { return cast<S>(load(i)); }, mul{}));
}

// A sum that begins with its first element, and not with 0: of zeros of which all are -0 it is -0.
template <typename T, typename Load>
T piece_sum(int64_t count, bool adjacent, Load load) {
  using S = SumType<T>;
  return cast<T>(reduce_canonical<S>(
      count, adjacent, [&](int64_t i) { return cast<S>(load(i)); }, add{}));
}

template <typename T, typename Load>
T min(int64_t count, bool adjacent, Load load) {
  return reduce_canonical<T>(count, adjacent, load, minimum{});
}

// Extremes of floats that pass over NaN, unless there is nothing else; as of max and min, the
// second of two zeros.
template <typename T, typename Load>
T nanmax(int64_t count, bool adjacent, Load load) {
  return reduce_canonical<T>(count, adjacent, load,
                             [](T a, T b) { return gt{}(a, b) || !eq{}(b, b) ? a : b; });
}

template <typename T, typename Load>
T nanmin(int64_t count, bool adjacent, Load load) {
  return reduce_canonical<T>(count, adjacent, load,
                             [](T a, T b) { return lt{}(a, b) || !eq{}(b, b) ? a : b; });
}

}  // namespace dvm::core::scalar
