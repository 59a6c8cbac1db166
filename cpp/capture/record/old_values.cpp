#include "capture/record/old_values.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "capture/cpython/containers.h"
#include "capture/cpython/instance_dict.h"
#include "capture/record/lifetimes.h"

namespace dvm::capture {

namespace {

constexpr std::string_view kDropNothing[] = {"append", "appendleft", "extend", "extendleft",
                                             "insert", "reverse",    "sort",   "add"};

bool is_container(PyObject* object) {
  return PyList_Check(object) || PyDict_Check(object) || PyAnySet_Check(object) || is_deque(object);
}

bool has_limit(PyObject* deque) {
  const Ref limit = Ref::steal(PyObject_GetAttrString(deque, "maxlen"));
  return limit && limit.get() != Py_None;
}

bool has_code(PyObject* key) {
  if (!PyTuple_CheckExact(key)) return PyType_HasFeature(Py_TYPE(key), Py_TPFLAGS_HEAPTYPE);
  PyObject* const* const items = &PyTuple_GET_ITEM(key, 0);
  return std::any_of(items, items + PyTuple_GET_SIZE(key), has_code);
}

// A key whose hash may be code of the program's is known by its identity alone.
PyObject* value_under(PyObject* dict, PyObject* key) {
  if (!has_code(key)) return PyDict_GetItemWithError(dict, key);
  Py_ssize_t position = 0;
  PyObject *each, *value;
  while (PyDict_Next(dict, &position, &each, &value)) {
    if (each == key) return value;
  }
  return nullptr;
}

// setattr and delattr themselves.
bool sets_attribute(PyObject* callee) {
  if (!PyCFunction_CheckExact(callee)) return false;
  PyObject* const owner = PyCFunction_GET_SELF(callee);
  const PyModuleDef* const module =
      owner != nullptr && PyModule_CheckExact(owner) ? PyModule_GetDef(owner) : nullptr;
  if (module == nullptr || std::strcmp(module->m_name, "builtins") != 0) return false;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(callee)->m_ml->ml_name;
  return name == "setattr" || name == "delattr";
}

}  // namespace

void OldValues::add(PyObject* value) {
  if (value != nullptr && !is_mute(value)) values_.push_back(value);
}

void OldValues::add_attribute(PyObject* object, PyObject* name) {
  if (object == nullptr || name == nullptr || !PyUnicode_CheckExact(name)) return;
  if (PyType_Check(object)) {
    return add(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(object), name));
  }
  PyObject* const found = _PyType_Lookup(Py_TYPE(object), name);
  if (found != nullptr && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
    const Ref slot = Ref::steal(
        Py_TYPE(found)->tp_descr_get(found, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
    add(slot.get());
  } else {
    add(dvm_instance_attribute(object, name));
  }
}

void OldValues::add_item(PyObject* container, PyObject* key) {
  if (container == nullptr || key == nullptr) return;
  if (PyDict_Check(container)) return add(value_under(container, key));
  if (!PyList_Check(container) && !is_deque(container)) return;
  if (!PyLong_CheckExact(key)) return add_all(container);
  const Py_ssize_t size = Py_SIZE(container), index = PyLong_AsSsize_t(key);
  const Py_ssize_t place = index < 0 ? index + size : index;
  place >= 0 && place < size ? add_place(container, place) : add_all(container);
}

void OldValues::add_variable(PyObject* scope, PyObject* name) {
  add(PyDict_GetItemWithError(scope, name));
}

void OldValues::add_contents(PyObject* cell) {
  if (PyCell_Check(cell)) add(PyCell_GET(cell));
}

void OldValues::add_place(PyObject* sequence, Py_ssize_t place) {
  if (PyList_Check(sequence)) return add(PyList_GET_ITEM(sequence, place));
  const Ref item = Ref::steal(Py_TYPE(sequence)->tp_as_sequence->sq_item(sequence, place));
  add(item.get());
}

void OldValues::add_all(PyObject* container) {
  Py_ssize_t position = 0;
  if (container == nullptr) return;
  if (PyDict_Check(container)) {
    for (PyObject *key, *value; PyDict_Next(container, &position, &key, &value);) {
      add(key), add(value);
    }
  } else if (PyAnySet_Check(container)) {
    for (PyObject* item; dvm_set_next(container, &position, &item);) add(item);
  } else if (PyList_Check(container) || is_deque(container)) {
    for (Py_ssize_t place = Py_SIZE(container); place-- > 0;) add_place(container, place);
  }
}

void OldValues::add_call(PyObject* callee, std::span<PyObject* const> arguments) {
  if (callee == nullptr || arguments.empty() || arguments[0] == nullptr) return;
  PyObject* const object = arguments[0];
  PyObject* const key = arguments.size() > 1 ? arguments[1] : nullptr;
  if (sets_attribute(callee)) return add_attribute(object, key);
  if (Py_IS_TYPE(callee, &PyWrapperDescr_Type)) {  // __setattr__, __setitem__, __delitem__
    return is_container(object) ? add_item(object, key) : add_attribute(object, key);
  }
  if (!is_container(object) || !Py_IS_TYPE(callee, &PyMethodDescr_Type)) return;
  add_method(object, reinterpret_cast<PyMethodDescrObject*>(callee)->d_method->ml_name, arguments);
}

void OldValues::add_method(PyObject* container, const char* text,
                           std::span<PyObject* const> arguments) {
  const std::string_view name = text;
  const bool is_bounded = is_deque(container) && has_limit(container);
  if (!is_bounded && std::ranges::find(kDropNothing, name) != std::end(kDropNothing)) return;
  const bool pops = name == "pop" && !PyDict_Check(container);
  if (pops && arguments.size() > 1) return add_item(container, arguments[1]);
  if ((pops && !PyAnySet_Check(container)) || name == "popleft") {
    const Py_ssize_t size = Py_SIZE(container);
    return size > 0 ? add_place(container, pops ? size - 1 : 0) : void();
  }
  add_all(container);
}

}  // namespace dvm::capture
