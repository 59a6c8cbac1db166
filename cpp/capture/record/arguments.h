// Binding the arguments of a recorded call to the parameters of the frame it runs in, as Python
// does, on nodes instead of objects.
#pragma once

#include <optional>
#include <vector>

#include "capture/cpython/frame_view.h"
#include "capture/record/record.h"

namespace dvm::capture {

struct Arguments {
  std::vector<NodeId> positional;
  std::vector<PyObject*> names;  // of `named`; borrowed
  std::vector<NodeId> named;
};

// The object in a parameter's slot at the frame's first instruction, be it in a cell; borrowed.
PyObject* parameter(const FrameView& f, int slot);
int parameter_slots(const PyCodeObject* code);  // *args and **kwargs included

// One node per parameter slot, or nothing when the frame holds other objects: then it is not this
// call that runs it. *args and **kwargs become events of their own.
std::optional<std::vector<NodeId>> bind_arguments(Record& record, PyFunctionObject* function,
                                                  const FrameView& f, const Arguments& arguments,
                                                  Place place);

}  // namespace dvm::capture
