#include "capture/replay/raising_warnings.h"

#include "capture/in_flight.h"

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

// What a list held when it was met last, and what it holds while a replay is entered.
struct KnownFilters {
  Ref program, raising;
};
KnownFilters& known_filters() {
  static auto* instance = new KnownFilters();
  return *instance;
}

bool is_ours(PyObject* filter) {
  return PyTuple_Check(filter) && PyTuple_GET_SIZE(filter) == 5 &&
         Py_IS_TYPE(PyTuple_GET_ITEM(filter, 1), g_pattern_type);
}

bool same_items(PyObject* a, PyObject* b) {
  const Py_ssize_t size = PyList_GET_SIZE(a);
  for (Py_ssize_t i = 0; i < size && size == PyList_GET_SIZE(b); ++i) {
    if (PyList_GET_ITEM(a, i) != PyList_GET_ITEM(b, i)) return false;
  }
  return size == PyList_GET_SIZE(b);
}

bool replace_items(PyObject* list, PyObject* by) {
  return PyList_SetSlice(list, 0, PyList_GET_SIZE(list), by) == 0;
}

// Borrowed; null: the program has deleted them.
PyObject* present_filters() {
  static PyObject* const name = PyUnicode_InternFromString("filters");
  return PyDict_GetItemWithError(PyModule_GetDict(g_module), name);
}

// The filters but for ours.
Ref program_filters(PyObject* filters) {
  Ref list = Ref::steal(PyList_New(0));
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(filters); ++i) {
    PyObject* filter = PyList_GET_ITEM(filters, i);
    if (!is_ours(filter) && !append(list, Py_NewRef(filter))) return {};
  }
  return list;
}

// Puts ours among the filters, in the list itself: what other threads add to it stays.
bool add_ours(PyObject* filters) {
  KnownFilters& known = known_filters();
  if (known.raising && same_items(filters, known.raising.get())) return true;
  if (!known.program || !same_items(filters, known.program.get())) {
    Ref program = program_filters(filters);
    Ref raising = program ? raising_filters(program.get()) : Ref();
    if (!raising) return false;
    known = {program, raising};
  }
  return replace_items(filters, known.raising.get());
}

bool remove_ours(PyObject* filters) {
  const KnownFilters known = known_filters();
  if (known.raising && same_items(filters, known.raising.get())) {
    return replace_items(filters, known.program.get());
  }
  const Ref program = program_filters(filters);
  return program && (same_items(filters, program.get()) || replace_items(filters, program.get()));
}

// The program may have put another list there than `entered`, or a copy of the one that holds ours.
void remove_ours_from(const Ref& entered) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref present = Ref::borrow(present_filters());
  if (entered) remove_ours(entered.get());
  if (present && present.get() != entered.get() && PyList_CheckExact(present.get())) {
    remove_ours(present.get());
  }
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

InFlight g_replays;  // of all threads that are entered

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

bool ignores_runtime_warnings() {
  PyObject* const filters = present_filters();
  if (filters == nullptr || !PyList_CheckExact(filters)) return PyErr_Clear(), false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); ++i) {
    PyObject* filter = PyList_GET_ITEM(filters, i);
    if (!PyTuple_Check(filter) || PyTuple_GET_SIZE(filter) != 5) return false;
    PyObject* const category = PyTuple_GET_ITEM(filter, 2);
    if (!PyType_Check(category)) return false;
    auto* const warning = reinterpret_cast<PyTypeObject*>(PyExc_RuntimeWarning);
    if (!PyType_IsSubtype(warning, reinterpret_cast<PyTypeObject*>(category))) continue;
    PyObject* const line = PyTuple_GET_ITEM(filter, 4);
    return PyTuple_GET_ITEM(filter, 1) == Py_None && PyTuple_GET_ITEM(filter, 3) == Py_None &&
           PyLong_CheckExact(line) && PyLong_AsLong(line) == 0 &&
           is_text(PyTuple_GET_ITEM(filter, 0), "ignore");
  }
  return false;
}

bool RaisingWarnings::enter() {
  const Ref filters = Ref::borrow(present_filters());
  if (!filters) return PyErr_SetString(PyExc_AttributeError, "warnings.filters"), false;
  if (PyList_CheckExact(filters.get())) {
    if (!add_ours(filters.get())) return false;
    filters_ = filters;
  }
  g_replays.begin();
  ++g_entered;
  return true;
}

void RaisingWarnings::leave() {
  --g_entered;
  g_replays.end();
  const Ref entered = std::exchange(filters_, {});
  if (!g_replays.any()) remove_ours_from(entered);
}

void leave_warnings_after_fork() {
  if (!g_replays.any()) remove_ours_from({});
}

}  // namespace dvm::capture
