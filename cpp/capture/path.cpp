#include "capture/path.h"

#include <algorithm>

namespace dvm::capture {

namespace {

constexpr const char* kResultKinds[] = {"array", "numpy", "float", "int", "bool"};

uint64_t version_of(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}

// The step a path ends with when the original runs from there on.
const Step* fallback_of(const Path& path) {
  if (path.steps.empty() || path.steps.back().op != StepOp::fallback_) return nullptr;
  return &path.steps.back();
}

}  // namespace

const char* to_string(ResultKind kind) { return kResultKinds[static_cast<int>(kind)]; }

void NameGuard::add(Name name) {
  const auto same_dict = [&](const Version& version) { return version.dict == name.dict.get(); };
  if (std::none_of(versions.begin(), versions.end(), same_dict)) {
    versions.push_back({name.dict.get(), 0});
  }
  names.push_back(std::move(name));
}

bool NameGuard::holds() {
  bool unchanged = true;
  for (const Version& version : versions) unchanged &= version.tag == version_of(version.dict);
  if (unchanged) return true;
  for (const Name& name : names) {
    if (!name.holds()) return false;
  }
  for (Version& version : versions) version.tag = version_of(version.dict);
  return true;
}

int Path::traverse(visitproc visit, void* arg) const {
  for (const Ref& object : objects) Py_VISIT(object.get());
  for (const SignatureGuard& guard : signatures) {
    Py_VISIT(guard.type.get());
    Py_VISIT(guard.descr.get());
  }
  for (const NameGuard& guard : names) {
    for (const NameGuard::Name& name : guard.names) {
      Py_VISIT(name.dict.get());
      Py_VISIT(name.object.get());
    }
  }
  return 0;
}

std::string Path::reason() const {
  const Step* step = fallback_of(*this);
  return step ? printable(object(operands(*step)[0])) : "";
}

core::Loc Path::reason_at() const {
  const Step* step = fallback_of(*this);
  if (!step || operands(*step)[1] < 0) return {};
  return locations[static_cast<size_t>(operands(*step)[1])];
}

}  // namespace dvm::capture
