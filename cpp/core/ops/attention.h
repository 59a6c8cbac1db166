// The arithmetic of the op `attention` on one score, for the reference evaluator and the plain
// kernel of the tile instructions; the cpu's own kernels compute the same in vectors.
#pragma once

#include <cstdint>
#include <limits>

#include "core/ops/matrix.h"
#include "core/ops/scalar_ops.h"

namespace dvm::core {

// The scaled product of a row of q and one of k, added up in order.
template <typename T, typename Left, typename Right>
T attention_score(int64_t depth, T scale, Left q, Right k) {
  T sum{};
  for (int64_t i = 0; i < depth; ++i) {
    const T product = scalar::mul{}(q(i), k(i));
    sum = i == 0 ? product : scalar::add{}(sum, product);
  }
  return scalar::mul{}(sum, scale);
}

// What a row does not see.
template <typename T>
constexpr T unseen() {
  return -std::numeric_limits<T>::infinity();
}

}  // namespace dvm::core
