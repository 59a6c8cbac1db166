#include "capture/cpython/exits.h"

#include <algorithm>
#include <memory>

#include "capture/cpython/code_table.h"
#include "capture/cpython/handlers.h"
#include "capture/cpython/kept_by_code.h"

namespace dvm::capture {

namespace {

// The handlers of one code, as the compiler writes `except Name:` and `except (Name, Name):`.
class Exits {
 public:
  explicit Exits(PyCodeObject* code) : code_(code), table_(code_table(code)) {}

  bool look() {
    return std::ranges::all_of(table_.instructions(), [this](const Decoded& each) {
      return each.first.op != Op::yield_value || passes(each.unit);
    });
  }

  std::vector<PyObject*> names;

 private:
  Op op(const Decoded* at) const { return at != nullptr ? at->first.op : Op::nothing; }
  const Decoded* behind(const Decoded* at) const { return at ? table_.at(at->next) : nullptr; }

  // Whether an exception that no handler takes, raised here, leaves the frame.
  bool passes(int unit) {
    const auto handler = handler_of(code_, unit);
    if (!handler) return true;
    const Decoded* at = table_.at(handler->target);
    switch (op(at)) {
      case Op::push_exc_info:
        return asks(behind(at));
      case Op::cleanup_throw:  // of `yield from`: what is no StopIteration goes on
        return passes(at->unit);
      case Op::copy:  // of a handler's own end
        at = behind(at);
        if (op(at) != Op::pop_except) return false;
        [[fallthrough]];
      case Op::check_no_stop_iteration:
        at = behind(at);
        return op(at) == Op::reraise && passes(at->unit);
      default:
        return false;
    }
  }

  bool asks(const Decoded* at) {
    while (op(at) != Op::reraise) {
      const size_t before = names.size();
      for (; op(at) == Op::load_global; at = behind(at)) {
        names.push_back(PyTuple_GET_ITEM(code_->co_names, at->first.arg));
      }
      if (op(at) == Op::build_tuple) at = behind(at);
      const Decoded* const jump = behind(at);
      const bool is_test = names.size() > before && op(at) == Op::check_exc_match &&
                           op(jump) == Op::pop_jump_if_false;
      if (!is_test) return false;
      at = table_.at(jump->target);
    }
    return passes(at->unit);
  }

  PyCodeObject* code_;
  const CodeTable& table_;
};

// What a global name stands for; null where it stands for nothing.
PyObject* bound(const DvmScopes& scopes, PyObject* name) {
  if (!PyDict_CheckExact(scopes.globals) || !PyDict_CheckExact(scopes.builtins)) return nullptr;
  PyObject* const found = PyDict_GetItemWithError(scopes.globals, name);
  return found != nullptr ? found : PyDict_GetItemWithError(scopes.builtins, name);
}

using Asked = std::optional<std::vector<PyObject*>>;

// Its names live as long as the code.
const Asked& asked_of(PyCodeObject* code) {
  return kept_by<Asked>(
      code, [](PyCodeObject* each) { return std::make_unique<Asked>(asked_by_exit(each)); });
}

}  // namespace

std::optional<std::vector<PyObject*>> asked_by_exit(PyCodeObject* code) {
  Exits exits(code);
  if (!exits.look()) return std::nullopt;
  return std::move(exits.names);
}

bool lets_exit_pass(PyObject* generator) {
  DvmScopes scopes;
  if (!dvm_generator_scopes(generator, &scopes)) return false;
  PyCodeObject* const code = dvm_generator_code(generator);
  if (PyBytes_GET_SIZE(code->co_exceptiontable) == 0) return true;
  const Asked& names = asked_of(code);
  if (!names) return false;
  return std::ranges::all_of(*names, [&](PyObject* name) {
    PyObject* const exception = bound(scopes, name);
    return exception != nullptr && PyExceptionClass_Check(exception) &&
           !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit),
                             reinterpret_cast<PyTypeObject*>(exception));
  });
}

}  // namespace dvm::capture
