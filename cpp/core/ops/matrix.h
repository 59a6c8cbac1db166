// Which products of matrices there are: the dtypes of their elements and sums. What attentions see.
#pragma once

#include "core/ops/dtype.h"

namespace dvm::core {

// Whether products of elements of that dtype may be added up in `sums`. Integers wrap, so that
// narrower ones may be cast first without another result.
constexpr bool adds_products(DType sums, DType elements) {
  if (sums == DType::f32) return computes_in(elements) == DType::f32;
  if (sums == DType::i32) return elements == DType::i32 || elements == DType::i8;
  return sums == elements && byte_size(sums) == 8;
}

// Whether a product may have that dtype: the one its elements are added up in or, of halves, their
// own, to which sums are rounded once.
constexpr bool gives_product(DType result, DType elements) {
  return adds_products(computes_in(result), elements) &&
         (result == elements || result == computes_in(result));
}

// Row i of q sees the rows of k up to i + last; all of them where nothing is causal.
inline constexpr int64_t kSeesAll = int64_t{1} << 62;

}  // namespace dvm::core
