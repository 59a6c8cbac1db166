#include "capture/replay/numbers/turn.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "capture/library/library.h"

namespace dvm::capture::numbers {

namespace {

using Clock = std::chrono::steady_clock;

// A turn that takes longer gains nothing here.
constexpr std::chrono::microseconds kSlow{50};

}  // namespace

Turn::Turn() = default;
Turn::~Turn() = default;

bool Turn::fill(std::vector<Ref> registers) {
  is_too_long_ = false;
  return fill_arrays(registers) && bound_.fill(std::move(registers));
}

bool Turn::prepare(PyObject* const* arguments) {
  std::vector<Ref> registers;
  return bound_.find(arguments, registers) && fill(std::move(registers));
}

bool Turn::fill_arrays(std::span<const Ref> registers) {
  const auto object = [&](int32_t reg) { return registers[static_cast<size_t>(reg)].get(); };
  for (const auto& [reg, slot] : same_slots_) {
    const auto like = Likeness::of(object(reg));
    if (!like || !like->is_for(*slot) || like->rank() != slot->view.rank) return false;
    slot->hold(object(reg));
  }
  for (const auto& [reg, step] : same_lists_) {
    if (object(reg) == nullptr || !PyList_CheckExact(object(reg))) return false;
    step->fill(object(reg));
  }
  const auto fill = [&](auto& taken) {
    const auto like = Likeness::of(object(taken.reg));
    if (!like || !like->is_for(*taken.slot)) return false;
    taken.like = *like;
    return true;
  };
  slow_runs_ = std::min(slow_runs_, kSlowRuns - 1);
  for (ItemPart& part : item_parts_) {
    if (part.slot != nullptr && !fill(part)) return false;
  }
  return std::ranges::all_of(array_takes_, fill) && (!array_item_ || fill(*array_item_));
}

void Turn::empty() {
  bound_.empty();
  for (const auto& step : steps_) step->let_go(true);
  for (const auto& slot : slots_) slot->let_go();
}

// Between two turns of its own, what is given is moved to where it is taken: behind all that a turn
// computes, so that one that is not for the machine leaves what it took.
void Turn::join() {
  const auto has_slot = [](const ItemPart& part) { return part.slot != nullptr; };
  knows_arrays_ = has_arrays() || array_item_ || !array_takes_.empty() || !array_gives_.empty() ||
                  std::ranges::any_of(item_parts_, has_slot);
  std::vector<std::pair<int32_t, int32_t>> moves;  // from, to
  for (const auto& [slot, given] : gives_) {
    const auto taken = std::ranges::find(takes_, slot, &Place::slot);
    if (taken == takes_.end()) continue;
    follows_itself_ = follows_itself_ && taken->number.type == given.type;
    if (taken->number.cell != given.cell) moves.emplace_back(given.cell, taken->number.cell);
  }
  if (follows_itself_) {
    // What another move replaces is put aside first.
    const auto replaced = [&](int32_t cell) {
      return std::ranges::any_of(moves, [&](const auto& move) { return move.second == cell; });
    };
    for (auto& [from, to] : moves) {
      if (replaced(from)) from = code_.emit(Op::move, from);
    }
    // So is what nobody takes: the next turn may compute part of what it would give, or have
    // another item already, before it turns out not to be for the machine.
    for (Place& given : gives_) {
      const bool taken = std::ranges::find(takes_, given.slot, &Place::slot) != takes_.end();
      if (!taken) given.number.cell = code_.emit(Op::move, given.number.cell);
    }
    for (const auto& [from, to] : moves) code_.append({.op = Op::move, .d = to, .a = from});
    for (Place& given : gives_) {
      const auto taken = std::ranges::find(takes_, given.slot, &Place::slot);
      if (taken != takes_.end()) given.number.cell = taken->number.cell;
    }
  }
  for (GivenArray& given : array_gives_) {
    const auto taken = std::ranges::find(array_takes_, given.variable, &TakenArray::variable);
    if (taken != array_takes_.end()) given.taken = &*taken;
    follows_itself_ =
        follows_itself_ && std::ranges::find(takes_, given.variable, &Place::slot) == takes_.end();
  }
  for (const Place& given : gives_) {
    const auto taken = std::ranges::find(array_takes_, given.slot, &TakenArray::variable);
    follows_itself_ = follows_itself_ && taken == array_takes_.end();
  }
  code_.seal();
}

bool Turn::take_parts(const Variable& item) {
  PyObject* const tuple = item.object.get();
  if (item.type || tuple == nullptr || !PyTuple_CheckExact(tuple) ||
      PyTuple_GET_SIZE(tuple) != item_size_) {
    return false;
  }
  for (const ItemPart& part : item_parts_) {
    PyObject* const object = PyTuple_GET_ITEM(tuple, part.index);
    if (part.slot != nullptr) {
      if (!part.like.admits(object)) return false;
      part.slot->hold(object);
      continue;
    }
    const auto number = number_of(object);
    if (!number || number->first != part.number.type) return false;
    code_[part.number.cell] = number->second;
  }
  return true;
}

bool Turn::take_parts(const Items& items) {
  if (static_cast<int64_t>(items.parts()) != item_size_) return false;
  for (const ItemPart& part : item_parts_) {
    const auto index = static_cast<size_t>(part.index);
    const Variable& last = items.last_of(index);
    if (part.slot == nullptr) {
      if (last.type != part.number.type) return false;
      code_[part.number.cell] = last.number;
    } else if (items.items_of(index).has_rows()) {
      items.items_of(index).hold_row(*part.slot);
    } else {
      if (last.type || !part.like.admits(last.object.get())) return false;
      part.slot->hold(last.object.get());
    }
  }
  return true;
}

bool Turn::take_item(const Variable& item, const Items& items) {
  if (item_size_ >= 0) {
    return items.parts() > 0 && !item.object ? take_parts(items) : take_parts(item);
  }
  Slot& slot = *array_item_->slot;
  if (items.has_rows()) {
    items.hold_row(slot);
    return true;
  }
  if (item.type || !array_item_->like.admits(item.object.get())) return false;
  slot.hold(item.object.get());
  return true;
}

bool Turn::take_arrays(std::span<Variable> variables, const Items& items) {
  for (TakenArray& taken : array_takes_) {
    const Variable& variable = variables[taken.variable];
    if (variable.type || !taken.like.admits(variable.object.get())) return false;
    taken.slot->hold(variable.object.get());
  }
  return !takes_item() || take_item(variables.back(), items);
}

// What the last turn gave is what the next one takes, if it is like that.
bool Turn::pass_arrays() {
  for (const GivenArray& given : array_gives_) {
    if (given.taken && !given.taken->like.admits(given.last.get())) return false;
  }
  for (const GivenArray& given : array_gives_) {
    if (!given.taken) continue;
    Slot& slot = *given.taken->slot;
    slot.array = given.last;
    slot.view.owner = given.last.get();
    slot.view.data = slot.look().data;
  }
  return true;
}

// But of those that are the same in all turns.
void Turn::let_go_of_arrays() {
  if (!knows_arrays_) return;
  for (const TakenArray& taken : array_takes_) taken.slot->let_go();
  if (array_item_) array_item_->slot->let_go();
  for (const ItemPart& part : item_parts_) {
    if (part.slot != nullptr) part.slot->let_go();
  }
  for (GivenArray& given : array_gives_) given.last = Ref();
  for (const auto& step : steps_) step->let_go(false);
}

bool Turn::take(std::span<const Variable> variables) {
  for (const auto& [slot, number] : takes_) {
    if (variables[slot].type != number.type) return false;
    code_[number.cell] = variables[slot].number;
  }
  return true;
}

// Nothing stays of a turn that is not for the machine, whatever the loops in it have written.
bool Turn::run_code() {
  const bool done = code_.run() != Code::kFailed;
  if (attempt_ && done) attempt_->is_done();
  if (attempt_ && !done) attempt_->take_back();
  return done;
}

int64_t Turn::run(std::span<Variable> variables, Items& items, int64_t most, bool& more, Undo* undo,
                  Draws& draws) {
  bound_.undo = undo;
  was_long_ = false;
  if (is_too_long_ || !take(variables)) return 0;
  if (attempt_) attempt_->begin(draws);
  if (!take_arrays(variables, items)) {
    let_go_of_arrays();
    return 0;
  }
  Variable& item = variables.back();
  const auto begin = has_arrays() ? Clock::now() : Clock::time_point();
  int64_t made = 0;
  for (bool goes_on = true; goes_on && run_code();) {
    for (GivenArray& given : array_gives_) given.last = given.slot->array;
    if (++made == 1 && has_arrays()) note_time(Clock::now() - begin > kSlow);
    more = !items.exist() || items.next(item);
    if (attempt_) {
      attempt_->count(1);
      was_long_ = attempt_->is_long();
    }
    goes_on = more && made < most && follows_itself_ && slow_runs_ == 0 && !was_long_;
    if (goes_on && takes_item()) goes_on = take_item(item, items);
    if (goes_on && !array_gives_.empty()) goes_on = pass_arrays();
    if (item_ < 0) continue;
    goes_on = goes_on && item.type == item_type_;
    if (goes_on) code_[item_] = item.number;
  }
  bound_.settle_lists();
  for (const auto& [slot, number] : gives_) {
    if (made == 0) break;
    Variable& variable = variables[slot];
    variable.type = number.type;
    variable.number = code_[number.cell];
    variable.changed = true;
    if (variable.object) variable.object = Ref();
  }
  for (GivenArray& given : array_gives_) {
    if (made > 0) variables[given.variable] = {.type = {}, .object = given.last, .changed = true};
  }
  let_go_of_arrays();
  is_too_long_ = attempt_ && attempt_->is_too_long();
  return made;
}

void Turn::note_time(bool is_slow) {
  slow_runs_ = is_for_replays() ? kSlowRuns : is_slow ? slow_runs_ + 1 : 0;
}

bool Turn::is_for_replays() const {
  return std::ranges::any_of(steps_, [](const auto& step) { return step->is_for_replays(); });
}

}  // namespace dvm::capture::numbers
