// What recording an operation takes: its operands read, and nodes added.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "bindings/lazy/flush.h"
#include "bindings/lazy/record.h"
#include "capture/numpy/numpy_api.h"

namespace dvm::bindings::lazy {

// Halves are NumPy's: a graph rounds them once per kernel, NumPy after each operation.
inline bool is_for_graphs(core::DType dtype) { return !core::is_half(dtype); }

enum class Weak : uint8_t { none, boolean, integer, floating };

// An operand of an operation that is about to be recorded.
struct Operand {
  Array* array = nullptr;  // none: a number of Python's
  Weak weak = Weak::none;
  core::DType dtype = core::DType::f64;
  int rank = 0;
  const int64_t* shape = nullptr;
  core::Scalar number;  // of weak ones: an int or a float as they say
};

class Recording {
 public:
  Recording() : buffer_(Buffer::of_this_thread()) {}

  // What is pending of `given` is so in this buffer from then on. False: a Python error is set.
  bool begin(std::span<PyObject* const> given) {
    if (buffer_.is_full() && !flush(buffer_, "size limit")) return false;
    // Other threads run while one waits for a value, and may need what was looked at before.
    for (bool waited = true; waited;) {
      waited = false;
      for (PyObject* object : given) {
        if (!is_array(object)) continue;
        Array* array = as_array(object);
        if (!array->is_pending() || (array->buffer == &buffer_ && array->node >= 0)) continue;
        if (value_of(array, "another thread") == nullptr) return false;
        waited = true;
      }
    }
    return true;
  }

  // False: it is for NumPy. Rank and shape of pending ones are those of their node: valid until a
  // node is added.
  bool read(PyObject* object, Operand& operand) {
    if (is_array(object)) return read_array(as_array(object), operand);
    if (PyFloat_CheckExact(object)) {
      operand.weak = Weak::floating;
      operand.number = core::Scalar::of_float(PyFloat_AS_DOUBLE(object));
      return true;
    }
    if (PyBool_Check(object)) {
      operand.weak = Weak::boolean;
      operand.number = core::Scalar::of_int(object == Py_True ? 1 : 0);
      return true;
    }
    if (PyLong_CheckExact(object)) {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
      operand.weak = Weak::integer;
      operand.number = core::Scalar::of_int(value);
      return overflow == 0;
    }
    return false;
  }

  // The node of an operand, a number as one of that dtype.
  int32_t node_of(const Operand& operand, core::DType dtype) {
    if (operand.array == nullptr) {
      Node node{.form = {.kind = Kind::number, .dtype = dtype}, .number = operand.number};
      if (core::is_floating(dtype) && operand.weak != Weak::floating) {
        node.number = core::Scalar::of_float(static_cast<double>(operand.number.as_int()));
      }
      return buffer_.add(node);
    }
    Array* array = operand.array;
    if (array->is_pending()) return array->node;
    const int32_t hint = array->buffer == &buffer_ ? array->node : -1;
    const int32_t leaf = buffer_.leaf(array->value, operand.dtype, hint);
    array->buffer = &buffer_;
    array->node = leaf;
    return leaf;
  }

  // The array that is the node's value. Its object is made before the node is.
  PyObject* add(const Node& node, PyObject* made) {
    Array* array = as_array(made);
    array->buffer = &buffer_;
    array->node = buffer_.add(node);
    buffer_[array->node].owner = array;
    return made;
  }
  // One that no array of the program's is.
  int32_t add_within(const Node& node) { return buffer_.add(node); }
  static PyObject* new_array() { return g_array_type->tp_alloc(g_array_type, 0); }

 private:
  bool read_array(Array* array, Operand& operand) {
    operand.array = array;
    if (array->is_pending()) {
      const Node& made = buffer_[array->node];
      operand.dtype = made.form.dtype;
      operand.rank = made.rank;
      operand.shape = made.shape;
      return true;
    }
    auto* value = reinterpret_cast<PyArrayObject*>(array->value);
    const std::optional<core::DType> dtype = capture::dtype_of(value);
    if (!dtype || !is_for_graphs(*dtype) || PyArray_NDIM(value) > core::kMaxRank) return false;
    operand.dtype = *dtype;
    operand.rank = PyArray_NDIM(value);
    operand.shape = PyArray_DIMS(value);
    return true;
  }

  Buffer& buffer_;
};

// What the registered function makes of it. `keywords` may be null.
PyObject* through_numpy(std::string_view name, std::span<PyObject* const> operands,
                        PyObject* keywords = nullptr);

}  // namespace dvm::bindings::lazy
