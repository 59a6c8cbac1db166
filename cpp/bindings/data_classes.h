// Python classes as the constructors of a Plan's data types: an object is an instance, its fields
// are attributes.
#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/graph/module.h"
#include "runtime/host.h"

namespace dvm::bindings {

class DataClasses {
 public:
  // `given`: classes by the names of constructors, called with the fields in their order. In place
  // of those that are missing there are named tuples. Throws TypeError for what is no class.
  DataClasses(std::span<const core::DataType> types,
              const std::map<std::string, pybind11::object>& given);

  // Which of the type's constructors made the object; -1: none did.
  int tag(const core::DataType& type, pybind11::handle object) const;
  // The same; throws ShapeError where none did.
  int tag_given(const core::DataType& type, pybind11::handle object) const;
  // New references; null: a Python error is set.
  PyObject* construct(const core::DataType& type, size_t constructor,
                      const pybind11::tuple& fields) const;
  PyObject* field(const core::DataType& type, size_t constructor, pybind11::handle object,
                  size_t index) const;
  pybind11::dict by_name() const;

 private:
  struct Class {
    pybind11::object type;
    std::vector<pybind11::object> fields;  // names, interned
  };
  // The type is one of those that this was made for.
  const std::vector<Class>& of(const core::DataType& type) const {
    return classes_[static_cast<size_t>(&type - types_.data())];
  }

  std::span<const core::DataType> types_;
  std::vector<std::vector<Class>> classes_;  // of each type
};

}  // namespace dvm::bindings
