#include "bindings/compiled_type.h"

#include <structmember.h>

#include "bindings/errors.h"
#include "capture/replay/interrupted.h"

namespace dvm::bindings {

namespace {

struct Compiled {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weakrefs;
  capture::CompiledFunction* function;
};

PyTypeObject* g_type = nullptr;

Compiled* cast(PyObject* object) { return reinterpret_cast<Compiled*>(object); }

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  try {
    return cast(self)->function->call(self, args, nargsf, keywords);
  } catch (const std::exception& error) {
    return raise(error);
  }
}

// As a plain function would: a method when looked up on an instance.
PyObject* bind_method(PyObject* self, PyObject* instance, PyObject*) {
  return instance == nullptr || instance == Py_None ? Py_NewRef(self)
                                                    : PyMethod_New(self, instance);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(cast(self)->dict);
  return cast(self)->function ? cast(self)->function->traverse(visit, arg) : 0;
}

// Destructors that run while a cycle is taken apart may still call it.
int clear(PyObject* self) {
  Py_CLEAR(cast(self)->dict);
  if (cast(self)->function != nullptr) cast(self)->function->clear();
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (cast(self)->weakrefs) PyObject_ClearWeakRefs(self);
  Py_CLEAR(cast(self)->dict);
  delete cast(self)->function;
  type->tp_free(self);
  Py_DECREF(type);
}

// Its own, if somebody has set them, or the function's: since 3.14 found out when they are asked
// for.
PyObject* annotations(PyObject* self, void*) {
  PyObject* const own =
      cast(self)->dict ? PyDict_GetItemString(cast(self)->dict, "__annotations__") : nullptr;
  if (own != nullptr) return Py_NewRef(own);
  return PyObject_GetAttrString(cast(self)->function->function(), "__annotations__");
}

int set_annotations(PyObject* self, PyObject* value, void*) {
  const capture::Ref dict = capture::Ref::steal(PyObject_GenericGetDict(self, nullptr));
  if (!dict) return -1;
  return value != nullptr ? PyDict_SetItemString(dict.get(), "__annotations__", value)
                          : PyDict_DelItemString(dict.get(), "__annotations__");
}

PyObject* wrapped(PyObject* self, void*) { return Py_NewRef(cast(self)->function->function()); }

PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Compiled, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Compiled, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Compiled, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef g_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"__annotations__", annotations, set_annotations, nullptr, nullptr},
    {"__wrapped__", wrapped, nullptr, "The function as the user wrote it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot g_slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                         {Py_tp_members, g_members},
                         {Py_tp_getset, g_getset},
                         {0, nullptr}};

PyType_Spec g_spec = {"dvm.Compiled", sizeof(Compiled), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      g_slots};

}  // namespace

PyObject* make_compiled_type() {
  if (!capture::prepare_interruptions()) return nullptr;
  PyObject* type = PyType_FromSpec(&g_spec);
  g_type = reinterpret_cast<PyTypeObject*>(type);
  return type;
}

PyObject* new_compiled(PyObject* function, capture::CompiledFunction::Lower lower) {
  if (!PyFunction_Check(function)) {
    PyErr_Format(PyExc_TypeError, "dvm.compile needs a Python function, not %R",
                 reinterpret_cast<PyObject*>(Py_TYPE(function)));
    return nullptr;
  }
  PyObject* self = g_type->tp_alloc(g_type, 0);
  if (self == nullptr) return nullptr;
  cast(self)->vectorcall = call;
  cast(self)->function =
      new capture::CompiledFunction(reinterpret_cast<PyFunctionObject*>(function), lower);
  return self;
}

bool is_compiled(PyObject* object) { return Py_IS_TYPE(object, g_type); }

capture::CompiledFunction& compiled_of(PyObject* object) { return *cast(object)->function; }

}  // namespace dvm::bindings
