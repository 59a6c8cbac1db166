#include "capture/library/signature_word.h"

namespace dvm::capture {

namespace {

constexpr const char* kLayoutNames[] = {"c_contiguous", "ordered", "permuted_contiguous",
                                        "permuted"};

}  // namespace

const char* to_string(Layout layout) { return kLayoutNames[static_cast<int>(layout)]; }

Signature array_word(size_t library, core::DType dtype, int rank, const AxisOrder& order) {
  const Signature word = dense_word(library, dtype, rank);
  if (order.layout == Layout::c_contiguous) return word;
  Signature axes = 0;
  for (int i = 0; i < rank; ++i) {
    axes |= static_cast<Signature>(order.axes[static_cast<size_t>(i)]) << (3 * i);
  }
  return word | static_cast<Signature>(order.layout) << 20 | axes << 24 |
         static_cast<Signature>(order.repeated) << 48 |
         static_cast<Signature>(order.overlapping) << 56;
}

AxisOrder order_of(Signature word) {
  AxisOrder order;
  order.layout = layout_of(word);
  order.repeated = static_cast<uint8_t>(word >> 48);
  order.overlapping = (word >> 56 & 1) != 0;
  for (size_t i = 0; i < core::kMaxRank; ++i) {
    order.axes[i] = order.layout == Layout::c_contiguous
                        ? static_cast<int8_t>(i)
                        : static_cast<int8_t>(word >> (24 + 3 * i) & 7);
  }
  return order;
}

}  // namespace dvm::capture
