#include "capture/record/python_objects.h"

#include <algorithm>
#include <string_view>

#include "capture/cpython/instance_dict.h"
#include "capture/record/record.h"

namespace dvm::capture {

namespace {

using core::NodeId;
using core::Recording;
using core::SeenEvent;
using core::SeenNode;

struct Method {
  PyTypeObject* type;
  std::string_view name;
};
// Methods of the built-in containers that change them.
const Method kChanging[] = {
    {&PyList_Type, "append"},
    {&PyList_Type, "extend"},
    {&PyList_Type, "insert"},
    {&PyList_Type, "pop"},
    {&PyList_Type, "remove"},
    {&PyList_Type, "clear"},
    {&PyList_Type, "sort"},
    {&PyList_Type, "reverse"},
    {&PyDict_Type, "update"},
    {&PyDict_Type, "pop"},
    {&PyDict_Type, "popitem"},
    {&PyDict_Type, "clear"},
    {&PyDict_Type, "setdefault"},
    {&PySet_Type, "add"},
    {&PySet_Type, "remove"},
    {&PySet_Type, "discard"},
    {&PySet_Type, "pop"},
    {&PySet_Type, "clear"},
    {&PySet_Type, "update"},
    {&PySet_Type, "difference_update"},
    {&PySet_Type, "intersection_update"},
    {&PySet_Type, "symmetric_difference_update"},
};

bool is_sequence(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

// An attribute kept in the object itself: an instance's own, a member of a module or of a type.
bool keeps_attribute(PyObject* owner, PyObject* name, PyObject* value) {
  if (PyType_Check(owner)) {
    return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner), name) == value;
  }
  PyObject* found = dvm_instance_attribute(owner, name);
  PyErr_Clear();
  return found == value;
}

// Whether the program bound the attribute anew, so that its object no longer tells what it held.
bool is_rebound(const Recording& recording, PyObject* owner, core::HostHandle name) {
  return std::ranges::any_of(recording.events, [&](const SeenEvent& event) {
    return (event.kind == SeenEvent::Kind::store_attribute ||
            event.kind == SeenEvent::Kind::delete_attribute) &&
           event.name == name && recording.node(recording.operands_of(event)[0]).object == owner;
  });
}

// The array that a call was told to write into: the operand of the keyword `out`.
NodeId out_of(const Recording& recording, const SeenEvent& call) {
  if (call.keywords == nullptr) return core::kNoNode;
  PyObject* names = as_object(call.keywords);
  const auto operands = recording.operands_of(call);
  const auto count = static_cast<size_t>(PySequence_Size(names));
  for (size_t i = 0; i < count && i < operands.size(); ++i) {
    const Ref name = Ref::steal(PySequence_GetItem(names, static_cast<Py_ssize_t>(i)));
    if (!name || PyUnicode_CompareWithASCIIString(name.get(), "out") != 0) continue;
    const NodeId out = operands[operands.size() - count + i];
    return as_object(recording.node(out).object) == Py_None ? core::kNoNode : out;
  }
  return core::kNoNode;
}

}  // namespace

bool PythonObjects::has_identity(core::HostHandle object) const {
  PyObject* value = as_object(object);
  const PyTypeObject* type = Py_TYPE(value);
  return type != &PyLong_Type && type != &PyFloat_Type && type != &PyComplex_Type &&
         type != &PyBool_Type && type != &PyUnicode_Type && type != &PyBytes_Type &&
         value != Py_None && value != Py_Ellipsis &&
         !(PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 0);
}

bool PythonObjects::is_held(const Recording& recording, const SeenEvent& event) const {
  const auto operands = recording.operands_of(event);
  PyObject* owner = as_object(recording.node(operands[0]).object);
  PyObject* value = as_object(recording.node(event.result).object);
  switch (event.kind) {
    case SeenEvent::Kind::attribute:
      return keeps_attribute(owner, as_object(event.name), value) ||
             is_rebound(recording, owner, event.name);
    case SeenEvent::Kind::subscript:
      return (is_sequence(owner) || PyDict_CheckExact(owner)) &&
             !PySlice_Check(as_object(recording.node(operands[1]).object));
    case SeenEvent::Kind::unpack:
      return is_sequence(owner) && !PyList_CheckExact(value);
    case SeenEvent::Kind::iter:
      return false;
    case SeenEvent::Kind::next:
      return Py_IS_TYPE(owner, &PyListIter_Type) || Py_IS_TYPE(owner, &PyTupleIter_Type) ||
             Py_IS_TYPE(owner, &PyDictIterKey_Type);
    default:
      return false;
  }
}

NodeId PythonObjects::changed_by(const Recording& recording, const SeenEvent& call) const {
  if (const NodeId out = out_of(recording, call); out != core::kNoNode) return out;
  const SeenNode& callee = recording.node(recording.operands_of(call)[0]);
  if (callee.origin != SeenNode::Origin::event) return core::kNoNode;
  const SeenEvent& lookup = recording.events[static_cast<size_t>(callee.index)];
  if (lookup.kind != SeenEvent::Kind::attribute) return core::kNoNode;
  const NodeId owner = recording.operands_of(lookup)[0];
  PyObject* object = as_object(recording.node(owner).object);
  const char* name = PyUnicode_AsUTF8(as_object(lookup.name));
  const bool changes = name != nullptr && std::ranges::any_of(kChanging, [&](const Method& method) {
                         return Py_IS_TYPE(object, method.type) && method.name == name;
                       });
  PyErr_Clear();
  return changes ? owner : core::kNoNode;
}

}  // namespace dvm::capture
