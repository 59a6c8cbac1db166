#include "capture/record/lifetimes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "capture/library/library.h"
#include "capture/record/endings.h"

namespace dvm::capture {

namespace {

// Packages whose classes of C do nothing that the program sees when an object dies. Of others
// nobody knows: they may close a file or a connection, or give back memory that was lent.
constexpr std::string_view kQuiet[] = {
    "collections", "_collections", "itertools", "functools", "operator", "datetime", "decimal",
    "re",          "_sre",         "random",    "_random",   "numpy",    "types",    "_abc",
    "array",       "_json",        "_hashlib",  "hashlib",   "zoneinfo", "_csv",     "_contextvars",
    "dvm",         "_dvm",         "torch",     "_thread",   "weakref"};

destructor dealloc_of_class_statements() {
  static const destructor found = [] {
    const Ref made = Ref::steal(
        PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(){}", "Plain"));
    if (made) return reinterpret_cast<PyTypeObject*>(made.get())->tp_dealloc;
    PyErr_Clear();
    return static_cast<destructor>(nullptr);
  }();
  return found;
}

// The class of C whose memory an object has.
const PyTypeObject* class_of_c(const PyTypeObject* type) {
  while (type->tp_dealloc == dealloc_of_class_statements() && type->tp_base != nullptr) {
    type = type->tp_base;
  }
  return type;
}

bool is_quiet_class(const PyTypeObject* type) {
  const std::string_view name = class_of_c(type)->tp_name;
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return true;  // a builtin one
  return name.starts_with("_struct.Struct") ||
         std::ranges::find(kQuiet, name.substr(0, dot)) != std::end(kQuiet);
}

// Arrays and bytes do not count who reads their memory.
bool counts_readers(PyObject* exporter) {
  return exporter != nullptr && !PyBytes_Check(exporter) && library_of(exporter) == nullptr;
}

bool has_weak_references(PyObject* object) {
  return PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) &&
         *PyObject_GET_WEAKREFS_LISTPTR(object) != nullptr;
}

// A generator that waits, and has something to finish.
bool is_unfinished(PyObject* generator) {
  constexpr int8_t kSuspended = -1;  // FRAME_SUSPENDED of the interpreter's own headers
  const auto* const state = reinterpret_cast<PyGenObject*>(generator);
  return state->gi_frame_state == kSuspended && finishes_something(generator);
}

}  // namespace

bool is_mute(PyObject* object) {
  const PyTypeObject* const type = Py_TYPE(object);
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type ||
      type == &PyBytes_Type || type == &PyBool_Type || type == &PyComplex_Type ||
      object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented) {
    return true;
  }
  // Classes and modules are in cycles: only the collector ends them, nobody knows when.
  if (PyType_Check(object) || PyModule_Check(object) || type == &PyCode_Type ||
      type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type || type == &PyRange_Type) {
    return true;
  }
  return type == &PyCFunction_Type &&
         (PyCFunction_GET_SELF(object) == nullptr || PyModule_Check(PyCFunction_GET_SELF(object)));
}

bool tells_end(PyObject* object) {
  const PyTypeObject* const type = Py_TYPE(object);
  if (has_weak_references(object)) return true;
  if (PyGen_CheckExact(object)) return is_unfinished(object);
  if (type->tp_finalize != nullptr || type->tp_del != nullptr) return true;
  if (PyWeakref_Check(object)) {  // its callback goes with it
    return reinterpret_cast<PyWeakReference*>(object)->wr_callback != nullptr;
  }
  if (PyMemoryView_Check(object)) return counts_readers(PyMemoryView_GET_BUFFER(object)->obj);
  if (PyCapsule_CheckExact(object)) {
    const bool has_destructor = PyCapsule_GetDestructor(object) != nullptr;
    PyErr_Clear();
    return has_destructor;
  }
  return !is_quiet_class(type);
}

void Lifetimes::hold(PyObject* object) {
  if (object == nullptr || is_mute(object)) return;
  Held& held = held_[object];
  ++held.ours;
  meet(object, held);
}

void Lifetimes::meet(PyObject* object, Held& held) {
  if (held.watched || held.dead) return;
  held.watched = true;
  watched_.push_back({object, &held});
}

int Lifetimes::count_visit(PyObject* object, void* self) {
  static_cast<Lifetimes*>(self)->count(object);
  return 0;
}

// Something that only dvm has holds the object. What holds it may be changed by a weak reference's
// callback, so that this needs a reference of its own.
void Lifetimes::count(PyObject* object) {
  if (object == nullptr || is_mute(object)) return;
  const auto [found, added] = held_.try_emplace(object);
  Held& held = found->second;
  if (!held.own) {
    held.own = true;
    ++held.ours;
    Py_INCREF(object);
  }
  ++held.ours;
  meet(object, held);
}

void Lifetimes::hold_contents(PyObject* container) {
  if (const Library* const library = library_of(container)) {
    count(library->base_of(container));
    const ArrayView view = library->view(container);
    if (view.has(kHoldsObjects) && view.has(kOwnsMemory)) {
      auto* const* const items = reinterpret_cast<PyObject* const*>(view.data);
      const auto dense = view.has(kCContiguous) || view.has(kFContiguous);
      for (int64_t i = 0; dense && i < view.size(); ++i) count(items[i]);
    }
  }
  if (const traverseproc traverse = Py_TYPE(container)->tp_traverse) {
    traverse(container, count_visit, this);
  }
}

bool Lifetimes::look() {
  bool tells = false;
  for (;;) {
    std::vector<PyObject*> dying;
    std::erase_if(watched_, [&](const Watched& each) {
      if (Py_REFCNT(each.object) > each.held->ours) return false;
      each.held->watched = false, each.held->dead = true;
      dying.push_back(each.object);
      return true;
    });
    if (dying.empty()) return !tells;
    // What they hold may die with them: it is watched from here on, and looked at next.
    for (PyObject* const object : dying) {
      tells = tells || tells_end(object);
      hold_contents(object);
    }
  }
}

bool Lifetimes::is_within(PyObject* object) const {
  const auto found = held_.find(object);
  return found != held_.end() && found->second.own;
}

void Lifetimes::clear() {
  watched_.clear();
  const auto held = std::exchange(held_, {});
  for (const auto& [object, known] : held) {
    if (known.own) Py_DECREF(object);
  }
}

}  // namespace dvm::capture
