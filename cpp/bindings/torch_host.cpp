#include "bindings/torch_host.h"

#include <chrono>
#include <string>
#include <utility>

#include "bindings/function_host.h"
#include "capture/replay/lock.h"
#include "capture/replay/signature.h"
#include "core/error.h"
#include "runtime/execute/faults.h"
#include "vm/target/watch.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using runtime::BufferView;

// Adds the time until its end to a callee; the lock of the interpreter guards the counters.
class Timed {
 public:
  explicit Timed(Callee& callee) : callee_(callee), begin_(std::chrono::steady_clock::now()) {}
  ~Timed() {
    ++callee_.calls;
    callee_.nanoseconds +=
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin_).count();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  Callee& callee_;
  std::chrono::steady_clock::time_point begin_;
};

void read_result(const runtime::HostCall& call, py::handle made, BufferView& result) {
  const runtime::Argument expected{result.dtype, result.rank};
  BufferView view;
  if (!view_tensor(made.ptr(), view) || view.dtype != expected.dtype ||
      view.rank != expected.rank) {
    core::fail(core::ErrorCode::host_result, std::string(call.name) + " gave " +
                                                 capture::describe(made.ptr()) +
                                                 "; the graph says " + described(expected));
  }
  view.owner = TorchHost::owner_of(made.inc_ref().ptr());
  result = view;
}

}  // namespace

bool TorchHost::allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) {
  int64_t stride = core::byte_size(dtype);
  out.dtype = dtype;
  out.rank = static_cast<int32_t>(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    out.shape[i] = shape[i];
    out.strides[i] = stride;
    stride *= shape[i];
  }
  TensorMemory* memory = runtime::is_faulty() ? nullptr : TensorMemory::create(stride);
  if (memory == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  out.data = memory->data();
  out.owner = memory;
  return true;
}

bool TorchHost::allocate_for(int32_t reg, core::DType dtype, std::span<const int64_t> shape,
                             BufferView& out) {
  if (!shown_[static_cast<size_t>(reg)]) return allocate(dtype, shape, out);
  const py::object tensor = new_tensor(dtype, shape);
  if (!tensor) return false;
  if (!view_tensor(tensor.ptr(), out)) {
    core::fail(core::ErrorCode::internal, "torch made another tensor than it was asked for");
  }
  out.owner = owner_of(tensor.inc_ref().ptr());
  const auto [begin, end] = range_of(out);
  vm::Watch::tell_allocated(begin, end - begin);
  return true;
}

py::object TorchHost::as_tensor(const BufferView& buffer) {
  if (is_reversed(buffer)) return copy_of(buffer);
  if (PyObject* tensor = tensor_of(buffer.owner)) return view_of(tensor, buffer);
  return tensor_within(*static_cast<TensorMemory*>(buffer.owner), buffer);
}

py::tuple TorchHost::arguments_of(const runtime::HostCall& call, const Callee& callee) {
  size_t told = 0;
  for (const std::optional<Layout>& layout : callee.layouts) told += layout ? layout->told() : 0;
  const size_t own = call.sizes.size() - told;
  std::span<const int64_t> numbers = call.sizes.subspan(own);
  py::tuple given(call.arrays.size() + own);
  size_t at = 0;
  for (size_t k = 0; k < call.arrays.size(); ++k) {
    py::object tensor = as_tensor(call.arrays[k]);
    if (const std::optional<Layout>& layout = callee.layouts[k]) {
      tensor = placed(tensor, layout->place(call.arrays[k], numbers), copies_);
      numbers = numbers.subspan(layout->told());
    }
    given[at++] = std::move(tensor);
  }
  for (const int64_t size : call.sizes.first(own)) given[at++] = py::int_(size);
  return given;
}

bool TorchHost::call(const runtime::HostCall& call, std::span<BufferView> results) {
  Callee& callee = callees_[static_cast<size_t>(call.callee)];
  const Timed timed(callee);
  const py::tuple given = arguments_of(call, callee);
  const auto made =
      py::reinterpret_steal<py::object>(PyObject_CallObject(callee.function.ptr(), given.ptr()));
  if (!made) return false;
  if (results.size() == 1) {
    read_result(call, made, results[0]);
    return true;
  }
  if (!py::isinstance<py::tuple>(made) || py::len(made) != results.size()) {
    core::fail(core::ErrorCode::host_result,
               std::string(call.name) + " gave " + capture::describe(made.ptr()) +
                   "; the graph says " + std::to_string(results.size()) + " results");
  }
  const auto tensors = py::reinterpret_borrow<py::tuple>(made);
  for (size_t k = 0; k < results.size(); ++k) {
    if (results[k].rank >= 0) read_result(call, tensors[k], results[k]);
  }
  return true;
}

bool TorchHost::call_into(const runtime::HostCall& call, std::span<const BufferView>) {
  core::fail(core::ErrorCode::unsupported,
             std::string(call.name) + " would write arrays of a graph of torch");
}

void TorchHost::retain(runtime::HostValue value) {
  PyObject* tensor = tensor_of(value);
  tensor != nullptr ? Py_INCREF(tensor) : static_cast<TensorMemory*>(value)->retain();
}

void TorchHost::release(runtime::HostValue value) {
  PyObject* tensor = tensor_of(value);
  tensor != nullptr ? Py_DECREF(tensor) : static_cast<TensorMemory*>(value)->release();
}

void TorchHost::lock() {
  if (thread_) dvm_relock(std::exchange(thread_, nullptr));
}

}  // namespace dvm::bindings
