// Turns that the machine makes one after the other, without leaving its code.
#pragma once

#include <vector>

#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/items.h"

namespace dvm::capture {
class Loop;
}

namespace dvm::capture::numbers {

class Rounds {
 public:
  // What turns read of their item, and the cell that takes it: the item, or a part of the tuple
  // that it is. The type has to be that.
  struct Taken {
    int32_t part;  // -1: all of it
    Cell* cell;
    Type type;
  };

  // `attempt`: of these turns, each of which stands once it is made; null: there is none, or they
  // are within another turn.
  Rounds(std::vector<Taken> taken, Attempt* attempt)
      : taken_(std::move(taken)), attempt_(attempt) {}

  // From the turn with this item on, at most so many; false: its item is another one.
  bool begin(Items& items, Variable& item, int64_t most) {
    items_ = &items;
    item_ = &item;
    most_ = most;
    made_ = 0;
    more_ = true;
    was_long_ = false;
    return take();
  }
  // Behind a turn: the next item, if there is one.
  void next() {
    ++made_;
    if (attempt_ != nullptr) {
      attempt_->is_done();
      attempt_->count(1);
      was_long_ = attempt_->is_long();
    }
    more_ = !items_->exist() || items_->next(*item_);
  }
  // Whether the turn behind is one of the same code, which finds its item.
  bool again() {
    next();
    return more_ && made_ < most_ && !was_long_ && take();
  }

  int64_t made() const { return made_; }
  bool more() const { return more_; }
  bool was_long() const { return was_long_; }

 private:
  bool take() {
    for (const auto& [part, cell, type] : taken_) {
      if (part >= 0) return take_parts();
      if (item_->type != type) return false;
      *cell = item_->number;
    }
    return true;
  }
  bool take_parts();

  std::vector<Taken> taken_;
  Attempt* attempt_;
  Items* items_ = nullptr;
  Variable* item_ = nullptr;
  int64_t most_ = 0, made_ = 0;
  bool more_ = true, was_long_ = false;
};

// The turns of a loop within a turn.
class InnerTurns final : public CellStep {
 public:
  InnerTurns(Loop& loop, Attempt& attempt) : loop_(loop), attempt_(attempt) {}
  bool may_go_on() {
    ++made_;
    attempt_.count(1);
    return !attempt_.is_too_long();
  }
  // Tells the loop how many there were.
  bool run(Cell*) override;

 private:
  Loop& loop_;
  Attempt& attempt_;
  int64_t made_ = 0;
};
inline int64_t literal_of(const InnerTurns& turns) { return reinterpret_cast<int64_t>(&turns); }

inline int64_t literal_of(const Rounds& rounds) { return reinterpret_cast<int64_t>(&rounds); }

}  // namespace dvm::capture::numbers
