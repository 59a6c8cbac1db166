#include "capture/numpy/errstate.h"

#include <iterator>
#include <utility>

namespace dvm::capture {

namespace {

constexpr const char* kModes[] = {"divide", "over", "under", "invalid"};

// Made at import and never let go, like the module itself.
PyObject* g_variable;                  // numpy._core.umath._extobj_contextvar
PyObject* g_make;                      // numpy._core.umath._make_extobj
PyObject* g_read;                      // numpy._core.umath._get_extobj_dict
PyObject* g_empty_tuple;               // ()
PyObject* g_modes[std::size(kModes)];  // kModes, as keys
PyObject* g_raise;                     // "raise"

// What is known of the state met last: its modes, and the state that raises instead.
struct KnownState {
  Ref state, modes, raising;
};
KnownState& known_state() {
  static auto* instance = new KnownState();
  return *instance;
}

Ref raising_state(PyObject* settings) {
  Ref arguments = Ref::steal(PyDict_New());
  if (!arguments) return {};
  for (PyObject* name : g_modes) {
    PyObject* mode = PyDict_GetItemWithError(settings, name);
    const bool ignored = mode && PyUnicode_CompareWithASCIIString(mode, "ignore") == 0;
    if (PyDict_SetItem(arguments.get(), name, ignored ? mode : g_raise) < 0) return {};
  }
  return Ref::steal(PyObject_Call(g_make, g_empty_tuple, arguments.get()));
}

// Reads the present state into known_state(); false: a Python error is set.
bool read_state() {
  PyObject* state = nullptr;
  if (PyContextVar_Get(g_variable, nullptr, &state) < 0) return false;
  Ref held = Ref::steal(state);
  if (state == known_state().state.get()) return true;
  Ref settings = Ref::steal(PyObject_CallNoArgs(g_read));
  Ref modes = Ref::steal(PyTuple_New(std::size(kModes)));
  if (!settings || !modes) return false;
  for (size_t i = 0; i < std::size(kModes); ++i) {
    PyObject* mode = Py_XNewRef(PyDict_GetItemWithError(settings.get(), g_modes[i]));
    if (mode == nullptr) {
      if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, g_modes[i]);
      return false;
    }
    PyUnicode_InternInPlace(&mode);
    PyTuple_SET_ITEM(modes.get(), static_cast<Py_ssize_t>(i), mode);
  }
  Ref raising = raising_state(settings.get());
  if (!raising) return false;
  known_state() = {held, modes, raising};
  return true;
}

}  // namespace

bool import_errstate() {
  Ref umath = Ref::steal(PyImport_ImportModule("numpy._core.umath"));
  if (!umath) return false;
  g_variable = PyObject_GetAttrString(umath.get(), "_extobj_contextvar");
  g_make = PyObject_GetAttrString(umath.get(), "_make_extobj");
  g_read = PyObject_GetAttrString(umath.get(), "_get_extobj_dict");
  g_empty_tuple = PyTuple_New(0);
  g_raise = PyUnicode_InternFromString("raise");
  for (size_t i = 0; i < std::size(kModes); ++i) {
    g_modes[i] = PyUnicode_InternFromString(kModes[i]);
    if (g_modes[i] == nullptr) return false;
  }
  return g_variable && g_make && g_read && g_empty_tuple && g_raise;
}

PyObject* error_modes() { return read_state() ? known_state().modes.get() : nullptr; }

bool raise_errors() {
  return static_cast<bool>(Ref::steal(PyContextVar_Set(g_variable, known_state().raising.get())));
}

}  // namespace dvm::capture
