#define DVM_IMPORTS_NUMPY
#include "capture/numpy/numpy_api.h"

#include <algorithm>
#include <string>

namespace dvm::capture {

namespace {

// NumPy's descriptor of each row of dtypes.def, found by name at import, and the row of each of its
// built-in type numbers (-1: none).
PyArray_Descr* g_descrs[core::kDTypeCount];
int8_t g_rows[NPY_NTYPES_LEGACY];

}  // namespace

bool import_dtypes() {
  if (_import_array() < 0) return false;
  std::fill(std::begin(g_rows), std::end(g_rows), int8_t{-1});
  for (int i = 0; i < core::kDTypeCount; ++i) {
    const auto dtype = static_cast<core::DType>(i);
    const bool known = !numpy_name(dtype).empty();
    const std::string text = known ? std::string(numpy_name(dtype))
                                   : "uint" + std::to_string(8 * core::byte_size(dtype));
    Ref name = Ref::steal(PyUnicode_FromString(text.c_str()));
    if (!name || PyArray_DescrConverter(name.get(), &g_descrs[i]) == NPY_FAIL) return false;
    if (known) g_rows[g_descrs[i]->type_num] = static_cast<int8_t>(i);
  }
  return true;
}

std::optional<core::DType> dtype_of(const PyArrayObject* array) {
  if (!PyArray_ISBEHAVED_RO(array)) return std::nullopt;
  const int number = PyArray_TYPE(array);
  if (number < 0 || number >= NPY_NTYPES_LEGACY || g_rows[number] < 0) return std::nullopt;
  // A dtype with metadata is one of its own, which results inherit.
  if (PyDataType_METADATA(PyArray_DESCR(array)) != nullptr) return std::nullopt;
  return static_cast<core::DType>(g_rows[number]);
}

PyArray_Descr* descr_of(core::DType dtype) { return g_descrs[static_cast<int>(dtype)]; }

std::string_view numpy_name(core::DType dtype) {
  switch (dtype) {
#define DVM_NUMPY_DTYPE(dtype, name) \
  case core::DType::dtype:           \
    return name;
#include "capture/numpy/dtypes.def"
#undef DVM_NUMPY_DTYPE
    default:
      return {};
  }
}

// NumPy has the sign of the flags say kWarnsWhenWritten (np.broadcast_arrays makes such arrays),
// and no name for it outside.
static_assert(kCContiguous == NPY_ARRAY_C_CONTIGUOUS && kFContiguous == NPY_ARRAY_F_CONTIGUOUS &&
              kOwnsMemory == NPY_ARRAY_OWNDATA && kAligned == NPY_ARRAY_ALIGNED &&
              kWriteable == NPY_ARRAY_WRITEABLE);

ArrayView view_of(PyArrayObject* array) {
  PyArray_Descr* const descr = PyArray_DESCR(array);
  constexpr uint32_t kShared =
      kCContiguous | kFContiguous | kOwnsMemory | kAligned | kWriteable | kWarnsWhenWritten;
  return {{.data = static_cast<std::byte*>(PyArray_DATA(array)),
           .shape = PyArray_DIMS(array),
           .strides = PyArray_STRIDES(array),
           .rank = PyArray_NDIM(array),
           .flags = (static_cast<uint32_t>(PyArray_FLAGS(array)) & kShared) |
                    (PyDataType_REFCHK(descr) ? kHoldsObjects : 0U),
           .elements = descr},
          PyArray_ITEMSIZE(array),
          PyArray_TYPE(array)};
}

void view_into(PyArrayObject* array, core::DType dtype, runtime::BufferView& view) {
  view_of(array).read(reinterpret_cast<PyObject*>(array), dtype, view);
}

}  // namespace dvm::capture
