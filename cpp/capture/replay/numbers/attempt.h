// A turn that holds loops, or changes lists, writes before it is known to be for the machine: what
// was there is kept until then, so that it can be taken back. It may not take long, either, for
// nobody else runs meanwhile.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "capture/py.h"
#include "capture/replay/draws.h"
#include "capture/replay/numbers/list_mirror.h"

namespace dvm::capture::numbers {

class Attempt {
 public:
  // Of one turn or several, one after the other.
  void begin(Draws& draws) {
    draws_ = &draws;
    mark_ = draws.mark();
    begin_ = Clock::now();
    turns_ = 0;
    written_.clear();
  }
  // Before so many bytes there are written, 8 at most.
  void keep(std::byte* at, int64_t size) {
    Written& written = written_.emplace_back();
    written.at = at;
    written.place = size;
    std::memcpy(written.was, at, static_cast<size_t>(size));
  }
  // Before something is done to a list, which stays alive until the attempt is done: it is appended
  // to, an element is replaced, or taken off. These elements must be numbers, of which none tells
  // when it dies.
  void keep_length(PyObject* list) { note(What::length, list, PyList_GET_SIZE(list)); }
  void keep_element(PyObject* list, Py_ssize_t at) {
    note(What::element, list, at, PyList_GET_ITEM(list, at));
  }
  void keep_taken(PyObject* list, Py_ssize_t at) {
    note(What::taken, list, at, PyList_GET_ITEM(list, at));
  }
  // Likewise, where the list has its elements in a mirror.
  void keep_entry(ListMirror::Entry& entry) {
    Written& written = written_.emplace_back();
    written.what = What::entry;
    written.at = reinterpret_cast<std::byte*>(&entry);
    static_assert(sizeof entry == sizeof written.was + sizeof written.place);
    std::memcpy(written.was, &entry, sizeof written.was);
    std::memcpy(&written.place, written.at + sizeof written.was, sizeof written.place);
  }
  size_t mark() const { return written_.size(); }
  void take_back(size_t mark) {
    for (; written_.size() > mark; written_.pop_back()) take_back(written_.back());
  }
  void take_back() {
    take_back(0);
    draws_->begin_again(mark_);
  }
  void is_done() {
    written_.clear();
    draws_->settle(mark_);
  }
  Draws& draws() { return *draws_; }

  void count(int64_t turns) { turns_ += turns; }
  // Whether others are to have their chance behind this turn; whether in the midst of it.
  bool is_long() { return lasts(kLong); }
  bool is_too_long() { return lasts(kTooLong); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t kUntimed = 1 << 12;  // turns between two looks at the clock
  static constexpr std::chrono::milliseconds kLong{5}, kTooLong{50};

  enum class What : uint8_t { bytes, entry, length, element, taken };
  struct Written {
    What what = What::bytes;
    std::byte* at = nullptr;
    std::byte was[8] = {};
    PyObject* list = nullptr;
    Py_ssize_t place = 0;  // in the list; its length, how many bytes, or more of them
    Ref object = {};
  };

  void note(What what, PyObject* list, Py_ssize_t place, PyObject* object = nullptr) {
    Written& written = written_.emplace_back();
    written.what = what;
    written.list = list;
    written.place = place;
    if (object != nullptr) written.object = Ref::borrow(object);
  }

  static void take_back(Written& last) {
    int status = 0;
    switch (last.what) {
      case What::bytes:
        std::memcpy(last.at, last.was, static_cast<size_t>(last.place));
        return;
      case What::entry:
        std::memcpy(last.at, last.was, sizeof last.was);
        std::memcpy(last.at + sizeof last.was, &last.place, sizeof last.place);
        return;
      case What::length:
        status = PyList_SetSlice(last.list, last.place, PY_SSIZE_T_MAX, nullptr);
        break;
      case What::element:
        status = PyList_SetItem(last.list, last.place, last.object.release());
        break;
      case What::taken:
        status = PyList_Insert(last.list, last.place, last.object.get());
        break;
    }
    if (status < 0) {  // the list is the replay's own, and so given up with it
      PyErr_Clear();
      throw std::bad_alloc();
    }
  }

  bool lasts(Clock::duration limit) {
    if (turns_ < kUntimed) return false;
    const bool over = Clock::now() - begin_ > limit;
    if (!over) turns_ = 0;
    return over;
  }

  std::vector<Written> written_;
  Draws* draws_ = nullptr;  // of the call
  size_t mark_ = 0;
  Clock::time_point begin_;
  int64_t turns_ = 0;  // since the last look
};

inline int64_t literal_of(const Attempt& attempt) { return reinterpret_cast<int64_t>(&attempt); }

}  // namespace dvm::capture::numbers
