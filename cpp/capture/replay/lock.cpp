#include "capture/replay/lock.h"

#include <algorithm>
#include <array>

#include "capture/library/library.h"
#include "capture/replay/frame.h"

namespace dvm::capture {

namespace {

// Whether the register holds what this path has made itself, so that no other thread knows it.
bool is_fresh(const Path& path, int32_t reg) {
  return std::ranges::any_of(path.steps, [&](const Step& step) {
    const bool makes = step.op == StepOp::list_ || step.op == StepOp::dict_ ||
                       step.op == StepOp::set_ || step.op == StepOp::instance_;
    return makes && path.operands(step)[0] == reg;
  });
}

// Whether an attribute of this name has been read on the way, of whatever object.
bool reads_attribute(const Path& last, PyObject* name) {
  for (const Path* path = &last; path != nullptr; path = path->parent) {
    for (const Step& step : path->steps) {
      const bool reads = step.op == StepOp::attribute_ || step.op == StepOp::getattr_ ||
                         step.op == StepOp::class_attribute_;
      if (!reads) continue;
      const int comparison = PyUnicode_Compare(path->object(path->operands(step)[2]), name);
      if (comparison == 0) return true;
    }
  }
  return false;
}

// Whether it puts something in the place of what the program has read, like object.__setattr__ or
// list.pop; not where it adds to a container, or takes away an element that it names.
bool replaces(PyObject* callee) {
  if (Py_IS_TYPE(callee, &PyWrapperDescr_Type)) return true;
  if (!Py_IS_TYPE(callee, &PyMethodDescr_Type)) return false;
  PyObject* const name = reinterpret_cast<PyDescrObject*>(callee)->d_name;
  constexpr std::array kAdding = {"extend", "append", "appendleft", "add", "update", "discard"};
  return std::ranges::none_of(kAdding, [&](const char* adding) {
    return PyUnicode_CompareWithASCIIString(name, adding) == 0;
  });
}

// What the path holds in a register that a `constant` defines; else null.
PyObject* constant_in(const Path& path, int32_t reg) {
  for (const Step& step : path.steps) {
    const int32_t* p = path.operands(step);
    if (step.op == StepOp::constant_ && p[0] == reg) return path.object(p[1]);
  }
  return nullptr;
}

bool builds_on_what_was_read(const Path& path, const Step& step) {
  const int32_t* p = path.operands(step);
  switch (step.op) {
    case StepOp::set_attribute_:
      return !is_fresh(path, p[0]) && reads_attribute(path, path.object(p[1]));
    case StepOp::delete_attribute_:
    case StepOp::delete_item_:
    case StepOp::list_replace_:
      return !is_fresh(path, p[0]);
    case StepOp::set_variable_:
    case StepOp::set_cell_:
      return true;
    case StepOp::effect_: {
      PyObject* const callee = constant_in(path, p[1]);
      return callee == nullptr || replaces(callee);
    }
    default:
      return false;
  }
}

}  // namespace

void note_writes(Path& path) {
  for (const Step& step : path.steps) {
    const int32_t written = path.operands(step)[0];
    const bool writes = step.op == StepOp::copyto_ || step.op == StepOp::set_item_ ||
                        step.op == StepOp::put_ || step.op == StepOp::lend_;
    if (writes && !is_fresh(path, written)) path.writes.push_back(written);
    path.keeps_lock = path.keeps_lock || builds_on_what_was_read(path, step);
  }
  for (auto* parent = const_cast<Path*>(path.parent); parent != nullptr;
       parent = const_cast<Path*>(parent->parent)) {
    parent->keeps_lock = parent->keeps_lock || path.keeps_lock;
    parent->writes.insert(parent->writes.end(), path.writes.begin(), path.writes.end());
  }
}

bool may_unlock(const Frame& frame) {
  return !frame.call.holds_lock && !frame.path->keeps_lock &&
         std::ranges::all_of(frame.path->writes, [&](int32_t reg) {
           PyObject* const object = frame[reg];
           const Library* const library = object ? library_of(object) : nullptr;
           return library != nullptr && library->writes_unlocked(object);
         });
}

}  // namespace dvm::capture
