#include "capture/replay/array_host.h"

#include <algorithm>
#include <cstring>

#include "runtime/execute/faults.h"
#include "vm/target/watch.h"

namespace dvm::capture {

bool ArrayHost::is_argument(const runtime::BufferView& result,
                            std::span<const runtime::BufferView> inputs) const {
  const auto owns = [&](const runtime::BufferView& input) { return input.owner == result.owner; };
  return !is_slot(result.owner) && std::any_of(inputs.begin(), inputs.end(), owns);
}

PyObject* ArrayHost::array_of(const runtime::BufferView& buffer) const {
  if (!is_slot(buffer.owner)) return library_.result_of(buffer);
  runtime::BufferView made;
  // A view of the value may have axes, of size 1.
  const std::span<const int64_t> shape(buffer.shape, static_cast<size_t>(buffer.rank));
  if (!library_.allocate(buffer.dtype, shape, made)) return nullptr;
  std::memcpy(made.data, buffer.data, static_cast<size_t>(core::byte_size(buffer.dtype)));
  return static_cast<PyObject*>(made.owner);
}

PyObject* ArrayHost::argument_of(const runtime::BufferView& buffer) {
  return library_of(static_cast<PyObject*>(buffer.owner))->argument_of(buffer);
}

bool ArrayHost::allocate(core::DType dtype, std::span<const int64_t> shape,
                         runtime::BufferView& out) {
  if (runtime::is_faulty()) {
    PyErr_NoMemory();
    return false;
  }
  const int32_t number = allocations_++;
  for (const PlacedResult& result : placed_) {
    if (result.allocation != number) continue;
    const Library& library = *library_of(result.array);
    const ArrayView view = library.view(result.array);
    if (!std::equal(shape.begin(), shape.end(), view.shape, view.shape + view.rank)) continue;
    if (!library.read(result.array, dtype, view.rank, out)) continue;
    Py_INCREF(result.array);
    return true;
  }
  if (shape.empty() && used_ < slots_.size()) {
    ValueSlot& slot = slots_[used_++];
    out.data = slot.bytes;
    vm::Watch::tell_allocated(out.data, core::byte_size(dtype));
    out.owner = &slot;
    out.dtype = dtype;
    out.rank = 0;
    return true;
  }
  return allocate_within(dtype, shape, out);
}

bool ArrayHost::allocate_within(core::DType dtype, std::span<const int64_t> shape,
                                runtime::BufferView& out) {
  if (!library_.allocate(dtype, shape, out)) return false;
  if (vm::Watch* const watch = vm::Watch::current()) [[unlikely]] {
    int64_t bytes = core::byte_size(dtype);
    for (const int64_t size : shape) bytes *= size;
    watch->allocated(out.data, bytes);
  }
  return true;
}

bool ArrayHost::may_go_on() {
  if (PyErr_Occurred() != nullptr || PyErr_CheckSignals() < 0) return false;
  let_others_run();
  return true;
}

void ArrayHost::let_others_run() {
  // Trips may be too short for each.
  if (++trips_ % 1024 != 0) return;
  unlock();
  lock();
}

}  // namespace dvm::capture
