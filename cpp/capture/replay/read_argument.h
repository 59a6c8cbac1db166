// Python objects as arguments of a Plan.
#pragma once

#include "capture/replay/array_host.h"
#include "runtime/plan/plan.h"

namespace dvm::capture {

// Reads a number as the dtype; false when it does not fit or is none (an error may be set).
bool read_scalar(PyObject* object, core::DType dtype, core::Scalar& scalar);

// An array of the declared type, or a number in its place, which the slot then holds; false for
// what is neither. What a guard has promised is checked all the same: reading memory as another
// type is no way to find a bug.
bool read_tensor(PyObject* object, const runtime::Argument& declared, ValueSlot& slot,
                 runtime::BufferView& view);

}  // namespace dvm::capture
