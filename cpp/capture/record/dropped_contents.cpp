#include "capture/record/dropped_contents.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <unordered_map>

#include "capture/numpy/numpy_api.h"

namespace dvm::capture {

namespace {

// Below this the pages that an array has to itself are not worth a system call.
constexpr npy_intp kSmallest = npy_intp{1} << 16;

bool has_weak_references(PyArrayObject* array) {
  return reinterpret_cast<PyArrayObject_fields*>(array)->weakreflist != nullptr;
}

// From NumPy's own allocator, and without weak references, through which the program could still
// reach the array and would find zeros.
bool may_be_emptied(PyArrayObject* array) {
  if (PyArray_NBYTES(array) < kSmallest || has_weak_references(array)) return false;
  PyObject* capsule = PyArray_HANDLER(array);
  if (capsule == nullptr) return false;
  const void* handler = PyCapsule_GetPointer(capsule, "mem_handler");
  if (handler == nullptr) PyErr_Clear();
  return handler &&
         !std::strcmp(static_cast<const PyDataMem_Handler*>(handler)->name, "default_allocator");
}

// Only whole pages: the array shares the first and the last one with other memory.
size_t give_back(PyArrayObject* array) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto data = reinterpret_cast<uintptr_t>(PyArray_DATA(array));
  const uintptr_t begin = (data + page - 1) / page * page;
  const uintptr_t end = (data + static_cast<uintptr_t>(PyArray_NBYTES(array))) / page * page;
  if (begin >= end) return 0;
  char* const first = PyArray_BYTES(array) + (begin - data);
  if (madvise(first, end - begin, MADV_DONTNEED) != 0) return 0;
  return end - begin;
}

}  // namespace

size_t drop_contents(const std::vector<core::SeenNode>& nodes,
                     std::unordered_set<const void*>& dropped) {
  // References to each array which exist because of the recording: its nodes', and those of views
  // that are reached in no other way.
  std::unordered_map<PyArrayObject*, Py_ssize_t> ours;
  for (const core::SeenNode& node : nodes) {
    auto* object = static_cast<PyObject*>(node.object);
    if (object != nullptr && PyArray_CheckExact(object)) {
      ++ours[reinterpret_cast<PyArrayObject*>(object)];
    }
  }
  std::vector<PyArrayObject*> bases;
  for (const auto& [array, count] : ours) {
    PyObject* base = PyArray_BASE(array);
    if (base != nullptr && PyArray_CheckExact(base) && Py_REFCNT(array) == count &&
        !has_weak_references(array)) {
      bases.push_back(reinterpret_cast<PyArrayObject*>(base));
    }
  }
  for (PyArrayObject* base : bases) ++ours[base];

  size_t left = 0;
  for (const auto& [array, count] : ours) {
    if (!PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) || Py_REFCNT(array) != count) continue;
    if (dropped.contains(array)) continue;
    const size_t given = may_be_emptied(array) ? give_back(array) : 0;
    left += static_cast<size_t>(PyArray_NBYTES(array)) - given;
    if (given > 0) dropped.insert(array);
  }
  return left;
}

}  // namespace dvm::capture
