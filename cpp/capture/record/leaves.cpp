#include "capture/record/leaves.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace dvm::capture {

namespace {

struct Leaves {
  std::vector<Ref> callables, codes;
  std::unordered_set<PyObject*> members;
};

// Never destroyed: the interpreter is gone before static objects are.
Leaves& leaves() {
  static auto* all = new Leaves;
  return *all;
}

std::vector<std::string>& packages() {
  static auto* all = new std::vector<std::string>;
  return *all;
}

// By the module that it was written in.
bool is_of_leaf_package(PyObject* function) {
  PyObject* const module = reinterpret_cast<PyFunctionObject*>(function)->func_module;
  if (module == nullptr || !PyUnicode_Check(module)) return false;
  const std::string_view name = printable(module);
  const std::string_view root = name.substr(0, name.find('.'));
  return std::find(packages().begin(), packages().end(), root) != packages().end();
}

}  // namespace

void set_leaf_packages(std::vector<std::string> names) { packages() = std::move(names); }

std::vector<Ref> set_leaves(std::vector<Ref> callables) {
  Leaves fresh;
  for (const Ref& callable : callables) {
    fresh.members.insert(callable.get());
    if (!PyFunction_Check(callable.get())) continue;
    fresh.codes.push_back(Ref::borrow(PyFunction_GET_CODE(callable.get())));
    fresh.members.insert(fresh.codes.back().get());
  }
  fresh.callables = std::move(callables);
  // What is dropped may run Python code, which may record: by then the new set is in place.
  std::swap(leaves(), fresh);
  return std::move(fresh.callables);
}

bool is_known_leaf(PyObject* callable) {
  const auto& members = leaves().members;
  return members.contains(callable) ||
         (PyFunction_Check(callable) && members.contains(PyFunction_GET_CODE(callable)));
}

bool is_leaf(PyObject* callable) {
  if (is_known_leaf(callable)) return true;
  if (PyMethod_Check(callable)) return is_leaf(PyMethod_GET_FUNCTION(callable));
  return PyFunction_Check(callable) && is_of_leaf_package(callable);
}

}  // namespace dvm::capture
