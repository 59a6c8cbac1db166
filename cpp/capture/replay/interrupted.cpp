#include "capture/replay/interrupted.h"

#include <algorithm>
#include <utility>

namespace dvm::capture {

namespace {

// The exception that is pending, kept aside.
class Kept {
 public:
  Kept() { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~Kept() {
    Py_XDECREF(type_);
    Py_XDECREF(value_);
    Py_XDECREF(traceback_);
  }
  Kept(const Kept&) = delete;

  bool is_there() const { return type_ != nullptr; }
  void raise() {
    PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr),
                  std::exchange(traceback_, nullptr));
  }

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

struct Raising {
  core::Loc at;
  Kept exception;
};
thread_local Raising* raising = nullptr;

int raise_at_line(PyObject*, PyFrameObject* frame, int what, PyObject*) {
  if (what != PyTrace_LINE || raising == nullptr) return 0;
  if (PyFrame_GetLineNumber(frame) != raising->at.line) return 0;
  const Ref code = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  PyObject* const file = reinterpret_cast<PyCodeObject*>(code.get())->co_filename;
  if (printable(file) != *raising->at.file) return 0;
  PyEval_SetTrace(nullptr, nullptr);
  std::exchange(raising, nullptr)->exception.raise();
  return -1;
}

bool has_handlers(PyCodeObject* code) {
  if (PyBytes_GET_SIZE(code->co_exceptiontable) > 0) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i) {
    PyObject* const constant = PyTuple_GET_ITEM(code->co_consts, i);
    if (PyCode_Check(constant) && has_handlers(reinterpret_cast<PyCodeObject*>(constant)))
      return true;
  }
  return false;
}

int last_line(PyCodeObject* code) {
  int last = code->co_firstlineno;
  for (Py_ssize_t offset = 0; offset < Py_SIZE(code); ++offset) {
    last = std::max(last, PyCode_Addr2Line(code, static_cast<int>(offset) * 2));
  }
  return last;
}

// Of functions that the code calls nobody knows here what they have.
bool may_see_exceptions(PyCodeObject* code, core::Loc at) {
  return printable(code->co_filename) != *at.file || at.line < code->co_firstlineno ||
         at.line > last_line(code) || has_handlers(code);
}

PyObject* an_instruction = nullptr;  // code, for good

// The interpreter alone takes what another thread has set, before an instruction of Python.
bool run_an_instruction() {
  const Ref names = Ref::steal(PyDict_New());
  if (!names) return false;
  if (Ref::steal(PyEval_EvalCode(an_instruction, names.get(), names.get()))) return true;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_XDECREF(traceback);  // it names that instruction
  PyErr_Restore(type, value, nullptr);
  return false;
}

}  // namespace

bool prepare_interruptions() {
  an_instruction = Py_CompileString("None", "<dvm>", Py_eval_input);
  return an_instruction != nullptr;
}

bool take_interruption() {
  if (Py_MakePendingCalls() < 0) return false;
  return PyThreadState_Get()->async_exc == nullptr || run_an_instruction();
}

PyObject* raise_within(PyCodeObject* code, core::Loc at,
                       const std::function<PyObject*()>& original) {
  if (!at || !may_see_exceptions(code, at)) return nullptr;
  Raising pending{at, {}};
  Raising* const outer = std::exchange(raising, &pending);
  PyEval_SetTrace(raise_at_line, nullptr);
  Ref result = Ref::steal(original());
  if (!pending.exception.is_there()) {
    raising = outer;
    return result.release();
  }
  // The program did not come to that line again: the exception meets its end.
  Kept own;
  PyEval_SetTrace(nullptr, nullptr);
  raising = outer;
  pending.exception.raise();
  return nullptr;
}

}  // namespace dvm::capture
