// Operations as nodes. What is no graph's to compute, or an error, is NumPy's: the function that
// was registered is called with the name of NumPy's function and what the program gave.
#pragma once

#include <span>
#include <string_view>

#include "bindings/lazy/buffer.h"
#include "capture/numpy/numpy_api.h"

namespace dvm::bindings::lazy {

bool import_promotions();  // false: a Python error is set
// The class of arrays, made by array_type.cpp, and a function (name, arguments, keywords).
extern PyTypeObject* g_array_type;
extern PyObject* g_through_numpy;

inline bool is_array(PyObject* object) { return Py_IS_TYPE(object, g_array_type); }
inline Array* as_array(PyObject* object) { return reinterpret_cast<Array*>(object); }

// All of these give a new reference; null: a Python error is set.
PyObject* wrap(PyObject* value);  // an array of NumPy's, which is borrowed
PyObject* elementwise(core::Op op, std::span<PyObject* const> operands);
PyObject* reduce(core::Op op, PyObject* a, PyObject* axes, bool keeps, bool mean);
PyObject* product(PyObject* a, PyObject* b);
// None where that is NumPy's.
PyObject* cast(PyObject* a, core::DType dtype);
// Likewise, of pending arrays alone: NumPy's views of values are for nothing.
PyObject* permute(PyObject* a, uint32_t axes);
PyObject* scan(core::Op op, PyObject* a, int axis);            // running results of a binary op
PyObject* concat(std::span<PyObject* const> given, int axis);  // one of them is pending at least
PyObject* part(PyObject* a, PyObject* key);                    // of slices, ints, new axes and dots
PyObject* reshape(PyObject* a, std::span<const int64_t> shape);  // one size may be -1

// What NumPy calls the op, "" if nothing.
std::string_view numpy_name_of(core::Op op);
// Of either kind of array; shape_of has as many sizes as rank_of says.
int rank_of(const Array* array);
const int64_t* shape_of(const Array* array);
PyArray_Descr* descr_of(const Array* array);  // borrowed

}  // namespace dvm::bindings::lazy
