#include "capture/numpy/array_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/memory/buffer_pool.h"

namespace dvm::capture {

namespace {

std::byte* bytes_of(void* block) { return static_cast<std::byte*>(block); }

void* pool_malloc(void*, size_t size) {
  return runtime::buffer_pool().take(static_cast<int64_t>(size));
}

void* pool_calloc(void*, size_t count, size_t size) {
  void* block = pool_malloc(nullptr, count * size);
  if (block != nullptr) std::memset(block, 0, count * size);
  return block;
}

void pool_free(void*, void* block, size_t) {
  if (block != nullptr) runtime::buffer_pool().give(bytes_of(block));
}

// ndarray.resize changes arrays in place.
void* pool_realloc(void*, void* block, size_t size) {
  void* larger = pool_malloc(nullptr, size);
  if (larger == nullptr || block == nullptr) return larger;
  const auto old = static_cast<size_t>(runtime::buffer_pool().size(bytes_of(block)));
  std::memcpy(larger, block, std::min(old, size));
  pool_free(nullptr, block, old);
  return larger;
}

// What NumPy looks into when it frees or resizes an array's memory. Borrowed; null: an error is
// set.
PyObject* pool_handler() {
  static PyDataMem_Handler handler = {
      "dvm_pool", 1, {nullptr, pool_malloc, pool_calloc, pool_realloc, pool_free}};
  static PyObject* capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return capsule;
}

// Steals the reference to the handler.
void make_owner(PyObject* array, PyObject* handler) {
  auto* fields = reinterpret_cast<PyArrayObject_fields*>(array);
  fields->flags |= NPY_ARRAY_OWNDATA;
  fields->mem_handler = handler;
}

}  // namespace

PyObject* new_array(core::DType dtype, int rank, const npy_intp* shape) {
  PyArray_Descr* descr = descr_of(dtype);
  Py_INCREF(descr);  // stolen by NumPy
  npy_intp bytes = core::byte_size(dtype);
  bool too_large = false;  // for any memory: NumPy refuses it in its own words
  for (int d = 0; d < rank; ++d) too_large |= __builtin_mul_overflow(bytes, shape[d], &bytes);
  if (too_large || bytes < runtime::kLeastPooled) {
    return PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, nullptr, nullptr, 0, nullptr);
  }
  PyObject* handler = pool_handler();
  void* block = handler == nullptr ? nullptr : pool_malloc(nullptr, static_cast<size_t>(bytes));
  if (block == nullptr) {
    Py_DECREF(descr);
    return handler == nullptr ? nullptr : PyErr_NoMemory();
  }
  PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, nullptr, block,
                                         NPY_ARRAY_CARRAY, nullptr);
  if (array == nullptr) {
    pool_free(nullptr, block, 0);
    return nullptr;
  }
  make_owner(array, Py_NewRef(handler));
  return array;
}

PyObject* take_over_memory(PyArrayObject* owner, int rank, const npy_intp* shape) {
  PyArray_Descr* descr = PyArray_DESCR(owner);
  Py_INCREF(descr);
  PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descr, rank, shape, nullptr,
                                         PyArray_DATA(owner), NPY_ARRAY_CARRAY, nullptr);
  if (array == nullptr) return nullptr;
  auto* fields = reinterpret_cast<PyArrayObject_fields*>(owner);
  fields->flags &= ~NPY_ARRAY_OWNDATA;
  make_owner(array, std::exchange(fields->mem_handler, nullptr));
  return array;
}

}  // namespace dvm::capture
