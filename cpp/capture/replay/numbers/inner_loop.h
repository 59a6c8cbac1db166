// A loop within a turn, as an instruction: its turns, and those that leave it, are instructions of
// the machine themselves (turn.h). What is the same in all turns of the loop around it is the same
// in its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/turn.h"

namespace dvm::capture {
class Loop;
}

namespace dvm::capture::numbers {

class InnerLoop final : public CellStep {
 public:
  // A variable where the loop begins: an object that is the same in all turns, by the register that
  // holds it; a number, by its cell; or what the machine knows nothing of.
  struct Given {
    int32_t reg = -1;
    std::optional<Number> number = {};
  };
  // What it iterates over: a range by the cells of its start, stop and step; what is the same in
  // all turns, by the register of an object, or by those of arguments and, behind them, of what is
  // called with these (`enumerate`, `zip`); or nothing.
  struct Over {
    std::vector<int32_t> range = {}, same = {};
  };
  // changes_lists: whether turns around it do.
  InnerLoop(Loop& loop, int32_t version, std::vector<Given> given, Over over, bool changes_lists,
            Attempt& attempt)
      : loop_(loop),
        version_(version),
        given_(std::move(given)),
        over_(std::move(over)),
        changes_lists_(changes_lists),
        attempt_(attempt) {}

  // Part `index` of the loop's value goes to that cell, and is of that type; the first one, which
  // says how the loop was left, to that of `tag`.
  void give(int32_t index, const Number& number) { parts_.push_back({index, number}); }
  void give_tag(int32_t cell) { tag_ = cell; }

  // For the turns around it, which hold these registers; false: the loop is not what it was.
  bool fill(std::span<const Ref> registers);
  void empty();

  bool run(Cell* cells) override;

 private:
  struct Body {
    const Path* path;
    std::unique_ptr<Turn> turn = {};  // null: not for the machine, so far
    int refused = 0;
    bool is_ready = false;
  };
  struct Part {
    int32_t index;
    Number number;
  };
  static constexpr int kChances = 3;         // of a path to be made for the machine
  static constexpr int64_t kUntimed = 1024;  // turns between two looks at how long it takes

  void find_bodies();
  bool make(Body& body);
  bool find_items(std::span<const Ref> registers);
  bool begin_items(Cell* cells, Items& items) const;
  int64_t turns(Items& items, bool& more);
  bool leave(Cell* cells, const Items& items);
  bool give_parts(Cell* cells, std::span<const Variable> values, const Ref& tag) const;

  Loop& loop_;
  const int32_t version_;
  const std::vector<Given> given_;
  const Over over_;
  const bool changes_lists_;
  Attempt& attempt_;
  Changes changes_;
  std::vector<Part> parts_;
  int32_t tag_ = 0;
  std::vector<Body> bodies_, exits_;  // turns that go on, and that leave
  size_t paths_ = 0;                  // as many as the loop has
  size_t likely_ = 0;
  std::vector<PyObject*> arguments_;  // borrowed
  std::vector<Variable> variables_, values_;
  Ref iterator_;
  std::optional<Items> items_;  // of an object that is the same, from its first item on
};

}  // namespace dvm::capture::numbers
