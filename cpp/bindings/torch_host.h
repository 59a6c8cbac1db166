// HostCalls for torch: tensors as results, and Python functions on tensors as host functions. They
// are called as `f(*tensors, *sizes)` and give a tensor, or a tuple of them. The last of the sizes
// are numbers of layouts, which the function does not get.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bindings/torch_layouts.h"
#include "bindings/torch_tensors.h"
#include "runtime/host.h"

namespace dvm::bindings {

struct Callee {
  pybind11::object function;
  std::vector<std::optional<Layout>> layouts = {};  // of the tensors; none: as it is
  int64_t calls = 0, nanoseconds = 0;
};

class TorchHost final : public runtime::HostCalls {
 public:
  // shown: which registers of the Plan the program sees, and so may make larger: their memory is
  // torch's own. Other memory comes from the pool. copies: counts tensors that had to be copied to
  // lie as torch has them.
  TorchHost(std::span<Callee> callees, const std::vector<bool>& shown, int64_t& copies)
      : callees_(callees), shown_(shown), copies_(copies) {}

  bool allocate(core::DType dtype, std::span<const int64_t> shape,
                runtime::BufferView& out) override;
  bool allocate_for(int32_t reg, core::DType dtype, std::span<const int64_t> shape,
                    runtime::BufferView& out) override;
  bool call(const runtime::HostCall& call, std::span<runtime::BufferView> results) override;
  bool call_into(const runtime::HostCall& call, std::span<const runtime::BufferView> into) override;
  void retain(runtime::HostValue value) override;
  void release(runtime::HostValue value) override;
  void unlock() override { thread_ = PyEval_SaveThread(); }
  void lock() override;

  // An owner is memory of ours, or a tensor of torch, which an odd address tells.
  static runtime::HostValue owner_of(PyObject* tensor) {
    return reinterpret_cast<std::byte*>(tensor) + 1;
  }
  static PyObject* tensor_of(runtime::HostValue owner) {  // null: it is memory of ours
    const bool is_tensor = reinterpret_cast<uintptr_t>(owner) & 1;
    return is_tensor ? reinterpret_cast<PyObject*>(static_cast<std::byte*>(owner) - 1) : nullptr;
  }

  // The buffer as a tensor, in a storage that is all of its memory. Throws Python's error.
  static pybind11::object as_tensor(const runtime::BufferView& buffer);

 private:
  pybind11::tuple arguments_of(const runtime::HostCall& call, const Callee& callee);

  std::span<Callee> callees_;
  const std::vector<bool>& shown_;
  int64_t& copies_;
  PyThreadState* thread_ = nullptr;  // while it is unlocked
};

}  // namespace dvm::bindings
