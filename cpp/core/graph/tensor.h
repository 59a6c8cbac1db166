// The elements of a tensor constant: bytes of the Graph's own, in C order, or memory of the host in
// any layout. What the host lends is read where it lies, on every call anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/ops/dtype.h"

namespace dvm::core {

struct TensorData {
  DType dtype = DType::f32;
  std::vector<int64_t> shape = {};
  std::vector<int64_t> strides = {};  // in bytes, may be negative or zero
  const std::byte* data = nullptr;
  void* owner = nullptr;                  // the host's value that has the memory; null: dvm's own
  std::shared_ptr<const void> keep = {};  // as long as it lives, so does the memory
};

// Shared by all copies of a Graph. Two are equal if they are one, or are bytes of dvm's own that
// say the same.
class Tensor {
 public:
  Tensor() = default;  // none
  explicit Tensor(TensorData data) : data_(std::make_shared<TensorData>(std::move(data))) {}

  explicit operator bool() const { return data_ != nullptr; }
  const TensorData& operator*() const { return *data_; }
  const TensorData* operator->() const { return data_.get(); }
  bool operator==(const Tensor& other) const;

  bool is_own() const { return data_ != nullptr && data_->owner == nullptr; }

 private:
  std::shared_ptr<const TensorData> data_;
};

// Calls f(offset) for every element of a strided array, in C order.
template <typename F>
void for_each_element(std::span<const int64_t> shape, std::span<const int64_t> strides, F f) {
  int64_t count = 1, offset = 0;
  for (const int64_t extent : shape) count *= extent;
  std::vector<int64_t> index(shape.size());
  for (; count > 0; --count) {
    f(offset);
    for (size_t d = index.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

// Strides of C order.
std::vector<int64_t> dense_strides(DType dtype, std::span<const int64_t> shape);

// A copy of the bytes, which are all elements in C order.
Tensor own_tensor(DType dtype, std::vector<int64_t> shape, std::span<const std::byte> bytes);

// All elements in C order.
std::vector<std::byte> dense_bytes(const TensorData& tensor);

}  // namespace dvm::core
