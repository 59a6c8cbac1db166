#include "capture/path/reasons.h"

namespace dvm::capture {

Ref reason_object(const std::string& message) {
  Ref reason;
  if (const Ref module = Ref::steal(PyImport_ImportModule("dvm.reasons"))) {
    reason = Ref::steal(PyObject_CallMethod(module.get(), "told", "s", message.c_str()));
  }
  if (!reason) {  // memory ran out, or the interpreter is shutting down
    PyErr_Clear();
    reason = Ref::steal(PyUnicode_FromString(message.c_str()));
  }
  if (!reason) {
    PyErr_Clear();
    reason = Ref::borrow(Py_None);
  }
  return reason;
}

std::string reason_text(const std::string& message) {
  return printable(reason_object(message).get());
}

}  // namespace dvm::capture
