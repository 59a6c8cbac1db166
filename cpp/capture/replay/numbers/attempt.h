// A turn that holds loops writes, and appends, before it is known to be for the machine: what was
// there is kept until then, so that it can be taken back. It may not take long, either, for nobody
// else runs meanwhile.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "capture/py.h"

namespace dvm::capture::numbers {

class Attempt {
 public:
  // Of one turn or several, one after the other.
  void begin() {
    begin_ = Clock::now();
    turns_ = 0;
    written_.clear();
  }
  // Before so many bytes there are written, 8 at most.
  void keep(std::byte* at, int64_t size) {
    Written& written = written_.emplace_back();
    written.at = at;
    written.size = static_cast<size_t>(size);
    std::memcpy(written.was, at, written.size);
  }
  // Before something is appended to the list, which stays alive until the attempt is done.
  void keep_length(PyObject* list) { written_.push_back({.list = list, .size = length_of(list)}); }
  size_t mark() const { return written_.size(); }
  void take_back(size_t mark) {
    for (; written_.size() > mark; written_.pop_back()) {
      const Written& last = written_.back();
      if (last.list == nullptr) {
        std::memcpy(last.at, last.was, last.size);
      } else if (PyList_SetSlice(last.list, static_cast<Py_ssize_t>(last.size), PY_SSIZE_T_MAX,
                                 nullptr) < 0) {
        PyErr_Clear();  // of a shorter list there is nothing that could fail
      }
    }
  }
  void is_done() { written_.clear(); }

  void count(int64_t turns) { turns_ += turns; }
  // Whether others are to have their chance behind this turn; whether in the midst of it.
  bool is_long() { return lasts(kLong); }
  bool is_too_long() { return lasts(kTooLong); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t kUntimed = 1 << 12;  // turns between two looks at the clock
  static constexpr std::chrono::milliseconds kLong{5}, kTooLong{50};

  struct Written {
    std::byte* at = nullptr;
    PyObject* list = nullptr;
    size_t size = 0;  // in bytes, or of the list
    std::byte was[8] = {};
  };

  static size_t length_of(PyObject* list) { return static_cast<size_t>(PyList_GET_SIZE(list)); }

  bool lasts(Clock::duration limit) {
    if (turns_ < kUntimed) return false;
    const bool over = Clock::now() - begin_ > limit;
    if (!over) turns_ = 0;
    return over;
  }

  std::vector<Written> written_;
  Clock::time_point begin_;
  int64_t turns_ = 0;  // since the last look
};

inline int64_t literal_of(const Attempt& attempt) { return reinterpret_cast<int64_t>(&attempt); }

}  // namespace dvm::capture::numbers
