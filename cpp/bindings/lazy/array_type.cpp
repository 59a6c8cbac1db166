#include "bindings/lazy/array_type.h"

#include <structmember.h>

#include <algorithm>
#include <utility>

#include "bindings/lazy/flush.h"
#include "bindings/lazy/record.h"
#include "bindings/lazy/values.h"

namespace dvm::bindings::lazy {

namespace {

using capture::Ref;
using core::Op;

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Array* array = as_array(self);
  if (array->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  if (array->is_pending() && array->buffer != nullptr) array->buffer->drop_owner(array->node);
  Py_XDECREF(array->value);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* shape_tuple(PyObject* self, void*) {
  const Array* array = as_array(self);
  const int rank = rank_of(array);
  const int64_t* shape = shape_of(array);
  Ref tuple = Ref::steal(PyTuple_New(rank));
  if (!tuple) return nullptr;
  for (int d = 0; d < rank; ++d) {
    PyObject* size = PyLong_FromLongLong(shape[d]);
    if (size == nullptr) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), d, size);
  }
  return tuple.release();
}

PyObject* dtype(PyObject* self, void*) {
  return Py_NewRef(reinterpret_cast<PyObject*>(descr_of(as_array(self))));
}

PyObject* ndim(PyObject* self, void*) { return PyLong_FromLong(rank_of(as_array(self))); }

PyObject* size(PyObject* self, void*) {
  const Array* array = as_array(self);
  int64_t elements = 1;
  for (int d = 0; d < rank_of(array); ++d) elements *= shape_of(array)[d];
  return PyLong_FromLongLong(elements);
}

PyObject* is_pending(PyObject* self, void*) {
  return PyBool_FromLong(static_cast<long>(as_array(self)->is_pending()));
}

template <Op op>
PyObject* unary(PyObject* a) {
  return elementwise(op, {&a, 1});
}
template <Op op>
PyObject* binary(PyObject* a, PyObject* b) {
  PyObject* const operands[] = {a, b};
  return elementwise(op, operands);
}
// Of booleans the operator's square is of another dtype than the function's.
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  int overflow = 0;
  const bool squares = is_array(a) && descr_of(as_array(a))->type_num == NPY_BOOL &&
                       PyLong_CheckExact(b) && PyLong_AsLongAndOverflow(b, &overflow) == 2;
  return squares ? unary<Op::square>(a) : binary<Op::power>(a, b);
}

PyObject* compare(PyObject* a, PyObject* b, int how) {
  constexpr Op kOps[] = {Op::lt, Op::le, Op::eq, Op::ne, Op::gt, Op::ge};
  static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);
  PyObject* const operands[] = {a, b};
  return elementwise(kOps[how], operands);
}

// What `a op= b` makes of the object: it stands for the result from then on, whatever others of the
// program's names it has. Dtype and shape stay. Steals `made`.
PyObject* become(PyObject* self, PyObject* made) {
  Ref result = Ref::steal(made);
  if (!result) return nullptr;
  if (!is_array(result.get())) return result.release();
  Array *to = as_array(self), *from = as_array(result.get());
  const int rank = rank_of(to);
  if (rank != rank_of(from) || !std::equal(shape_of(to), shape_of(to) + rank, shape_of(from))) {
    PyErr_SetString(PyExc_ValueError, "an operation in place would change the shape of the array");
    return nullptr;
  }
  if (descr_of(to)->type_num != descr_of(from)->type_num) {
    if (!PyArray_CanCastTypeTo(descr_of(from), descr_of(to), NPY_SAME_KIND_CASTING)) {
      PyErr_Format(PyExc_TypeError, "an operation in place would change the dtype from %S to %S",
                   descr_of(to), descr_of(from));
      return nullptr;
    }
    result = Ref::steal(PyObject_CallMethod(result.get(), "__astype__", "O", descr_of(to)));
    if (!result) return nullptr;
    from = as_array(result.get());
  }
  settle(to);
  settle(from);
  std::swap(to->buffer, from->buffer);
  std::swap(to->value, from->value);
  std::swap(to->node, from->node);
  for (Array* array : {to, from}) {
    if (array->is_pending()) (*array->buffer)[array->node].owner = array;
  }
  return Py_NewRef(self);
}

template <binaryfunc F>
PyObject* in_place(PyObject* a, PyObject* b) {
  return become(a, F(a, b));
}
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject*) {
  return become(a, power(a, b, Py_None));
}

template <auto F>
PyObject* converted(PyObject* self, const char* reason) {
  PyObject* value = value_of(as_array(self), reason);
  return value == nullptr ? nullptr : F(value);
}
PyObject* as_float(PyObject* self) { return converted<PyNumber_Float>(self, "float()"); }
PyObject* as_int(PyObject* self) { return converted<PyNumber_Long>(self, "int()"); }
PyObject* as_index(PyObject* self) { return converted<PyNumber_Index>(self, "an index"); }
int as_bool(PyObject* self) {
  PyObject* value = value_of(as_array(self), "bool()");
  return value == nullptr ? -1 : PyObject_IsTrue(value);
}

Py_ssize_t length(PyObject* self) {
  const Array* array = as_array(self);
  if (rank_of(array) > 0) return static_cast<Py_ssize_t>(shape_of(array)[0]);
  PyErr_SetString(PyExc_TypeError, "len() of an array of rank 0");
  return -1;
}

PyMemberDef g_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Array, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef g_getset[] = {
    {"shape", shape_tuple, nullptr, "The sizes of the axes.", nullptr},
    {"dtype", dtype, nullptr, "The dtype, one of NumPy's.", nullptr},
    {"ndim", ndim, nullptr, "How many axes there are.", nullptr},
    {"size", size, nullptr, "How many elements there are.", nullptr},
    {"is_pending", is_pending, nullptr, "Whether its value has yet to be computed.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <typename F>
void* slot(F* function) {
  return reinterpret_cast<void*>(function);
}

PyType_Slot g_slots[] = {{Py_tp_dealloc, slot(destroy)},
                         {Py_tp_members, g_members},
                         {Py_tp_getset, g_getset},
                         {Py_tp_richcompare, slot(compare)},
                         {Py_tp_hash, slot(PyObject_HashNotImplemented)},
                         {Py_mp_length, slot(length)},
                         {Py_mp_subscript, slot(item)},
                         {Py_nb_add, slot(binary<Op::add>)},
                         {Py_nb_subtract, slot(binary<Op::sub>)},
                         {Py_nb_multiply, slot(binary<Op::mul>)},
                         {Py_nb_true_divide, slot(binary<Op::div>)},
                         {Py_nb_floor_divide, slot(binary<Op::floor_divide>)},
                         {Py_nb_remainder, slot(binary<Op::remainder>)},
                         {Py_nb_power, slot(power)},
                         {Py_nb_and, slot(binary<Op::bitwise_and>)},
                         {Py_nb_or, slot(binary<Op::bitwise_or>)},
                         {Py_nb_xor, slot(binary<Op::bitwise_xor>)},
                         {Py_nb_lshift, slot(binary<Op::left_shift>)},
                         {Py_nb_rshift, slot(binary<Op::right_shift>)},
                         {Py_nb_matrix_multiply, slot(product)},
                         {Py_nb_inplace_add, slot(in_place<binary<Op::add>>)},
                         {Py_nb_inplace_subtract, slot(in_place<binary<Op::sub>>)},
                         {Py_nb_inplace_multiply, slot(in_place<binary<Op::mul>>)},
                         {Py_nb_inplace_true_divide, slot(in_place<binary<Op::div>>)},
                         {Py_nb_inplace_floor_divide, slot(in_place<binary<Op::floor_divide>>)},
                         {Py_nb_inplace_remainder, slot(in_place<binary<Op::remainder>>)},
                         {Py_nb_inplace_power, slot(power_in_place)},
                         {Py_nb_inplace_and, slot(in_place<binary<Op::bitwise_and>>)},
                         {Py_nb_inplace_or, slot(in_place<binary<Op::bitwise_or>>)},
                         {Py_nb_inplace_xor, slot(in_place<binary<Op::bitwise_xor>>)},
                         {Py_nb_inplace_lshift, slot(in_place<binary<Op::left_shift>>)},
                         {Py_nb_inplace_rshift, slot(in_place<binary<Op::right_shift>>)},
                         {Py_nb_inplace_matrix_multiply, slot(in_place<product>)},
                         {Py_nb_negative, slot(unary<Op::neg>)},
                         {Py_nb_positive, slot(unary<Op::positive>)},
                         {Py_nb_absolute, slot(unary<Op::abs>)},
                         {Py_nb_invert, slot(unary<Op::invert>)},
                         {Py_nb_bool, slot(as_bool)},
                         {Py_nb_float, slot(as_float)},
                         {Py_nb_int, slot(as_int)},
                         {Py_nb_index, slot(as_index)},
                         {0, nullptr}};

PyType_Spec g_spec = {"dvm.lazy.Array", sizeof(Array), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, g_slots};

}  // namespace

PyObject* make_array_type() {
  PyObject* type = PyType_FromSpec(&g_spec);
  g_array_type = reinterpret_cast<PyTypeObject*>(type);
  return type;
}

PyObject* wrap(PyObject* value) {
  PyObject* made = g_array_type->tp_alloc(g_array_type, 0);
  if (made != nullptr) as_array(made)->value = Py_NewRef(value);
  return made;
}

int rank_of(const Array* array) {
  if (!array->is_pending()) return PyArray_NDIM(reinterpret_cast<PyArrayObject*>(array->value));
  settle(const_cast<Array*>(array));
  return array->is_pending() ? (*array->buffer)[array->node].rank : rank_of(array);
}

const int64_t* shape_of(const Array* array) {
  if (!array->is_pending()) return PyArray_DIMS(reinterpret_cast<PyArrayObject*>(array->value));
  settle(const_cast<Array*>(array));
  return array->is_pending() ? (*array->buffer)[array->node].shape : shape_of(array);
}

PyArray_Descr* descr_of(const Array* array) {
  if (!array->is_pending()) return PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array->value));
  settle(const_cast<Array*>(array));
  return array->is_pending() ? capture::descr_of((*array->buffer)[array->node].form.dtype)
                             : descr_of(array);
}

}  // namespace dvm::bindings::lazy
