#include "capture/raising_warnings.h"

namespace dvm::capture {

namespace {

// The interpreter asks a filter's message pattern, any object, for match(text): the pattern is what
// tells one thread from another.
struct Pattern {
  PyObject_HEAD PyObject* original;  // None, a str or a compiled regular expression
};

thread_local int g_entered = 0;
PyObject* g_module;  // warnings; never let go, like the type
PyTypeObject* g_pattern_type;

PyObject* match(PyObject* self, PyObject* text) {
  PyObject* original = reinterpret_cast<Pattern*>(self)->original;
  if (g_entered == 0) Py_RETURN_FALSE;
  if (original == Py_None) Py_RETURN_TRUE;
  if (PyUnicode_CheckExact(original)) return PyObject_RichCompare(original, text, Py_EQ);
  return PyObject_CallMethod(original, "match", "O", text);
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<Pattern*>(self)->original);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef g_methods[] = {{"match", match, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot g_slots[] = {
    {Py_tp_methods, g_methods}, {Py_tp_dealloc, reinterpret_cast<void*>(destroy)}, {0, nullptr}};
PyType_Spec g_spec = {"dvm._dvm.WarningPattern", sizeof(Pattern), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, g_slots};

PyObject* pattern_of(PyObject* original) {
  PyObject* made = g_pattern_type->tp_alloc(g_pattern_type, 0);
  if (made != nullptr) reinterpret_cast<Pattern*>(made)->original = Py_NewRef(original);
  return made;
}

// (action, message, category, module, line) with the action "error" and our pattern.
PyObject* raising_filter(PyObject* message, PyObject* category, PyObject* module, PyObject* line) {
  return Py_BuildValue("(sNOOO)", "error", pattern_of(message), category, module, line);
}

bool is_text(PyObject* object, const char* text) {
  return object != nullptr && PyUnicode_Check(object) &&
         PyUnicode_CompareWithASCIIString(object, text) == 0;
}
bool is_quiet(PyObject* action) { return is_text(action, "ignore") || is_text(action, "error"); }

bool append(const Ref& list, PyObject* item) {
  const Ref held = Ref::steal(item);
  return held && PyList_Append(list.get(), item) == 0;
}

// The filters with a raising twin before each that would show something, and one at the end.
Ref raising_filters(PyObject* filters) {
  Ref list = Ref::steal(PyList_New(0));
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(filters); ++i) {
    PyObject* filter = PyList_GET_ITEM(filters, i);
    if (!PyTuple_Check(filter) || PyTuple_GET_SIZE(filter) != 5) continue;
    const auto field = [&](Py_ssize_t k) { return PyTuple_GET_ITEM(filter, k); };
    if (!is_quiet(field(0)) &&
        !append(list, raising_filter(field(1), field(2), field(3), field(4)))) {
      return {};
    }
    if (!append(list, Py_NewRef(filter))) return {};
  }
  const Ref zero = Ref::steal(PyLong_FromLong(0));
  if (!list || !zero ||
      !append(list, raising_filter(Py_None, PyExc_Warning, Py_None, zero.get()))) {
    return {};
  }
  return list;
}

// The last list met, as it was, and its raising counterpart.
struct KnownFilters {
  Ref content, raising;
};
KnownFilters& known_filters() {
  static auto* instance = new KnownFilters();
  return *instance;
}

}  // namespace

bool import_warnings() {
  g_module = PyImport_ImportModule("warnings");
  g_pattern_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&g_spec));
  return g_module != nullptr && g_pattern_type != nullptr;
}

bool warnings_may_raise() {
  PyObject* const names = PyModule_GetDict(g_module);
  PyObject* const filters = PyDict_GetItemString(names, "filters");
  if (filters == nullptr || !PyList_CheckExact(filters)) return true;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); ++i) {
    PyObject* filter = PyList_GET_ITEM(filters, i);
    if (!PyTuple_Check(filter) || PyTuple_GET_SIZE(filter) == 0) return true;
    if (is_text(PyTuple_GET_ITEM(filter, 0), "error")) return true;
  }
  return is_text(PyDict_GetItemString(names, "defaultaction"), "error") ||
         PyDict_GetItemString(names, "showwarning") !=
             PyDict_GetItemString(names, "_showwarning_orig");
}

bool RaisingWarnings::enter() {
  Ref filters = Ref::steal(PyObject_GetAttrString(g_module, "filters"));
  if (!filters) return false;
  KnownFilters& last = known_filters();
  if (PyList_CheckExact(filters.get()) && filters.get() != last.raising.get()) {
    const int same =
        last.content ? PyObject_RichCompareBool(last.content.get(), filters.get(), Py_EQ) : 0;
    if (same < 0) return false;
    if (same == 0) {
      Ref raising = raising_filters(filters.get());
      Ref content = Ref::steal(PyList_GetSlice(filters.get(), 0, PyList_GET_SIZE(filters.get())));
      if (!raising || !content) return false;
      last = {content, raising};
    }
    if (PyObject_SetAttrString(g_module, "filters", last.raising.get()) < 0) return false;
    program_ = filters;
    raising_ = last.raising;
  }
  ++g_entered;
  return true;
}

void RaisingWarnings::leave() {
  --g_entered;
  if (!program_) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  // Somebody else's list, put there meanwhile, stays.
  Ref filters = Ref::steal(PyObject_GetAttrString(g_module, "filters"));
  if (filters && filters.get() == raising_.get()) {
    if (PyObject_SetAttrString(g_module, "filters", program_.get()) < 0) PyErr_Clear();
  }
  program_ = {};
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace dvm::capture
