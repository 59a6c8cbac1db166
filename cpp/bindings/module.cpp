// The extension module dvm._dvm. pybind11 serves the cold paths only; a call of a compiled function
// goes through the raw type in compiled_type.cpp.
#include "bindings/bindings.h"
#include "bindings/compiled_type.h"
#include "bindings/errors.h"
#include "capture/numpy/numpy_library.h"
#include "capture/record/recorder.h"
#include "capture/replaced_builtins.h"
#include "capture/replay/raising_warnings.h"

namespace py = pybind11;

// pybind11 and NumPy share what they know with the main interpreter and wait for its lock: within
// another one the import would never end. So what pybind11 defines is not what CPython calls.
#define PyInit__dvm init_of_main_interpreter
PYBIND11_MODULE(_dvm, module) {
  using namespace dvm;
  module.doc() = "Native core of dvm; use the package dvm, not this module.";
  module.attr("__version__") = DVM_VERSION;
  module.attr("can_capture") = capture::kCanRecord;
  if (!capture::import_warnings() || !capture::import_numpy() || !capture::note_builtins()) {
    throw py::error_already_set();
  }
  PyObject* compiled = bindings::make_compiled_type();
  if (compiled == nullptr) throw py::error_already_set();
  module.attr("Compiled") = py::reinterpret_steal<py::object>(compiled);
  bindings::bind_errors(module);
  bindings::bind_graph(module);
  bindings::bind_passes(module);
  bindings::bind_compiled_graph(module);
  bindings::bind_saved_graph(module);
  bindings::bind_compiled(module);
  bindings::bind_loop(module);
  bindings::bind_costs(module);
  bindings::bind_memory(module);
  bindings::bind_profile(module);
  bindings::bind_timing(module);
  bindings::bind_tuning(module);
  bindings::bind_recording(module);
  bindings::bind_torch_graph(module);
  bindings::bind_lazy(module);
  bindings::bind_tools(module);
  bindings::bind_policies(module);
}
#undef PyInit__dvm

// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the name is CPython's
extern "C" PYBIND11_EXPORT PyObject* PyInit__dvm() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return init_of_main_interpreter();
  PyErr_SetString(PyExc_ImportError, "dvm works in the main interpreter only, not in others");
  return nullptr;
}
