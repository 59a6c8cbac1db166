// Arithmetic of the executor on sizes and views. Every function returns whether its checks held;
// what it was to compute is meaningless otherwise.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/dims/facts.h"
#include "core/math/byte_range.h"
#include "runtime/host.h"
#include "runtime/plan/plan.h"

namespace dvm::runtime {

// The bytes of a tensor, as they lie about its first element; of one without elements, none.
inline core::ByteRange bytes_of(const BufferView& tensor) {
  core::ByteRange range{.high = core::byte_size(tensor.dtype)};
  for (int d = 0; d < tensor.rank; ++d) {
    if (tensor.shape[d] == 0) return {};
    range.repeat(tensor.shape[d], tensor.strides[d]);
  }
  return range;
}

// Rounding is towards minus infinity, as in Dims and in Python.
inline bool floor_divide(int64_t a, int64_t b, int64_t& quotient, int64_t& remainder) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  quotient = a / b;
  remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) {
    --quotient;
    remainder += b;
  }
  return true;
}

inline bool apply(PlanOp op, int64_t a, int64_t b, int64_t& out) {
  int64_t other;
  switch (op) {
    case PlanOp::add:
      return !__builtin_add_overflow(a, b, &out);
    case PlanOp::sub:
      return !__builtin_sub_overflow(a, b, &out);
    case PlanOp::mul:
      return !__builtin_mul_overflow(a, b, &out);
    case PlanOp::floordiv:
      return floor_divide(a, b, out, other);
    case PlanOp::mod:
      return floor_divide(a, b, other, out);
    case PlanOp::max:
      out = std::max(a, b);
      return true;
    case PlanOp::min:
      out = std::min(a, b);
      return true;
    case PlanOp::bcast:
      out = b == 1 ? a : b;
      return a == b || a == 1 || b == 1;
    default:
      return false;
  }
}

inline bool holds(core::DimCmp cmp, int64_t a, int64_t b) {
  switch (cmp) {
#define DVM_COMPARE(name, op, numpy) \
  case core::DimCmp::name:           \
    return a op b;
#include "core/ops/compare.def"
#undef DVM_COMPARE
  }
  return false;
}

// Of a bool of rank 0.
inline bool is_true(const BufferView& condition) { return *condition.data != std::byte{0}; }

// Fills the strides of a C-ordered array of view.shape, and its size in bytes. Fails for negative
// sizes and for more bytes than kDimMax, sizes of 0 counting as 1 so that strides stay in range.
inline bool make_dense(BufferView& view, int64_t& bytes) {
  int64_t stride = core::byte_size(view.dtype);
  bool empty = false;
  for (int32_t d = view.rank - 1; d >= 0; --d) {
    const int64_t size = view.shape[d];
    if (size < 0) return false;
    empty |= size == 0;
    view.strides[d] = stride;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(size, 1), &stride)) return false;
  }
  bytes = empty ? 0 : stride;
  return stride <= core::kDimMax;
}

// Lays to.shape over the elements of `from`, both in C order, where strides allow it without a
// copy: wherever axes of one side together cover axes of the other, those of `from` must be
// contiguous among themselves. Sets to.strides.
inline bool lay_over(const BufferView& from, BufferView& to) {
  BufferView dense = from;
  int64_t bytes = 0, needed = 0;
  if (!make_dense(to, needed) || !make_dense(dense, bytes) || bytes != needed) return false;
  if (bytes == 0) return true;
  int32_t f = from.rank - 1, t = to.rank - 1;
  while (f >= 0) {
    int64_t from_run = from.shape[f], to_run = 1;
    const int64_t stride = from.strides[f--];
    if (from_run == 1) continue;  // its stride means nothing
    while (from_run != to_run) {
      if (to_run < from_run) {
        to.strides[t] = stride * to_run;
        to_run *= to.shape[t--];
        continue;
      }
      if (from.shape[f] != 1 && from.strides[f] != stride * from_run) return false;
      from_run *= from.shape[f--];
    }
  }
  return true;
}

// The elements of `from` in C order to adjacent places; returns where they end.
inline std::byte* copy_dense(const BufferView& from, const std::byte* data, int32_t axis,
                             std::byte* to) {
  if (axis == from.rank) {
    const auto bytes = static_cast<size_t>(core::byte_size(from.dtype));
    std::memcpy(to, data, bytes);
    return to + bytes;
  }
  for (int64_t i = 0; i < from.shape[axis]; ++i, data += from.strides[axis]) {
    to = copy_dense(from, data, axis + 1, to);
  }
  return to;
}

// Narrows axis d of `view` to `count` elements from `start` by `step`. An empty axis reads nothing,
// hence starts anywhere.
inline bool slice_axis(int64_t start, int64_t step, int64_t count, int32_t d, BufferView& view) {
  int64_t span, last;
  if (count < 0) return false;
  if (count > 0) {
    if (__builtin_mul_overflow(count - 1, step, &span)) return false;
    if (__builtin_add_overflow(start, span, &last)) return false;
    if (start < 0 || start >= view.shape[d] || last < 0 || last >= view.shape[d]) return false;
    view.data += start * view.strides[d];
    // The stride of a lone element is never used and might not fit.
    if (count > 1) view.strides[d] *= step;
  }
  view.shape[d] = count;
  return true;
}

}  // namespace dvm::runtime
