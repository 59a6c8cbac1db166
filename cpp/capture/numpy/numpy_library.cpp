#include "capture/numpy/numpy_library.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "capture/library/library.h"
#include "capture/numpy/array_memory.h"
#include "capture/numpy/drawings.h"
#include "capture/numpy/errstate.h"
#include "capture/numpy/index_places.h"
#include "capture/numpy/layout.h"
#include "capture/numpy/overlap.h"
#include "capture/numpy/random_states.h"
#include "capture/numpy/results.h"

// Behind NumPy's other headers.
#include <numpy/arrayscalars.h>

namespace dvm::capture {

namespace {

// It holds the interpreter's lock while it writes fewer elements.
constexpr npy_intp kLeastUnlocked = 500;

PyArrayObject* cast_array(PyObject* object) { return reinterpret_cast<PyArrayObject*>(object); }
PyArray_Descr* cast_descr(PyObject* object) { return reinterpret_cast<PyArray_Descr*>(object); }

// Methods that only move or name elements.
bool is_mover(PyObject* callee) {
  static PyObject* const movers[] = {
      PyDict_GetItemString(PyArray_Type.tp_dict, "__getitem__"),
      PyDict_GetItemString(PyArray_Type.tp_dict, "reshape"),
      PyDict_GetItemString(PyArray_Type.tp_dict, "transpose"),
  };
  return std::find(std::begin(movers), std::end(movers), callee) != std::end(movers);
}

// Numbers and bools: at most complex long double.
bool same_scalar(PyObject* a, PyObject* b) {
  std::byte first[2 * sizeof(long double)] = {}, second[sizeof first] = {};
  PyArray_ScalarAsCtype(a, first);
  PyArray_ScalarAsCtype(b, second);
  return std::memcmp(first, second, sizeof first) == 0;
}

bool is_text(PyObject* object, const char* text) {
  return PyUnicode_CheckExact(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

// Of NumPy's own kinds, all that one says; structured ones, and those with metadata, are not read.
bool same_dtype(PyArray_Descr* first, PyArray_Descr* second) {
  if (first->type_num != second->type_num || first->byteorder != second->byteorder) return false;
  if (first->type_num >= NPY_NTYPES_LEGACY || first->type_num == NPY_VOID) return false;
  if (PyDataType_METADATA(first) || PyDataType_METADATA(second)) return false;
  return PyArray_EquivTypes(first, second);
}

class NumpyLibrary final : public Library {
 public:
  NumpyLibrary() {
    name = "numpy";
    array_type = &PyArray_Type;
    scalar_type = &PyGenericArrType_Type;
    using Fields = PyArrayObject_fields;
    static_assert(sizeof(npy_intp) == sizeof(int64_t));
    fields = {.type = array_type,
              .data = offsetof(Fields, data),
              .rank = offsetof(Fields, nd),
              .shape = offsetof(Fields, dimensions),
              .strides = offsetof(Fields, strides),
              .elements = offsetof(Fields, descr),
              .flags = offsetof(Fields, flags)};
    scalars.element = offsetof(PyDoubleScalarObject, obval);
    static_assert(offsetof(PyDoubleScalarObject, obval) == offsetof(PyBoolScalarObject, obval) &&
                  offsetof(PyDoubleScalarObject, obval) == offsetof(PyLongScalarObject, obval) &&
                  offsetof(PyDoubleScalarObject, obval) == offsetof(PyHalfScalarObject, obval));
    for (size_t i = 0; i < fields.elements_of.size(); ++i) {
      const auto dtype = static_cast<core::DType>(i);
      fields.elements_of[i] = descr_of(dtype);
      // A row that NumPy has no name for has the descriptor of another.
      if (!numpy_name(dtype).empty()) scalars.types[i] = descr_of(dtype)->typeobj;
    }
    integers_as_python = true;
  }

  Signature signature_of(PyObject* object) const override {
    PyArrayObject* const array = cast_array(object);
    const int rank = PyArray_NDIM(array);
    const auto dtype = Py_IS_TYPE(object, array_type) ? capture::dtype_of(array) : std::nullopt;
    if (!dtype || rank > core::kMaxRank) return foreign_word(number, rank, view_of(array).flags);
    if (is_in_c_order(array)) return dense_word(number, *dtype, rank);
    return array_word(number, *dtype, rank, layout_of(array));
  }
  bool lies_in(PyObject* array, const AxisOrder& order) const override {
    return capture::lies_in(cast_array(array), order);
  }
  Ref elements_of(PyObject* array) const override {
    return Ref::borrow(reinterpret_cast<PyObject*>(PyArray_DESCR(cast_array(array))));
  }
  bool has_elements(PyObject* array, PyObject* elements) const override {
    PyArray_Descr* const descr = PyArray_DESCR(cast_array(array));
    return descr == cast_descr(elements) || PyArray_EquivTypes(descr, cast_descr(elements));
  }

  std::string_view name_of(core::DType dtype) const override { return numpy_name(dtype); }
  std::string describe_elements(PyObject* elements) const override {
    return cast_descr(elements)->typeobj->tp_name;
  }
  std::string describe_foreign(PyObject* object) const override {
    PyArrayObject* const array = cast_array(object);
    if (!Py_IS_TYPE(object, array_type)) {
      return std::string("ndarray subclass ") + Py_TYPE(object)->tp_name;
    }
    return std::string(PyArray_DESCR(array)->typeobj->tp_name) + " array of rank " +
           std::to_string(PyArray_NDIM(array)) +
           (PyArray_ISBEHAVED_RO(array) ? "" : ", byte-swapped or misaligned");
  }

  ArrayView view(PyObject* array) const override { return view_of(cast_array(array)); }
  std::optional<core::DType> dtype_of(PyObject* array) const override {
    return capture::dtype_of(cast_array(array));
  }
  bool read(PyObject* object, core::DType dtype, int rank,
            runtime::BufferView& view) const override {
    PyArrayObject* const array = cast_array(object);
    if (PyArray_NDIM(array) != rank || !holds(capture::dtype_of(array), dtype)) return false;
    view_into(array, dtype, view);
    return true;
  }
  bool share_elements(PyObject* one, PyObject* other) const override {
    return shares_memory(one, other);
  }
  PyObject* base_of(PyObject* array) const override { return PyArray_BASE(cast_array(array)); }
  bool is_in_usual_memory(PyObject* array) const override {
    PyObject* capsule = PyArray_HANDLER(cast_array(array));
    if (capsule == nullptr) return false;
    const void* handler = PyCapsule_GetPointer(capsule, "mem_handler");
    if (handler == nullptr) PyErr_Clear();
    return handler &&
           !std::strcmp(static_cast<const PyDataMem_Handler*>(handler)->name, "default_allocator");
  }

  bool allocate(core::DType dtype, std::span<const int64_t> shape,
                runtime::BufferView& out) const override {
    PyObject* array = new_array(dtype, static_cast<int>(shape.size()), shape.data());
    if (array == nullptr) return false;
    view_into(cast_array(array), dtype, out);
    return true;
  }
  PyObject* result_of(const runtime::BufferView& buffer) const override {
    return numpy_result(buffer);
  }
  PyObject* argument_of(const runtime::BufferView& buffer) const override {
    return numpy_argument(buffer);
  }
  PyObject* permuted(Ref array, std::span<const int8_t> order, bool fresh) const override {
    return numpy_permuted(std::move(array), order, fresh);
  }
  PyObject* scalar_of(core::DType dtype, const std::byte* element) const override {
    // It reads the element alone.
    return PyArray_Scalar(const_cast<std::byte*>(element), descr_of(dtype), nullptr);
  }
  PyObject* alias(PyObject* array) const override {
    return PyArray_View(cast_array(array), nullptr, nullptr);
  }
  PyObject* copy(PyObject* array) const override {
    constexpr int kCopied = NPY_ARRAY_ENSURECOPY | NPY_ARRAY_ENSUREARRAY;
    return PyArray_FromAny(array, nullptr, 0, 0, kCopied, nullptr);
  }

  bool read_scalar(PyObject* scalar, core::DType dtype, std::byte* bytes) const override {
    const Ref descr = Ref::steal(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(scalar)));
    if (cast_descr(descr.get()) != descr_of(dtype)) return false;
    PyArray_ScalarAsCtype(scalar, bytes);
    return true;
  }
  bool same_literal(PyObject* one, PyObject* other) const override {
    if (PyArray_DescrCheck(one)) return same_dtype(cast_descr(one), cast_descr(other));
    const bool is_number = PyArray_IsScalar(one, Number) || PyArray_IsScalar(one, Bool);
    return is_number && same_scalar(one, other);
  }

  Gives what_gives(PyObject* callee, PyObject* names, PyObject* const* named) const override {
    if (names == nullptr) return callee == asarray_ ? Gives::array : Gives::other;
    const bool in_c_order = PyTuple_GET_SIZE(names) == 1 &&
                            is_text(PyTuple_GET_ITEM(names, 0), "order") && is_text(named[0], "C");
    return callee == array_ && in_c_order ? Gives::copy : Gives::other;
  }
  bool is_quiet(PyObject* callee, PyObject* const* arguments, size_t count) const override {
    if (PyCFunction_Check(callee)) {
      const PyMethodDef* const own = reinterpret_cast<PyCFunctionObject*>(callee)->m_ml;
      for (const PyMethodDef* each = index_functions; each->ml_name != nullptr; ++each) {
        if (own->ml_meth == each->ml_meth) return true;
      }
      return false;
    }
    return count > 0 && Py_IS_TYPE(arguments[0], array_type) && is_mover(callee);
  }
  std::optional<Drawing> drawing_of(PyObject* method, size_t parameters) const override {
    return numpy_drawing_of(method, parameters);
  }
  RandomState random_state_of(PyObject* generator) const override {
    return numpy_random_state_of(generator);
  }
  // Handles overlap and read-only arrays as np.copyto does.
  bool write(PyObject* array, PyObject* value) const override {
    const Ref source = Ref::steal(PyArray_FROM_O(value));
    return source && PyArray_CopyInto(cast_array(array), cast_array(source.get())) == 0;
  }
  bool writes_unlocked(PyObject* array) const override {
    return PyArray_SIZE(cast_array(array)) >= kLeastUnlocked;
  }

  PyObject* state() const override { return error_modes(); }
  bool raise_instead() const override { return raise_errors(); }

  bool import_functions() {
    const Ref numpy = Ref::steal(PyImport_ImportModule("numpy"));
    if (!numpy) return false;
    asarray_ = PyObject_GetAttrString(numpy.get(), "asarray");
    array_ = PyObject_GetAttrString(numpy.get(), "array");
    return asarray_ != nullptr && array_ != nullptr;
  }

 private:
  PyObject *asarray_ = nullptr, *array_ = nullptr;  // np.asarray and np.array
};

}  // namespace

bool import_numpy() {
  if (!import_dtypes() || !import_errstate() || !import_overlap()) return false;
  static auto* const numpy = new NumpyLibrary();
  if (!numpy->import_functions()) return false;
  add_library(*numpy);
  return true;
}

}  // namespace dvm::capture
