// Graphs in files, for dvm.load; CompiledGraph saves them.
#include <pybind11/stl.h>

#include <memory>

#include "bindings/bindings.h"
#include "capture/numpy/numpy_api.h"
#include "core/error.h"
#include "core/file/file_access.h"
#include "core/file/saved_graph.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using Keep = std::shared_ptr<const void>;

// The elements where the file is mapped, as an array that nobody can write to.
py::object array_over(const core::TensorData& tensor) {
  PyArray_Descr* const descr = capture::descr_of(tensor.dtype);
  Py_INCREF(descr);
  auto* const array = reinterpret_cast<PyArrayObject*>(PyArray_NewFromDescr(
      &PyArray_Type, descr, static_cast<int>(tensor.shape.size()), tensor.shape.data(),
      tensor.strides.data(), const_cast<std::byte*>(tensor.data), 0, nullptr));
  if (array == nullptr) throw py::error_already_set();
  auto made = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(array));
  auto keep = std::make_unique<Keep>(tensor.keep);
  py::capsule owner(keep.get(), [](void* kept) { delete static_cast<Keep*>(kept); });
  static_cast<void>(keep.release());
  if (PyArray_SetBaseObject(array, owner.release().ptr()) < 0) throw py::error_already_set();
  return made;
}

py::tuple open_graph(const std::string& path, const std::string& name, bool check) {
  const auto file = std::make_shared<core::MappedFile>(path);
  core::SavedGraph saved = [&] {
    const py::gil_scoped_release released;
    return core::read_graph(file->bytes(), file, name, check);
  }();
  py::dict constants;
  for (const core::Node& node : saved.module.main.nodes()) {
    if (!node.attrs.name.empty()) {
      constants[py::str(node.attrs.name)] = array_over(*node.attrs.values);
    }
  }
  py::list sections;
  for (const core::Section& section : saved.sections) {
    sections.append(
        py::make_tuple(std::string(to_string(section.kind)), section.offset, section.size));
  }
  py::list checks;
  for (const auto& [left, compare, right] : saved.settings.checks) {
    checks.append(py::make_tuple(left, compare, right));
  }
  const auto& [target, numerics, precision, off, _, inputs, results] = saved.settings;
  py::dict settings(py::arg("target") = target, py::arg("numerics") = numerics,
                    py::arg("precision") = precision, py::arg("off") = off,
                    py::arg("checks") = checks, py::arg("inputs") = inputs,
                    py::arg("results") = results);
  return py::make_tuple(std::move(settings), std::move(saved.module), std::move(constants),
                        std::move(sections));
}

}  // namespace

void bind_saved_graph(py::module_& module) {
  module.def("open_graph", &open_graph, py::arg("path"), py::arg("name"), py::arg("check"));
}

}  // namespace dvm::bindings
