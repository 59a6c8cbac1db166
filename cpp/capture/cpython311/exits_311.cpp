#include <algorithm>
#include <memory>

#include "capture/cpython311/exits.h"
#include "capture/cpython311/frame_view.h"
#include "capture/cpython311/handlers.h"
#include "capture/record/record.h"
#include "opcode.h"

namespace dvm::capture {

namespace {

// The handlers of one code, as the compiler writes `except Name:` and `except (Name, Name):`.
class Exits {
 public:
  explicit Exits(PyCodeObject* code) : code_(code), bytes_(made(PyCode_GetCode(code))) {}

  bool look() {
    for (int unit = 0; unit < count(); ++unit) {
      if (opcode(unit) == YIELD_VALUE && !passes(unit)) return false;
    }
    return true;
  }

  std::vector<PyObject*> names;

 private:
  int count() const { return static_cast<int>(PyBytes_GET_SIZE(bytes_.get()) / 2); }
  int at(int byte) const {
    if (byte >= PyBytes_GET_SIZE(bytes_.get())) return NOP;  // which is no part of a handler
    return static_cast<unsigned char>(PyBytes_AS_STRING(bytes_.get())[byte]);
  }
  int opcode(int unit) const { return at(2 * unit); }
  int oparg(int unit) const { return at(2 * unit + 1); }

  // Whether an exception that no handler takes, raised here, leaves the frame.
  bool passes(int unit) {
    const auto handler = handler_of(code_, unit);
    if (!handler) return true;
    if (opcode(handler->target) == PUSH_EXC_INFO) return asks(handler->target + 1);
    const int last = handler->target + 2;  // of a handler's own end
    return opcode(last - 2) == COPY && opcode(last - 1) == POP_EXCEPT && opcode(last) == RERAISE &&
           passes(last);
  }

  bool asks(int unit) {
    while (opcode(unit) != RERAISE) {
      const int first = unit;
      for (; opcode(unit) == LOAD_GLOBAL || opcode(unit) == CACHE; ++unit) {
        if (opcode(unit) == CACHE) continue;
        names.push_back(PyTuple_GET_ITEM(code_->co_names, oparg(unit) >> 1));
      }
      if (opcode(unit) == BUILD_TUPLE) ++unit;
      const bool is_test = unit > first && opcode(unit) == CHECK_EXC_MATCH &&
                           opcode(unit + 1) == POP_JUMP_FORWARD_IF_FALSE;
      if (!is_test) return false;
      unit += 2 + oparg(unit + 1);
    }
    return passes(unit);
  }

  PyCodeObject* code_;
  Ref bytes_;
};

// What a global name stands for; null where it stands for nothing.
PyObject* bound(const DvmScopes& scopes, PyObject* name) {
  if (!PyDict_CheckExact(scopes.globals) || !PyDict_CheckExact(scopes.builtins)) return nullptr;
  PyObject* const found = PyDict_GetItemWithError(scopes.globals, name);
  return found != nullptr ? found : PyDict_GetItemWithError(scopes.builtins, name);
}

using Asked = std::optional<std::vector<PyObject*>>;

// The code object keeps the answer, and has it freed when it dies; its names live as long.
const Asked& asked_of(PyCodeObject* code) {
  static const Py_ssize_t place =
      _PyEval_RequestCodeExtraIndex([](void* kept) { delete static_cast<Asked*>(kept); });
  auto* const object = reinterpret_cast<PyObject*>(code);
  void* kept = nullptr;
  if (place < 0 || _PyCode_GetExtra(object, place, &kept) < 0) made(nullptr);
  if (kept == nullptr) {
    auto found = std::make_unique<Asked>(asked_by_exit(code));
    if (_PyCode_SetExtra(object, place, found.get()) < 0) made(nullptr);
    kept = found.release();
  }
  return *static_cast<Asked*>(kept);
}

}  // namespace

std::optional<std::vector<PyObject*>> asked_by_exit(PyCodeObject* code) {
  Exits exits(code);
  if (!exits.look()) return std::nullopt;
  return std::move(exits.names);
}

bool lets_exit_pass(PyObject* generator) {
  PyCodeObject* const code = reinterpret_cast<PyGenObject*>(generator)->gi_code;
  if (PyBytes_GET_SIZE(code->co_exceptiontable) == 0) return true;
  const Asked& names = asked_of(code);
  DvmScopes scopes;
  if (!names || !dvm_generator_scopes(generator, &scopes)) return false;
  return std::ranges::all_of(*names, [&](PyObject* name) {
    PyObject* const exception = bound(scopes, name);
    return exception != nullptr && PyExceptionClass_Check(exception) &&
           !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit),
                             reinterpret_cast<PyTypeObject*>(exception));
  });
}

}  // namespace dvm::capture
