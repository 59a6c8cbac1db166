#include "capture/leaves.h"

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

}  // namespace

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

bool is_leaf(PyObject* callable) {
  const auto& members = leaves().members;
  if (members.contains(callable)) return true;
  if (PyMethod_Check(callable)) return is_leaf(PyMethod_GET_FUNCTION(callable));
  return PyFunction_Check(callable) && members.contains(PyFunction_GET_CODE(callable));
}

}  // namespace dvm::capture
