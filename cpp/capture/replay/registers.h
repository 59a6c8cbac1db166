// What a replay has for itself: registers, on its stack where they are no more than most paths
// have, and a level of the interpreter's recursion.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "capture/py.h"
#include "capture/replay/scratch.h"

namespace dvm::capture {

class Registers {
 public:
  explicit Registers(int32_t count) : objects_(static_cast<size_t>(count)), count_(count) {
    std::fill_n(objects_.data(), count, nullptr);
  }
  ~Registers() {
    for (int32_t i = 0; i < count_; ++i) Py_XDECREF(objects_.data()[i]);
  }
  PyObject** data() { return objects_.data(); }
  void copy(Registers& others) {
    for (int32_t i = 0; i < count_; ++i) objects_.data()[i] = Py_XNewRef(others.objects_.data()[i]);
  }
  // Behind those that are kept already.
  void move_to(std::vector<Ref>& kept) {
    kept.reserve(kept.size() + static_cast<size_t>(count_));
    for (int32_t i = 0; i < count_; ++i) {
      kept.push_back(Ref::steal(std::exchange(objects_.data()[i], nullptr)));
    }
  }

 private:
  static constexpr size_t kRegisters = 96;  // room for those of most paths

  Scratch<PyObject*, kRegisters> objects_;
  int32_t count_;
};

// One level of the interpreter's recursion, or none where there is no more.
class RecursionLevel {
 public:
  RecursionLevel() : entered_(Py_EnterRecursiveCall(" while replaying a path") == 0) {}
  ~RecursionLevel() {
    if (entered_) Py_LeaveRecursiveCall();
  }
  RecursionLevel(const RecursionLevel&) = delete;
  RecursionLevel& operator=(const RecursionLevel&) = delete;
  bool entered() const { return entered_; }

 private:
  bool entered_;
};

}  // namespace dvm::capture
