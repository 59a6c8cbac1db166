// The draws of one call from generators of random numbers. Their states are kept as they were
// before the first draw, so that a call which is given up has drawn nothing. And a turn of a loop
// that is not finished in one way is begun in another: it draws nothing twice, but is given what
// has been drawn, which is what the program asks for in the same order, whichever way finds it out.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/py.h"
#include "capture/replay/numbers/code.h"
#include "capture/replay/random_state.h"

namespace dvm::capture {

class Draws {
 public:
  Draws() = default;
  ~Draws() { let_go(); }
  Draws(const Draws&) = delete;
  Draws& operator=(const Draws&) = delete;

  // Before a draw. `owner`: a np.random.Generator, a RandomState, a random.Random. False: a Python
  // error is set.
  bool begin(PyObject* owner);
  bool is_empty() const { return saved_.empty(); }
  // Puts every state back. False: a Python error is set, a failure's or one that was pending.
  bool restore();

  // Likewise, where other threads that draw from it must not come between: false, too, while one of
  // them does. It is the call's until that lets go of all.
  bool begin_alone(PyObject* owner);
  void let_go();

  // ---- of a turn that may be begun again

  size_t mark() const { return next_; }
  void begin_again(size_t mark) { next_ = mark; }
  // What was drawn since stays; false: the turn has not asked for all of what was drawn for it.
  bool settle(size_t mark) {
    const bool is_all = next_ == drawn_.size();
    settled_ = settled_ || drawn_.size() > mark;
    drawn_.resize(mark);
    next_ = mark;
    return is_all;
  }
  // Whether any was settled since that was asked last: what draws further cannot be begun again.
  bool has_settled() { return std::exchange(settled_, false); }
  void note_settled(bool settled) { settled_ = settled_ || settled; }

  bool repeats() const { return next_ < drawn_.size(); }
  // What is drawn again; null: a Python error is set.
  PyObject* repeated(PyObject* owner);
  bool repeat(PyObject* owner, numbers::Type& type, numbers::Cell& number);
  void note(PyObject* owner, PyObject* drawn);
  void note(PyObject* owner, numbers::Type type, numbers::Cell number) {
    drawn_.push_back({owner, type, number, {}});
    next_ = drawn_.size();
  }

 private:
  struct Saved {
    Ref owner;
    RandomState state;
    Ref lock = {};  // while it is the call's
  };
  struct Drawn {
    PyObject* owner;  // one of those that are saved
    numbers::Type type = {};
    numbers::Cell number = {.i = 0};
    Ref object = {};  // null: it is that number
  };
  Saved* find(PyObject* owner);
  bool lock(Saved& saved);

  std::vector<Saved> saved_;
  std::vector<Drawn> drawn_;  // since the turns that are not finished yet began
  size_t next_ = 0;           // what is drawn next is one of these, or else new
  bool settled_ = false;
};

}  // namespace dvm::capture
