// Which special methods Python runs for which event (reference manual, "Data model").
#pragma once

#include <string_view>

#include "capture/py.h"
#include "core/graph/recording.h"

namespace dvm::capture {

struct OperatorMethods {
  const char *left, *right, *inplace;  // right: asked of the right operand; "" where there is none
};
OperatorMethods methods_of(std::string_view binary_or_compare);
const char* unary_method(std::string_view name);

struct AttributeMethods {
  const char *property, *descriptor, *hook;
};
AttributeMethods methods_of_access(core::SeenEvent::Kind kind);

// The method that takes the event's operands as they are, or null.
const char* method_of(core::SeenEvent::Kind kind);
// The method that a builtin function or type asks of its first argument; null: none.
const char* method_behind(std::string_view builtin);

// What the type defines under this name, itself or inherited; borrowed, may be null.
PyObject* special_method(PyTypeObject* type, const char* name);

}  // namespace dvm::capture
