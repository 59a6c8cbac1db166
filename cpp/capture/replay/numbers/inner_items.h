// What a loop within a turn iterates over, unless it is a range of numbers: an object that is the
// same in all turns of the loop around it, from its first item on each time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "capture/replay/numbers/code.h"
#include "capture/replay/numbers/items.h"

namespace dvm::capture::numbers {

// The step itself is the beginning.
class InnerItems final : public CellStep {
 public:
  // By the home of an object, or those of arguments and, behind them, of what is called with these
  // (`enumerate`, `zip`).
  explicit InnerItems(std::vector<int32_t> over) : over_(std::move(over)), next_(*this) {}

  // The next item; false: none is left.
  class Next final : public CellStep {
   public:
    explicit Next(InnerItems& items) : items_(items) {}
    bool run(Cell* cells) override { return items_.next(cells); }

   private:
    InnerItems& items_;
  };
  Next& next() { return next_; }

  // False: there is nothing of that kind.
  bool fill(std::span<PyObject* const> objects);
  void empty();
  const std::vector<int32_t>& over() const { return over_; }

  // Whether items are tuples, and the types of their parts, or else of the item, going by the first
  // one.
  struct First {
    bool is_tuple;
    std::vector<std::optional<Type>> types;
  };
  First first() const;
  // The cells of the item, or of its parts.
  void give(std::vector<Typed> cells) { cells_ = std::move(cells); }

  bool run(Cell* cells) override;

 private:
  bool next(Cell* cells);
  void give_part(Cell* cells, size_t k, const std::optional<Type>& type, Cell number) const;

  const std::vector<int32_t> over_;
  Next next_;
  std::vector<Typed> cells_;
  Ref iterator_;
  std::optional<Items> all_;
  Items items_{nullptr};
  Variable item_;
};

}  // namespace dvm::capture::numbers
