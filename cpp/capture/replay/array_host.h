// HostCalls for arrays of a library, as outputs.
#pragma once

#include <span>
#include <utility>

#include "capture/library/library.h"
#include "capture/replay/lock.h"
#include "runtime/host.h"

namespace dvm::capture {

// A rank-0 value on the stack of the call: most of them become Python numbers or scalars of the
// library, which need no array on the way.
struct ValueSlot {
  alignas(16) std::byte bytes[16];
};

// An array of the caller's that stands in for one the Plan asks for.
struct PlacedResult {
  int32_t allocation;  // which of the Plan's host arrays
  PyObject* array;
};

class ArrayHost : public runtime::HostCalls {
 public:
  // The first `used` slots are taken, by inputs.
  ArrayHost(const Library& library, std::span<ValueSlot> slots, size_t used,
            std::span<const PlacedResult> placed = {})
      : library_(library), slots_(slots), placed_(placed), used_(used) {}

  bool allocate(core::DType dtype, std::span<const int64_t> shape,
                runtime::BufferView& out) override;
  bool allocate_within(core::DType dtype, std::span<const int64_t> shape,
                       runtime::BufferView& out) override;
  bool may_go_on() override;
  void retain(runtime::HostValue value) override {
    if (!is_slot(value)) Py_INCREF(static_cast<PyObject*>(value));
  }
  void release(runtime::HostValue value) override {
    if (!is_slot(value)) Py_DECREF(static_cast<PyObject*>(value));
  }
  void unlock() override { thread_ = PyEval_SaveThread(); }
  void lock() override {
    if (thread_) dvm_relock(std::exchange(thread_, nullptr));
  }

  // Between two trips of a loop.
  void let_others_run();

  const Library& library() const { return library_; }

  // Whether a buffer is a value on the stack rather than an array.
  bool is_slot(runtime::HostValue value) const {
    auto* slot = static_cast<ValueSlot*>(value);
    return slot >= slots_.data() && slot < slots_.data() + slots_.size();
  }

  // Whether a result is an input handed back, or a view of one.
  bool is_argument(const runtime::BufferView& result,
                   std::span<const runtime::BufferView> inputs) const;

  // What the Plan made, as an array that owns its memory and shares it with no other result (a
  // library's own results do neither). New reference; null: a Python error is set.
  PyObject* array_of(const runtime::BufferView& buffer) const;
  // What the Plan hands back of an argument: the argument itself, or a view of it.
  static PyObject* argument_of(const runtime::BufferView& buffer);

 private:
  const Library& library_;
  std::span<ValueSlot> slots_;
  std::span<const PlacedResult> placed_;
  size_t used_;
  PyThreadState* thread_ = nullptr;  // while it is unlocked
  int32_t allocations_ = 0;
  uint32_t trips_ = 0;
};

}  // namespace dvm::capture
