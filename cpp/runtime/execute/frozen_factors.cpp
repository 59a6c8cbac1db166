#include "runtime/execute/frozen_factors.h"

#include <algorithm>

namespace dvm::runtime {

int right_operand(const vm::Kernel& kernel) {
  if (!kernel.product || kernel.product->windows) return -1;
  const int16_t b = kernel.product->b;
  const auto reads_b = [b](const vm::KernelValue& value) {
    return value.kind == vm::KernelValue::Kind::input && value.index == b;
  };
  const bool is_alone =
      b < kernel.input_count && b != kernel.product->a &&
      std::ranges::none_of(kernel.values, reads_b) &&
      (kernel.before.empty() || std::ranges::none_of(kernel.before.front().values, reads_b));
  return is_alone ? b : -1;
}

FrozenMemory::Factor find_factor(FrozenMemory& frozen, const vm::Kernel& kernel,
                                 const BufferView& operand, const vm::Target& target) {
  if (operand.rank != 2) return {};
  const vm::RightMatrix matrix = {
      operand.data,       operand.shape[0],       operand.shape[1],      operand.strides[0],
      operand.strides[1], kernel.product->source, kernel.product->dtype, kernel.product->precision};
  return frozen.find(operand, matrix, target);
}

}  // namespace dvm::runtime
