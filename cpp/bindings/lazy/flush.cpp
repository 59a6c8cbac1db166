#include "bindings/lazy/flush.h"

#include "bindings/errors.h"

namespace dvm::bindings::lazy {

namespace {

// False: a Python error is set.
bool compute(Buffer& buffer, const char* reason, const Array* asked) {
  if (buffer.size() == 0) return true;
  try {
    Flight flight(buffer);
    last_flush().reason = reason;
    return flight.compute(asked);
  } catch (const std::exception& error) {
    return raise(error) != nullptr;
  }
}

}  // namespace

bool flush(Buffer& buffer, const char* reason) {
  const bool is_done = compute(buffer, reason, nullptr);
  // What is left is not tried with each operation.
  buffer.raise_limit();
  return is_done;
}

PyObject* value_of(Array* array, const char* reason) {
  settle(array);
  if (array->is_pending() && !compute(*array->buffer, reason, array)) return nullptr;
  return array->value;
}

}  // namespace dvm::bindings::lazy
