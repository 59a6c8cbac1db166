#include "capture/replay/numbers/rounds.h"

#include "capture/replay/loop.h"

namespace dvm::capture::numbers {

bool Rounds::take_parts() {
  if (item_->type) return false;
  PyObject* const tuple = item_->object.get();
  const bool is_made = items_->parts() > 0 && tuple == nullptr;
  if (!is_made && (tuple == nullptr || !PyTuple_CheckExact(tuple))) return false;
  for (const auto& [part, cell, type] : taken_) {
    const auto k = static_cast<size_t>(part);
    if (is_made) {
      if (items_->last_of(k).type != type) return false;
      *cell = items_->last_of(k).number;
      continue;
    }
    const auto number = number_of(PyTuple_GET_ITEM(tuple, part));
    if (!number || number->first != type) return false;
    *cell = number->second;
  }
  return true;
}

bool InnerTurns::run(Cell*) {
  loop_.count_turns_of_numbers(std::exchange(made_, 0));
  return true;
}

}  // namespace dvm::capture::numbers
