// A loop within a turn, as an instruction: its turns, and those that leave it, are code of the
// machine themselves (body.h). What is the same in all turns of the loop around it is the same in
// its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/body.h"

namespace dvm::capture {
class Loop;
}

namespace dvm::capture::numbers {

class InnerLoop final : public CellStep {
 public:
  // A variable where the loop begins: an object that is the same in all turns, by the home of the
  // register that holds it; a number, by its cell; or what the machine knows nothing of.
  struct Given {
    int32_t home = -1;
    std::optional<Number> number = {};
  };
  // What it iterates over: a range by the cells of its start, stop and step; what is the same in
  // all turns, by the home of an object, or by those of arguments and, behind them, of what is
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

  // Part `index` of the loop's value goes to these cells; the first one, which says how the loop was
  // left, to that of `tag`.
  void give(int32_t index, Typed part) { parts_.push_back({index, part}); }
  void give_tag(int32_t cell) { tag_ = cell; }

  // For the turns around it, which hold these registers; false: the loop is not what it was.
  bool fill(std::span<const Ref> registers);
  void empty();

  bool run(Cell* cells) override;

 private:
  struct Part {
    int32_t index;
    Typed typed;
  };
  static constexpr int kChances = 6;         // of turns of other types to be code of the machine
  static constexpr int64_t kUntimed = 1024;  // turns between two looks at how long it takes

  void find_changes();
  bool find_items(std::span<const Ref> registers);
  bool begin_items(Cell* cells, Items& items) const;
  Body* make_body(const Items& items);
  Body* turns(Items& items, Body::Result& made);
  void give_end(Cell* cells) const;
  void give_parts(Cell* cells, Body& body, const Body::Exit& exit) const;

  Loop& loop_;
  const int32_t version_;
  const std::vector<Given> given_;
  const Over over_;
  const bool changes_lists_;
  Attempt& attempt_;
  Changes changes_;
  std::vector<Part> parts_;
  int32_t tag_ = 0;
  struct Ready {
    std::unique_ptr<Body> body;
    bool is_ready = true;
  };
  std::vector<Ready> bodies_;
  int refused_ = 0;
  size_t paths_ = 0;  // as many as the loop has
  size_t likely_ = 0;
  std::vector<PyObject*> arguments_;  // borrowed
  std::vector<Variable> variables_;
  Ref iterator_;
  std::optional<Items> items_;  // of an object that is the same, from its first item on
};

}  // namespace dvm::capture::numbers
