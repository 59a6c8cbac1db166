// HostCalls for NumPy: arrays as outputs, Python callables as host functions.
#pragma once

#include <vector>

#include "capture/numpy_api.h"
#include "runtime/host.h"

namespace dvm::capture {

// The array a buffer is, or a view of its owner with the buffer's shape and strides. New reference;
// null: a Python error is set.
PyObject* array_of(const runtime::BufferView& buffer);

class NumpyHost final : public runtime::HostCalls {
 public:
  explicit NumpyHost(const std::vector<Ref>& callees) : callees_(callees) {}

  bool allocate(core::DType dtype, std::span<const int64_t> shape,
                runtime::BufferView& out) override;
  bool call(int callee, std::span<const runtime::BufferView> args,
            runtime::BufferView& result) override;
  void retain(runtime::HostValue value) override { Py_INCREF(static_cast<PyObject*>(value)); }
  void release(runtime::HostValue value) override { Py_DECREF(static_cast<PyObject*>(value)); }

 private:
  const std::vector<Ref>& callees_;
};

}  // namespace dvm::capture
