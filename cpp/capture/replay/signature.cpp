#include "capture/replay/signature.h"

namespace dvm::capture {

namespace {

Signature tagged(Argument argument, uint64_t rest) {
  return static_cast<uint64_t>(argument) | rest << 8;
}

Signature tagged(Argument argument, const void* address) {
  return tagged(argument, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address)));
}

bool is_identity_object(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || object == Py_Ellipsis ||
         PyUnicode_CheckExact(object) || PyType_Check(object);
}

// rank | layout | axes, three bits each | repeated axes, one bit each | overlapping.
uint64_t order_bits(PyArrayObject* array) {
  const int rank = PyArray_NDIM(array);
  const auto bits = static_cast<uint64_t>(rank);
  if (is_in_c_order(array)) return bits;
  const AxisOrder order = layout_of(array);
  if (order.layout == Layout::c_contiguous) return bits;
  uint64_t axes = 0;
  for (int i = 0; i < rank; ++i) {
    axes |= static_cast<uint64_t>(order.axes[static_cast<size_t>(i)]) << (3 * i);
  }
  return bits | static_cast<uint64_t>(order.layout) << 4 | axes << 8 |
         static_cast<uint64_t>(order.repeated) << 32 |
         static_cast<uint64_t>(order.overlapping) << 40;
}

AxisOrder order_of(Signature word) {
  AxisOrder order;
  order.layout = layout_of(word);
  order.repeated = static_cast<uint8_t>(word >> 48);
  order.overlapping = (word >> 56 & 1) != 0;
  for (size_t i = 0; i < core::kMaxRank; ++i) {
    order.axes[i] = order.layout == Layout::c_contiguous
                        ? static_cast<int8_t>(i)
                        : static_cast<int8_t>(word >> (24 + 3 * i) & 7);
  }
  return order;
}

// Rank, alignment and contiguity are all a host function's result may depend on.
Signature foreign_signature(PyArrayObject* array) {
  return tagged(
      Argument::foreign,
      static_cast<uint64_t>(PyArray_NDIM(array)) |
          static_cast<uint64_t>(PyArray_FLAGS(array) & (NPY_ARRAY_C_CONTIGUOUS |
                                                        NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED))
              << 8);
}

}  // namespace

Signature signature_of(PyObject* object) {
  if (PyArray_CheckExact(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    const auto dtype = dtype_of(array);
    if (!dtype || PyArray_NDIM(array) > core::kMaxRank) return foreign_signature(array);
    return tagged(Argument::array, static_cast<uint64_t>(*dtype) | order_bits(array) << 8);
  }
  if (PyFloat_CheckExact(object)) return tagged(Argument::floating, uint64_t{0});
  if (PyLong_CheckExact(object)) return tagged(Argument::integer, uint64_t{0});
  if (is_identity_object(object)) return tagged(Argument::object, object);
  if (PyArray_Check(object)) return foreign_signature(reinterpret_cast<PyArrayObject*>(object));
  return tagged(Argument::other, Py_TYPE(object));
}

SignatureGuard SignatureGuard::of(PyObject* example) {
  SignatureGuard guard;
  guard.word = signature_of(example);
  const Argument argument = argument_of(guard.word);
  if (argument == Argument::object) guard.type = Ref::borrow(example);
  if (argument == Argument::other || argument == Argument::foreign) {
    guard.type = Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(example)));
  }
  if (argument == Argument::foreign) {
    auto* array = reinterpret_cast<PyArrayObject*>(example);
    guard.descr = Ref::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
  }
  return guard;
}

bool SignatureGuard::same_foreign(PyObject* object) const {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  auto* expected = reinterpret_cast<PyArray_Descr*>(descr.get());
  return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type.get() &&
         (PyArray_DESCR(array) == expected || PyArray_EquivTypes(PyArray_DESCR(array), expected));
}

bool SignatureGuard::admits(PyObject* object) const {
  const Signature now = signature_of(object);
  if (now == word) return true;
  return argument_of(word) == Argument::array && argument_of(now) == Argument::array &&
         dtype_of(now) == dtype_of(word) && rank_of(now) == rank_of(word) &&
         lies_in(reinterpret_cast<PyArrayObject*>(object), order_of(word));
}

bool SignatureGuard::operator==(const SignatureGuard& other) const {
  return word == other.word && type.get() == other.type.get() && descr.get() == other.descr.get();
}

std::string describe(PyObject* object) {
  if (PyArray_CheckExact(object)) {
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (argument_of(signature_of(object)) == Argument::foreign) {
      return std::string(PyArray_DESCR(array)->typeobj->tp_name) + " array of rank " +
             std::to_string(PyArray_NDIM(array)) +
             (PyArray_ISBEHAVED_RO(array) ? "" : ", byte-swapped or misaligned");
    }
    return describe(SignatureGuard::of(object));
  }
  return std::string(PyArray_Check(object) ? "ndarray subclass " : "object of type ") +
         Py_TYPE(object)->tp_name;
}

std::string describe(const SignatureGuard& guard) {
  const Signature word = guard.word;
  const auto type = [&] { return reinterpret_cast<PyTypeObject*>(guard.type.get())->tp_name; };
  switch (argument_of(word)) {
    case Argument::array:
      return std::string(numpy_name(dtype_of(word))) + " array of rank " +
             std::to_string(rank_of(word)) + ", " + to_string(layout_of(word));
    case Argument::foreign:
      return std::string(type()) + " of " +
             reinterpret_cast<PyArray_Descr*>(guard.descr.get())->typeobj->tp_name;
    case Argument::floating:
      return "float";
    case Argument::integer:
      return "int";
    case Argument::object:
      return std::string("one object of type ") + Py_TYPE(guard.type.get())->tp_name;
    case Argument::other:
      return std::string("object of type ") + type();
  }
  __builtin_unreachable();
}

}  // namespace dvm::capture
