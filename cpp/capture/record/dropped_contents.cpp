#include "capture/record/dropped_contents.h"

#include <sys/mman.h>
#include <unistd.h>

#include <unordered_map>

#include "capture/library/library.h"

namespace dvm::capture {

namespace {

// Below this the pages that an array has to itself are not worth a system call.
constexpr int64_t kSmallest = int64_t{1} << 16;

bool has_weak_references(PyObject* array) {
  return PyType_SUPPORTS_WEAKREFS(Py_TYPE(array)) &&
         *PyObject_GET_WEAKREFS_LISTPTR(array) != nullptr;
}

// Without weak references, through which the program could still reach the array and would find
// zeros.
bool may_be_emptied(const Library& library, PyObject* array, const ArrayView& view) {
  return view.bytes() >= kSmallest && !has_weak_references(array) &&
         library.is_in_usual_memory(array);
}

// Only whole pages: the array shares the first and the last one with other memory.
size_t give_back(const ArrayView& view) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto data = reinterpret_cast<uintptr_t>(view.data);
  const uintptr_t begin = (data + page - 1) / page * page;
  const uintptr_t end = (data + static_cast<uintptr_t>(view.bytes())) / page * page;
  if (begin >= end) return 0;
  if (madvise(view.data + (begin - data), end - begin, MADV_DONTNEED) != 0) return 0;
  return end - begin;
}

}  // namespace

size_t drop_contents(const std::vector<core::SeenNode>& nodes,
                     std::unordered_set<const void*>& dropped) {
  // References to each array which exist because of the recording: its nodes', and those of views
  // that are reached in no other way.
  std::unordered_map<PyObject*, Py_ssize_t> ours;
  for (const core::SeenNode& node : nodes) {
    auto* object = static_cast<PyObject*>(node.object);
    if (object != nullptr && exact_library_of(object) != nullptr) ++ours[object];
  }
  std::vector<PyObject*> bases;
  for (const auto& [array, count] : ours) {
    PyObject* base = exact_library_of(array)->base_of(array);
    if (base != nullptr && exact_library_of(base) != nullptr && Py_REFCNT(array) == count &&
        !has_weak_references(array)) {
      bases.push_back(base);
    }
  }
  for (PyObject* base : bases) ++ours[base];

  size_t left = 0;
  for (const auto& [array, count] : ours) {
    const Library& library = *exact_library_of(array);
    const ArrayView view = library.view(array);
    if (!view.has(kOwnsMemory) || Py_REFCNT(array) != count) continue;
    if (dropped.contains(array)) continue;
    const size_t given = may_be_emptied(library, array, view) ? give_back(view) : 0;
    left += static_cast<size_t>(view.bytes()) - given;
    if (given > 0) dropped.insert(array);
  }
  return left;
}

}  // namespace dvm::capture
