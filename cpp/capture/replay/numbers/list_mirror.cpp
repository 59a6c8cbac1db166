#include "capture/replay/numbers/list_mirror.h"

#include <bit>
#include <new>
#include <utility>

#include "capture/replay/numbers/items.h"

namespace dvm::capture::numbers {

ListMirror::Entry* ListMirror::read(int64_t place) {
  const auto found = number_of(PyList_GET_ITEM(list_, place));
  if (!found) return nullptr;
  const size_t page = static_cast<size_t>(place) / kEntries;
  if (page >= pages_.size()) pages_.resize(page + 1);
  if (!pages_[page]) {
    if (unused_.empty()) unused_.push_back(std::make_unique<Entry[]>(kEntries));
    pages_[page] = std::move(unused_.back());
    unused_.pop_back();
    for (size_t k = 0; k < kEntries; ++k) pages_[page][k] = {{.i = 0}, kUnread, 0};
    touched_.push_back(page);
  }
  Entry& entry = pages_[page][static_cast<size_t>(place) % kEntries];
  entry = {found->second, std::bit_cast<uint32_t>(found->first), 0};
  return &entry;
}

void ListMirror::settle() {
  for (const size_t page : touched_) {
    give_back(page);
    unused_.push_back(std::move(pages_[page]));
  }
  touched_.clear();
}

// What was there were numbers, of which none tells when it dies.
void ListMirror::give_back(size_t page) {
  for (size_t k = 0; k < kEntries; ++k) {
    const Entry& entry = pages_[page][k];
    if (entry.stored == 0) continue;
    Ref made = Ref::steal(object_of(std::bit_cast<Type>(entry.type), entry.value));
    const auto place = static_cast<Py_ssize_t>(page * kEntries + k);
    if (!made || PyList_SetItem(list_, place, made.release()) < 0) {
      PyErr_Clear();  // the list is the replay's own, and so given up with it
      throw std::bad_alloc();
    }
  }
}

}  // namespace dvm::capture::numbers
