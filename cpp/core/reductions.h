// The scalar meaning of the reductions besides sum and max (core/scalar_ops.h), of count >= 1
// elements; but for a fold in the order of core/sum_order.h.
#pragma once

#include "core/scalar_ops.h"

namespace dvm::core::scalar {

// Like a sum, a product of f16 is one of f32, rounded once.
template <typename T, typename Load>
T prod(int64_t count, bool adjacent, Load load) {
  using S = SumType<T>;
  return cast<T>(reduce_canonical<S>(
      count, adjacent, [&](int64_t i) { return cast<S>(load(i)); }, mul{}));
}

template <typename T, typename Load>
T min(int64_t count, bool adjacent, Load load) {
  return reduce_canonical<T>(count, adjacent, load, minimum{});
}

// One element after the other, each result rounded; but floats are added as a sum is.
template <typename T, typename Combine, typename Load>
T fold(int64_t count, Combine combine, Load load) {
  if constexpr (std::is_same_v<Combine, add> && !std::is_integral_v<T>) {
    return sum<T>(count, true, load);
  } else {
    T total = load(0);
    for (int64_t i = 1; i < count; ++i) total = combine(total, load(i));
    return total;
  }
}

}  // namespace dvm::core::scalar
