#include "capture/record/trampolines.h"

#include <utility>

#include "capture/record/record.h"

namespace dvm::capture {

namespace {

// Never destroyed: the interpreter is gone before static objects are.
std::vector<Trampoline>& trampolines() {
  static auto* all = new std::vector<Trampoline>;
  return *all;
}

const Trampoline* find(PyObject* function) {
  for (const Trampoline& each : trampolines()) {
    if (each.function.get() == function) return &each;
  }
  return nullptr;
}

}  // namespace

std::vector<Trampoline> set_trampolines(std::vector<Trampoline> all) {
  std::swap(trampolines(), all);
  return all;
}

bool is_trampoline(PyObject* function) { return find(function) != nullptr; }

Ref leads_to(PyObject* function, PyObject* self) {
  const Trampoline* const found = find(function);
  if (found == nullptr) return {};
  Ref target = made(PyObject_CallOneArg(found->asks.get(), self));
  return target.get() == Py_None ? Ref{} : std::move(target);
}

}  // namespace dvm::capture
