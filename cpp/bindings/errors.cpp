#include "bindings/errors.h"

#include <cerrno>
#include <map>
#include <string>

#include "core/error.h"
#include "core/file/file_access.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

// Class name -> exception class; owned by the module, which is never unloaded.
std::map<std::string, PyObject*, std::less<>>& classes() {
  static auto* map = new std::map<std::string, PyObject*, std::less<>>();
  return *map;
}

constexpr const char* kBaseDoc =
    "Base of dvm's own errors. Attributes: code (stable, e.g. 'DVM-S001'), hint, location.";

PyObject* raise_error(const core::Error& error) {
  const core::ErrorInfo& info = core::error_info(error.code());
  py::object type =
      py::reinterpret_borrow<py::object>(classes().at(std::string(info.python_class)));
  py::object instance = type(error.what());
  instance.attr("code") = std::string(info.code);
  instance.attr("hint") = std::string(info.hint);
  instance.attr("location") = core::to_string(error.loc());
  PyErr_SetObject(type.ptr(), instance.ptr());
  return nullptr;
}

// The OSError of that number: FileNotFoundError and so on.
void raise_refused(const core::FileAccessError& error) {
  const auto path = py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefaultAndSize(
      error.path().data(), static_cast<Py_ssize_t>(error.path().size())));
  errno = error.code().value();
  PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path.ptr());
}

}  // namespace

PyObject* raise(const std::exception& error) {
  if (auto* ours = dynamic_cast<const core::Error*>(&error)) return raise_error(*ours);
  if (dynamic_cast<const std::bad_alloc*>(&error)) return PyErr_NoMemory();
  // What Python raised within, such as an interruption of a pass, goes on as it is.
  if (auto* raised = dynamic_cast<const py::error_already_set*>(&error)) {
    PyErr_Restore(py::object(raised->type()).release().ptr(),
                  py::object(raised->value()).release().ptr(),
                  py::object(raised->trace()).release().ptr());
    return nullptr;
  }
  PyErr_SetString(PyExc_RuntimeError, error.what());
  return nullptr;
}

void bind_errors(py::module_& module) {
  PyObject* base = PyErr_NewExceptionWithDoc("dvm.Error", kBaseDoc, nullptr, nullptr);
  if (base == nullptr) throw py::error_already_set();
  module.attr("Error") = py::handle(base);
  py::list table;
  for (int i = 0; i < core::error_count(); ++i) {
    const core::ErrorInfo& info = core::error_info(static_cast<core::ErrorCode>(i));
    const std::string name(info.python_class);
    PyObject*& type = classes()[name];
    if (type == nullptr) {
      type = PyErr_NewException(("dvm." + name).c_str(), base, nullptr);
      if (type == nullptr) throw py::error_already_set();
      module.attr(name.c_str()) = py::handle(type);
    }
    table.append(py::make_tuple(std::string(info.code), name, std::string(info.name),
                                std::string(info.hint)));
  }
  module.attr("error_table") = table;
  // NOLINTNEXTLINE(performance-unnecessary-value-param): the signature is pybind11's
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const core::Error& error) {
      raise_error(error);
    } catch (const core::FileAccessError& error) {
      raise_refused(error);
    }
  });
}

}  // namespace dvm::bindings
