#include "capture/record/dropped_contents.h"

#include <sys/mman.h>
#include <unistd.h>

#include "capture/library/library.h"

namespace dvm::capture {

namespace {

// Below this the pages that an array has to itself are not worth a system call.
constexpr int64_t kSmallest = int64_t{1} << 16;

bool may_be_emptied(const Library& library, PyObject* array, const ArrayView& view) {
  return view.bytes() >= kSmallest && library.is_in_usual_memory(array);
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

size_t drop_contents(const Lifetimes& lifetimes, std::unordered_set<const void*>& dropped) {
  size_t left = 0;
  lifetimes.for_each_dropped([&](PyObject* array) {
    const Library* const library = exact_library_of(array);
    if (library == nullptr) return;
    const ArrayView view = library->view(array);
    if (!view.has(kOwnsMemory) || dropped.contains(array)) return;
    const size_t given = may_be_emptied(*library, array, view) ? give_back(view) : 0;
    left += static_cast<size_t>(view.bytes()) - given;
    if (given > 0) dropped.insert(array);
  });
  return left;
}

}  // namespace dvm::capture
