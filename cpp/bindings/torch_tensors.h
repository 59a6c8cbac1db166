// Tensors of torch as memory, and memory of ours as tensors of torch, through DLPack's exchange
// API.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <span>
#include <utility>

#include "bindings/dlpack.h"
#include "runtime/host.h"

namespace dvm::bindings {

// What torch is known by; set once, by the first import of dvm.torch.
// examples: a tensor of each dtype.
void use_torch(const pybind11::type& tensor, const pybind11::type& parameter,
               const pybind11::module_& forward_mode, const pybind11::iterable& examples);

// A tensor as memory, borrowed from it: no owner is set. False for what is no plain tensor in the
// memory of this machine, a subclass, say, or elements that dvm has no dtype for; no error is set.
bool view_tensor(PyObject* object, runtime::BufferView& view);

// Whether elements are the negatives of what the memory of a tensor holds. Throws Python's error.
bool is_negated(PyObject* tensor);

// Whether forward-mode differentiation goes on, and the tensor has a tangent in it. Throws Python's
// error.
bool has_tangent(PyObject* tensor);

// Memory of ours, counted, for tensors of any number.
class TensorMemory {
 public:
  // With one reference; null where there is no memory left.
  static TensorMemory* create(int64_t bytes);

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }  // in bytes
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 private:
  TensorMemory(std::byte* data, int64_t size, bool is_pooled)
      : data_(data), size_(size), is_pooled_(is_pooled) {}
  void destroy();

  std::byte* data_;  // behind this in one block, or of the pool
  int64_t size_;
  bool is_pooled_;
  std::atomic<int64_t> references_{1};
};

// A new tensor of torch's own, which may grow, of undefined elements. Null: Python's error is set.
pybind11::object new_tensor(core::DType dtype, std::span<const int64_t> shape);
// A tensor over the memory, which it shares in: in a storage that begins and ends with its own
// elements, or one that is all of the memory. Throws Python's error.
pybind11::object tensor_over(TensorMemory& memory, const runtime::BufferView& view);
pybind11::object tensor_within(TensorMemory& memory, const runtime::BufferView& view);

// Where the elements lie: the first byte, and the one behind the last.
std::pair<std::byte*, std::byte*> range_of(const runtime::BufferView& view);
// Whether elements lie in their order without gaps, or there are none.
bool is_dense(const runtime::BufferView& view);
// Whether elements go backwards in memory, which torch has no strides for.
bool is_reversed(const runtime::BufferView& view);
// A tensor with memory of its own and the elements in their order.
pybind11::object copy_of(const runtime::BufferView& view);

// The tensor itself if the view is all of it, or a view of it that shares its version counter.
pybind11::object view_of(PyObject* tensor, const runtime::BufferView& view);

}  // namespace dvm::bindings
