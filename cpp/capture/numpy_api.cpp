#define DVM_IMPORTS_NUMPY
#include "capture/numpy_api.h"

#include <string>

namespace dvm::capture {

namespace {

// NumPy's number of each row of dtypes.def, found by the NumPy name at import.
int g_type_numbers[core::kDTypeCount];

}  // namespace

bool import_numpy() {
  if (_import_array() < 0) return false;
  for (int i = 0; i < core::kDTypeCount; ++i) {
    Ref name = Ref::steal(PyUnicode_FromString(std::string(core::kDTypes[i].numpy).c_str()));
    PyArray_Descr* descr = nullptr;
    if (!name || PyArray_DescrConverter(name.get(), &descr) == NPY_FAIL) return false;
    g_type_numbers[i] = descr->type_num;
    Py_DECREF(descr);
  }
  return true;
}

std::optional<core::DType> dtype_of(const PyArrayObject* array) {
  if (!PyArray_ISBEHAVED_RO(array)) return std::nullopt;
  const int number = PyArray_TYPE(array);
  for (int i = 0; i < core::kDTypeCount; ++i) {
    if (g_type_numbers[i] == number) return static_cast<core::DType>(i);
  }
  return std::nullopt;
}

int type_number(core::DType dtype) { return g_type_numbers[static_cast<int>(dtype)]; }

runtime::BufferView view_of(PyArrayObject* array, core::DType dtype) {
  runtime::BufferView view;
  view.data = static_cast<std::byte*>(PyArray_DATA(array));
  view.owner = array;
  view.dtype = dtype;
  view.rank = PyArray_NDIM(array);
  for (int i = 0; i < view.rank; ++i) {
    view.shape[i] = PyArray_DIM(array, i);
    view.strides[i] = PyArray_STRIDE(array, i);
  }
  return view;
}

}  // namespace dvm::capture
