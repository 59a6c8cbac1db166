// A list of which turns of the machine replace elements, as cells: objects are made of what they
// have stored when the machine is left, once for each element, however often it was replaced. It is
// a list of the replay's own, which nobody else looks at meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "capture/py.h"
#include "capture/replay/numbers/code.h"

namespace dvm::capture::numbers {

class ListMirror {
 public:
  struct Entry {
    Cell value;
    uint32_t type;    // as a word
    uint32_t stored;  // whether it is what a turn has stored
  };

  explicit ListMirror(PyObject* list) : list_(list) {}  // borrowed
  PyObject* list() const { return list_; }

  // Counted from the end below 0; null: there is no such element, or it is no number.
  Entry* at(int64_t place) {
    const Py_ssize_t size = PyList_GET_SIZE(list_);
    if (place < 0) place += size;
    if (place < 0 || place >= size) return nullptr;
    const size_t page = static_cast<size_t>(place) / kEntries;
    if (page < pages_.size() && pages_[page]) {
      Entry& entry = pages_[page][static_cast<size_t>(place) % kEntries];
      if (entry.type != kUnread) return &entry;
    }
    return read(place);
  }
  // Gives the list what was stored, and knows nothing of it any more.
  void settle();

 private:
  static constexpr size_t kEntries = 128;  // of a page
  static constexpr uint32_t kUnread = UINT32_MAX;
  using Page = std::unique_ptr<Entry[]>;

  Entry* read(int64_t place);
  void give_back(size_t page);

  PyObject* list_;
  std::vector<Page> pages_, unused_;  // null: nothing of it was looked at
  std::vector<size_t> touched_;
};

}  // namespace dvm::capture::numbers
