#include "capture/record/callees.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "capture/record/leaves.h"
#include "capture/record/special_methods.h"

namespace dvm::capture {

namespace {

using Kind = core::SeenEvent::Kind;

// By name, for their types are private to other modules; a class made in Python has no dot in it.
bool is_partial(PyObject* callee) {
  return std::strcmp(Py_TYPE(callee)->tp_name, "functools.partial") == 0;
}

// The attribute behind which a C wrapper keeps the function that it calls with its own arguments.
const char* wrapped_attribute(PyObject* callee) {
  const char* type = Py_TYPE(callee)->tp_name;
  if (std::strcmp(type, "numpy._ArrayFunctionDispatcher") == 0) return "_implementation";
  if (std::strcmp(type, "dvm.Compiled") == 0) return "__wrapped__";
  return nullptr;
}

// An attribute of one of the types above, which runs no code of the user. May be null.
Ref attribute(PyObject* object, const char* name) {
  Ref value = Ref::steal(PyObject_GetAttrString(object, name));
  if (!value) PyErr_Clear();
  return value;
}

// What a builtin function or type asks of its argument, or null.
const char* method_asked_by(PyObject* callee) {
  if (PyCFunction_Check(callee)) {
    return method_behind(reinterpret_cast<PyCFunctionObject*>(callee)->m_ml->ml_name);
  }
  if (!PyType_Check(callee)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(callee);
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? nullptr : method_behind(type->tp_name);
}

// Whether `__new__` makes an empty object, whatever its arguments are.
bool makes_empty(PyTypeObject* type) {
  const std::array owners = {&PyBaseObject_Type, &PyDict_Type, &PyList_Type};
  return std::ranges::any_of(owners, [type](PyTypeObject* owner) {  // others have the same tp_new
    return type->tp_new == owner->tp_new && PyType_IsSubtype(type, owner);
  });
}

bool is_defined_by(PyTypeObject* type, const char* name, PyObject* function) {
  PyObject* found = special_method(type, name);
  if (found == function) return true;
  if (found == nullptr || !Py_IS_TYPE(found, &PyStaticMethod_Type)) return false;
  return attribute(found, "__func__").get() == function;
}

}  // namespace

bool runs_function(PyObject* callee, PyObject* function) {
  if (is_leaf(callee)) return false;
  if (callee == function) return true;
  if (PyMethod_Check(callee)) return runs_function(PyMethod_GET_FUNCTION(callee), function);
  if (is_partial(callee)) {
    Ref inner = attribute(callee, "func");
    return inner && runs_function(inner.get(), function);
  }
  if (const char* name = wrapped_attribute(callee)) {
    return attribute(callee, name).get() == function;
  }
  if (special_method(Py_TYPE(callee), "__call__") == function) return true;
  if (!PyType_Check(callee)) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(callee);
  return is_defined_by(type, "__new__", function) || is_defined_by(type, "__init__", function);
}

bool makes_items(PyObject* dict, PyObject* function) {
  if (!PyDict_Check(dict) || PyDict_CheckExact(dict)) return false;
  PyObject* slot = special_method(Py_TYPE(dict), "default_factory");
  if (slot == nullptr || !Py_IS_TYPE(slot, &PyMemberDescr_Type)) return false;
  Ref factory = attribute(dict, "default_factory");
  return factory && runs_function(factory.get(), function);
}

bool caches_function(PyObject* callee, PyObject* function) {
  if (std::strcmp(Py_TYPE(callee)->tp_name, "functools._lru_cache_wrapper") != 0) return false;
  return !is_leaf(callee) && attribute(callee, "__wrapped__").get() == function;
}

bool Callee::find(NodeId callee) {
  return leads_to_function(record_.object(callee)) && read_arguments() &&
         follow(callee, record_.object(callee));
}

NodeId Callee::member(NodeId owner, const char* name, PyObject* object) {
  return record_.derive(Kind::attribute, interned(name), std::array{owner}, caller_.place(),
                        object);
}

NodeId Callee::element(NodeId container, PyObject* key, PyObject* object) {
  return record_.derive(Kind::subscript, words().empty,
                        std::array{container, record_.constant(key)}, caller_.place(), object);
}

bool Callee::read_arguments() {
  const core::SeenEvent event = record_.event(caller_.event());
  if (event.kind == Kind::call_ex) return read_spread_arguments();
  const auto operands = record_.data().operands_of(event).subspan(1);
  auto* names = static_cast<PyObject*>(event.keywords);
  const size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  const size_t positional = operands.size() - named;
  arguments_.positional.assign(operands.begin(),
                               operands.begin() + static_cast<ptrdiff_t>(positional));
  arguments_.named.assign(operands.begin() + static_cast<ptrdiff_t>(positional), operands.end());
  for (size_t i = 0; i < named; ++i) arguments_.names.push_back(PyTuple_GET_ITEM(names, i));
  if (caller_.method_self() != kNoNode) {
    arguments_.positional.insert(arguments_.positional.begin(), caller_.method_self());
  }
  return true;
}

// f(*a, **k): every element becomes a subscript event, so that it has a node.
bool Callee::read_spread_arguments() {
  const auto all = record_.data().operands_of(record_.event(caller_.event()));
  const std::vector<NodeId> operands(all.begin(), all.end());
  PyObject* sequence = record_.object(operands[1]);
  if (!PyTuple_CheckExact(sequence) && !PyList_CheckExact(sequence)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i) {
    Ref index = made(PyLong_FromSsize_t(i));
    arguments_.positional.push_back(
        element(operands[1], index.get(), PySequence_Fast_GET_ITEM(sequence, i)));
  }
  if (operands.size() < 3) return true;
  PyObject* mapping = record_.object(operands[2]);
  if (!PyDict_CheckExact(mapping)) return false;
  Py_ssize_t position = 0;
  PyObject *key, *value;
  while (PyDict_Next(mapping, &position, &key, &value)) {
    if (!PyUnicode_CheckExact(key)) return false;
    arguments_.names.push_back(key);
    arguments_.named.push_back(element(operands[2], key, value));
  }
  return true;
}

// On objects alone, before anything is recorded about the way there.
bool Callee::leads_to_function(PyObject* callee) const {
  if (is_leaf(callee)) return false;
  if (runs_function(callee, function_)) return true;
  const char* method = method_asked_by(callee);
  if (method == nullptr) return false;
  const core::SeenEvent& event = record_.event(caller_.event());
  const auto operands = record_.data().operands_of(event);
  return event.kind == Kind::call && operands.size() == 2 &&
         special_method(Py_TYPE(record_.object(operands[1])), method) == function_;
}

bool Callee::follow(NodeId node, PyObject* callee) {
  if (callee == function_ || wrapped_attribute(callee)) return true;
  if (PyMethod_Check(callee)) return follow_method(node, callee);
  if (is_partial(callee)) return follow_partial(node, callee);
  if (special_method(Py_TYPE(callee), "__call__") == function_) {
    arguments_.positional.insert(arguments_.positional.begin(), node);
    return true;
  }
  // What is left besides types is a builtin which asks its argument.
  if (PyType_Check(callee)) return follow_type(node, reinterpret_cast<PyTypeObject*>(callee));
  return true;
}

NodeId Callee::self_of(NodeId method, PyObject* self) {
  const core::SeenNode& node = record_.data().node(method);
  if (node.origin == core::SeenNode::Origin::event) {
    const core::SeenEvent& event = record_.event(node.index);
    if (event.kind == Kind::attribute) {
      const NodeId owner = record_.data().operands_of(event)[0];
      if (record_.object(owner) == self) return owner;
    }
  }
  return member(method, "__self__", self);
}

bool Callee::follow_method(NodeId node, PyObject* method) {
  const NodeId self = self_of(node, PyMethod_GET_SELF(method));
  arguments_.positional.insert(arguments_.positional.begin(), self);
  PyObject* inner = PyMethod_GET_FUNCTION(method);
  if (inner == function_) return true;
  return follow(member(node, "__func__", inner), inner);
}

bool Callee::follow_partial(NodeId node, PyObject* partial) {
  Ref inner = attribute(partial, "func"), first = attribute(partial, "args"),
      keywords = attribute(partial, "keywords");
  if (!inner || !first || !keywords || !PyTuple_CheckExact(first.get()) ||
      !PyDict_CheckExact(keywords.get())) {
    return false;
  }
  if (PyTuple_GET_SIZE(first.get()) > 0) {
    const NodeId tuple = member(node, "args", first.get());
    std::vector<NodeId> presets;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(first.get()); ++i) {
      Ref index = made(PyLong_FromSsize_t(i));
      presets.push_back(element(tuple, index.get(), PyTuple_GET_ITEM(first.get(), i)));
    }
    arguments_.positional.insert(arguments_.positional.begin(), presets.begin(), presets.end());
  }
  if (PyDict_GET_SIZE(keywords.get()) > 0) {
    const NodeId dict = member(node, "keywords", keywords.get());
    Arguments merged;  // those of the partial come first, the call's own replace them in place
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(keywords.get(), &position, &key, &value)) {
      merged.names.push_back(key);
      merged.named.push_back(element(dict, key, value));
    }
    for (size_t i = 0; i < arguments_.names.size(); ++i) {
      const auto same = std::ranges::find_if(merged.names, [&](PyObject* name) {
        return PyUnicode_Compare(name, arguments_.names[i]) == 0;
      });
      if (same == merged.names.end()) {
        merged.names.push_back(arguments_.names[i]);
        merged.named.push_back(arguments_.named[i]);
      } else {
        merged.named[static_cast<size_t>(same - merged.names.begin())] = arguments_.named[i];
      }
    }
    arguments_.names = std::move(merged.names);
    arguments_.named = std::move(merged.named);
  }
  return inner.get() == function_ || follow(member(node, "func", inner.get()), inner.get());
}

// type.__call__ runs __new__ and then, on what that made, __init__.
bool Callee::follow_type(NodeId node, PyTypeObject* type) {
  auto& positional = arguments_.positional;
  if (is_defined_by(type, "__new__", function_)) {
    positional.insert(positional.begin(), node);
    return true;
  }
  if (!is_defined_by(type, "__init__", function_)) return true;
  PyObject* self = parameter_slots(f_.code) > 0 ? parameter(f_, 0) : nullptr;
  instance_ = caller_.followed();
  if (instance_ == kNoNode) {
    if (self == nullptr || !Py_IS_TYPE(self, type) || !makes_empty(type)) {
      return false;
    }
    instance_ =
        record_.derive(Kind::create, words().empty, std::array{node}, caller_.place(), self);
  }
  positional.insert(positional.begin(), instance_);
  return true;
}

}  // namespace dvm::capture
