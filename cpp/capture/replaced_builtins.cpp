#include "capture/replaced_builtins.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

namespace {

// Those that programs and shells replace, which the lowering does not call.
constexpr std::string_view kOthers[] = {"print", "input", "open", "breakpoint"};

// By name; they stay alive as long as the process.
std::vector<std::pair<PyObject*, PyObject*>>& noted() {
  static std::vector<std::pair<PyObject*, PyObject*>> all;
  return all;
}

bool is_for_programs(const char* name) {
  return name[0] == '_' || std::ranges::find(kOthers, std::string_view(name)) != std::end(kOthers);
}

}  // namespace

bool note_builtins() {
  const Ref module = Ref::steal(PyImport_ImportModule("builtins"));
  if (!module) return false;
  PyObject *name, *value;
  for (Py_ssize_t at = 0; PyDict_Next(PyModule_GetDict(module.get()), &at, &name, &value);) {
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) return false;
    if ((PyCFunction_Check(value) || PyType_Check(value)) && !is_for_programs(text)) {
      noted().emplace_back(Py_NewRef(name), Py_NewRef(value));
    }
  }
  return true;
}

const char* replaced_builtin() {
  const Ref module = Ref::steal(PyImport_ImportModule("builtins"));
  PyObject* const scope = module ? PyModule_GetDict(module.get()) : nullptr;
  for (const auto& [name, value] : noted()) {
    if (scope == nullptr || PyDict_GetItemWithError(scope, name) != value) {
      PyErr_Clear();
      return PyUnicode_AsUTF8(name);
    }
  }
  return nullptr;
}

}  // namespace dvm::capture
