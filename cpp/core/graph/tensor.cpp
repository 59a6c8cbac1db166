#include "core/graph/tensor.h"

#include <algorithm>

namespace dvm::core {

bool Tensor::operator==(const Tensor& other) const {
  if (data_ == other.data_) return true;
  return is_own() && other.is_own() && data_->dtype == other->dtype &&
         data_->shape == other->shape && dense_bytes(*data_) == dense_bytes(*other);
}

std::vector<int64_t> dense_strides(DType dtype, std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = byte_size(dtype);
  for (size_t d = shape.size(); d-- > 0; stride *= std::max<int64_t>(shape[d], 1)) {
    strides[d] = stride;
  }
  return strides;
}

Tensor own_tensor(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  const auto kept = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  TensorData tensor{.dtype = dtype, .data = kept->data(), .keep = kept};
  tensor.strides = dense_strides(dtype, shape);
  tensor.shape = std::move(shape);
  return Tensor(std::move(tensor));
}

std::vector<std::byte> dense_bytes(const TensorData& tensor) {
  const size_t size = static_cast<size_t>(byte_size(tensor.dtype));
  int64_t count = 1;
  for (const int64_t extent : tensor.shape) count *= extent;
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  auto to = bytes.begin();
  for_each_element(tensor.shape, tensor.strides,
                   [&](int64_t offset) { to = std::copy_n(tensor.data + offset, size, to); });
  return bytes;
}

}  // namespace dvm::core
