#include "capture/path/path.h"

#include <algorithm>

#include "capture/cpython/containers.h"

namespace dvm::capture {

namespace {

constexpr const char* kResultKinds[] = {"array", "numpy", "float", "int", "bool"};

uint64_t version_of(PyObject* holder) {
  return PyType_Check(holder) ? reinterpret_cast<PyTypeObject*>(holder)->tp_version_tag
                              : dvm_dict_version(holder);
}

// The step a path ends with when the original runs from there on.
const Step* fallback_of(const Path& path) {
  if (path.steps.empty() || path.steps.back().op != StepOp::fallback_) return nullptr;
  return &path.steps.back();
}

}  // namespace

const char* to_string(ResultKind kind) { return kResultKinds[static_cast<int>(kind)]; }

PyObject* NameGuard::Name::present() const {
  return of_class() ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(holder.get()), name.get())
                    : PyDict_GetItemWithError(holder.get(), name.get());
}

std::string NameGuard::Name::text() const {
  const std::string owner =
      of_class() ? std::string(reinterpret_cast<PyTypeObject*>(holder.get())->tp_name) + "."
                 : "global ";
  return owner + printable(name.get());
}

void NameGuard::add(Name name) {
  PyObject* holder = name.holder.get();
  const auto is_holder = [&](const Version& version) { return version.holder == holder; };
  if (std::none_of(versions.begin(), versions.end(), is_holder)) versions.push_back({holder, 0});
  names.push_back(std::move(name));
}

bool NameGuard::holds() {
  for (Version& version : versions) {
    if (version.tag == version_of(version.holder) && version.tag != 0) [[likely]]
      continue;
    for (const Name& name : names) {
      if (name.holder.get() == version.holder && !name.holds()) return false;
    }
    version.tag = version_of(version.holder);
  }
  return true;
}

int Path::traverse(visitproc visit, void* arg) const {
  for (const Ref& object : objects) Py_VISIT(object.get());
  for (const SignatureGuard& guard : signatures) {
    Py_VISIT(guard.type.get());
    Py_VISIT(guard.elements.get());
  }
  for (const NameGuard& guard : names) {
    for (const NameGuard::Name& name : guard.names) {
      Py_VISIT(name.holder.get());
      Py_VISIT(name.object.get());
    }
  }
  return 0;
}

PyObject* Path::reason_object() const {
  const Step* step = fallback_of(*this);
  return step ? object(operands(*step)[0]) : nullptr;
}

std::string Path::reason() const {
  PyObject* reason = reason_object();
  return reason ? printable(reason) : "";
}

core::Loc Path::reason_at() const {
  const Step* step = fallback_of(*this);
  if (!step || operands(*step)[1] < 0) return {};
  return locations[static_cast<size_t>(operands(*step)[1])];
}

}  // namespace dvm::capture
