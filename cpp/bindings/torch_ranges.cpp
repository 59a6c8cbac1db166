#include "bindings/torch_ranges.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

// References that are never given back.
struct Profiler {
  PyObject *variables = nullptr, *is_on = nullptr, *record_function = nullptr;
};
Profiler g_profiler;

}  // namespace

void use_profiler(const py::module_& module, const py::object& record_function) {
  g_profiler = {py::object(module.attr("__dict__")).release().ptr(),
                PyUnicode_InternFromString("_is_profiler_enabled"),
                py::object(record_function).release().ptr()};
}

ProfiledRange::ProfiledRange(const std::string& label) {
  if (PyDict_GetItem(g_profiler.variables, g_profiler.is_on) != Py_True) return;
  range_ = py::reinterpret_borrow<py::object>(g_profiler.record_function)(label);
  range_.attr("__enter__")();
}

ProfiledRange::~ProfiledRange() {
  if (!range_) return;
  try {
    range_.attr("__exit__")(py::none(), py::none(), py::none());
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("a range of dvm in torch's profiler");
  }
}

}  // namespace dvm::bindings
