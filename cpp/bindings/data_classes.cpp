#include "bindings/data_classes.h"

#include "capture/replay/signature.h"
#include "core/error.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

// "a Tree: Leaf or Node"
std::string described(const core::DataType& type) {
  std::string text = "a " + type.name;
  for (size_t k = 0; k < type.constructors.size(); ++k) {
    text += (k == 0 ? ": " : " or ") + type.constructors[k].name;
  }
  return text;
}

py::object named_tuple(const core::Constructor& constructor) {
  return py::module_::import("collections")
      .attr("namedtuple")(constructor.name, py::cast(constructor.fields));
}

}  // namespace

DataClasses::DataClasses(std::span<const core::DataType> types,
                         const std::map<std::string, py::object>& given)
    : types_(types) {
  for (const core::DataType& type : types) {
    std::vector<Class>& classes = classes_.emplace_back();
    for (const core::Constructor& constructor : type.constructors) {
      const auto found = given.find(constructor.name);
      Class made{found == given.end() ? named_tuple(constructor) : found->second, {}};
      if (!PyType_Check(made.type.ptr())) {
        throw py::type_error("`types` has for " + constructor.name + " what is no class");
      }
      for (const std::string& field : constructor.fields) {
        made.fields.push_back(
            py::reinterpret_steal<py::object>(PyUnicode_InternFromString(field.c_str())));
      }
      classes.push_back(std::move(made));
    }
  }
}

int DataClasses::tag(const core::DataType& type, py::handle object) const {
  const std::vector<Class>& classes = of(type);
  for (size_t k = 0; k < classes.size(); ++k) {
    if (Py_TYPE(object.ptr()) == reinterpret_cast<PyTypeObject*>(classes[k].type.ptr())) {
      return static_cast<int>(k);
    }
  }
  for (size_t k = 0; k < classes.size(); ++k) {
    auto* const of_class = reinterpret_cast<PyTypeObject*>(classes[k].type.ptr());
    if (PyType_IsSubtype(Py_TYPE(object.ptr()), of_class)) return static_cast<int>(k);
  }
  return -1;
}

int DataClasses::tag_given(const core::DataType& type, py::handle object) const {
  const int found = tag(type, object);
  if (found < 0) {
    core::fail(core::ErrorCode::wrong_arguments,
               "the graph takes " + described(type) + ", not " + capture::describe(object.ptr()));
  }
  return found;
}

PyObject* DataClasses::construct(const core::DataType& type, size_t constructor,
                                 const py::tuple& fields) const {
  return PyObject_CallObject(of(type)[constructor].type.ptr(), fields.ptr());
}

PyObject* DataClasses::field(const core::DataType& type, size_t constructor, py::handle object,
                             size_t index) const {
  return PyObject_GetAttr(object.ptr(), of(type)[constructor].fields[index].ptr());
}

py::dict DataClasses::by_name() const {
  py::dict classes;
  for (size_t t = 0; t < types_.size(); ++t) {
    for (size_t k = 0; k < types_[t].constructors.size(); ++k) {
      classes[py::str(types_[t].constructors[k].name)] = classes_[t][k].type;
    }
  }
  return classes;
}

}  // namespace dvm::bindings
