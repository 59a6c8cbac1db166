// Steps that check what a path takes for granted.
#include <cstdlib>

#include "capture/cpython/instance_dict.h"
#include "capture/library/library.h"
#include "capture/library/overlap.h"
#include "capture/path/literals.h"
#include "capture/replay/frame.h"

namespace dvm::capture {

namespace {

// A subclass stores its elements as the class does; which one it is, a guard before has said.
Py_ssize_t length_of(PyObject* object) {
  if (PyTuple_Check(object)) return PyTuple_GET_SIZE(object);
  if (PyList_Check(object)) return PyList_GET_SIZE(object);
  if (PyDict_Check(object)) return PyDict_GET_SIZE(object);
  if (is_deque(object)) return PySequence_Size(object);
  if (PyAnySet_CheckExact(object)) return PySet_GET_SIZE(object);
  if (PyUnicode_CheckExact(object)) return PyUnicode_GET_LENGTH(object);
  return -1;
}

// An OrderedDict keeps the order of its keys apart.
bool has_ordered_keys(PyObject* dict, PyObject* keys) {
  const Ref iterator = Ref::steal(PyODict_Type.tp_iter(dict));
  bool same = static_cast<bool>(iterator);
  for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(keys); ++i) {
    const Ref key = Ref::steal(PyIter_Next(iterator.get()));
    same = key && same_literal(key.get(), PyTuple_GET_ITEM(keys, i));
  }
  return same;
}

bool has_keys(PyObject* dict, PyObject* keys) {
  if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return false;
  if (PyODict_Check(dict)) return has_ordered_keys(dict, keys);
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  for (Py_ssize_t i = 0; PyDict_Next(dict, &position, &key, nullptr); ++i) {
    if (!same_literal(key, PyTuple_GET_ITEM(keys, i))) return false;
  }
  return true;
}

// NULL where the interpreter keeps None out of the function object.
bool is_or_none(PyObject* now, PyObject* then) { return (now ? now : Py_None) == then; }

}  // namespace

namespace steps {

bool guard_names_(Frame& f, const int32_t* p) {
  return f.path->names[static_cast<size_t>(p[0])].holds();
}

bool guard_is_(Frame& f, const int32_t* p) { return f[p[0]] == f.path->known(p[1]); }

bool guard_type_(Frame& f, const int32_t* p) {
  return reinterpret_cast<PyObject*>(Py_TYPE(f[p[0]])) == f.path->known(p[1]);
}

bool guard_signature_(Frame& f, const int32_t* p) {
  return f.path->signatures[static_cast<size_t>(p[1])].holds(f[p[0]]);
}

bool guard_layout_(Frame& f, const int32_t* p) {
  return f.path->signatures[static_cast<size_t>(p[1])].admits(f[p[0]]);
}

bool guard_value_(Frame& f, const int32_t* p) {
  return same_literal(f[p[0]], f.path->object(p[1]));
}

bool guard_length_(Frame& f, const int32_t* p) { return length_of(f[p[0]]) == p[1]; }

bool guard_truth_(Frame& f, const int32_t* p) { return PyObject_IsTrue(f[p[0]]) == p[1]; }

bool guard_same_(Frame& f, const int32_t* p) { return (f[p[0]] == f[p[1]]) == (p[2] != 0); }

bool guard_overlap_(Frame& f, const int32_t* p) {
  return may_overlap(f[p[0]], f[p[1]]) == (p[2] != 0);
}

bool guard_shared_(Frame& f, const int32_t* p) {
  return share_elements(f[p[0]], f[p[1]]) == (p[2] != 0);
}

bool guard_view_(Frame& f, const int32_t* p) { return is_same_view(f[p[0]], f[p[1]]); }

bool guard_writeable_(Frame& f, const int32_t* p) {
  const Library* const library = library_of(f[p[0]]);
  return library != nullptr && library->view(f[p[0]]).has(kWriteable) == (p[1] != 0);
}

bool guard_code_(Frame& f, const int32_t* p) {
  const auto* function = reinterpret_cast<PyFunctionObject*>(f.path->known(p[0]));
  return function != nullptr && function->func_code == f.path->known(p[1]) &&
         is_or_none(function->func_defaults, f.path->object(p[2])) &&
         is_or_none(function->func_kwdefaults, f.path->object(p[3]));
}

bool guard_function_(Frame& f, const int32_t* p) {
  if (!PyFunction_Check(f[p[0]])) return false;
  const auto* function = reinterpret_cast<PyFunctionObject*>(f[p[0]]);
  return function->func_code == f.path->known(p[1]) &&
         function->func_globals == f.path->object(p[2]) &&
         function->func_builtins == f.path->object(p[3]);
}

bool guard_lacks_(Frame& f, const int32_t* p) {
  return dvm_instance_attribute(f[p[0]], f.path->object(p[1])) == nullptr && !PyErr_Occurred();
}

bool guard_bare_(Frame& f, const int32_t* p) {
  PyObject *const lacking = f.path->object(p[1]), *const empty = f.path->object(p[2]);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lacking); ++i) {
    if (dvm_instance_attribute(f[p[0]], PyTuple_GET_ITEM(lacking, i)) || PyErr_Occurred()) {
      return false;
    }
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(empty); ++i) {
    PyObject* dict = dvm_instance_attribute(f[p[0]], PyTuple_GET_ITEM(empty, i));
    if (dict == nullptr || !(PyDict_CheckExact(dict) || PyODict_CheckExact(dict)) ||
        PyDict_GET_SIZE(dict) != 0) {
      return false;
    }
  }
  return true;
}

bool guard_keys_(Frame& f, const int32_t* p) { return has_keys(f[p[0]], f.path->object(p[1])); }

bool guard_errstate_(Frame& f, const int32_t* p) {
  return f.raising.program_has(f.path->object(p[0]));
}

}  // namespace steps

}  // namespace dvm::capture
