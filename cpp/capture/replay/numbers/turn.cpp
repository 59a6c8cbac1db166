#include "capture/replay/numbers/turn.h"

#include <algorithm>
#include <utility>

#include "capture/numpy/numpy_api.h"

namespace dvm::capture::numbers {

std::vector<std::pair<const Path*, const Step*>> all_steps(const Path& path) {
  std::vector<std::pair<const Path*, size_t>> way{{&path, path.steps.size()}};
  while (way.back().first->parent != nullptr) {
    const Path& last = *way.back().first;
    way.push_back({last.parent, static_cast<size_t>(last.parent_step)});
  }
  std::ranges::reverse(way);
  std::vector<std::pair<const Path*, const Step*>> steps;
  for (const auto& [each, end] : way) {
    for (size_t i = 0; i < end; ++i) steps.push_back({each, &each->steps[i]});
  }
  return steps;
}

Returned returned_by(const Path& path) {
  const Path* root = &path;
  while (root->parent != nullptr) root = root->parent;
  const int32_t registers = root->registers;
  Returned found{std::vector<int32_t>(static_cast<size_t>(registers), -1), {}};
  std::vector<std::vector<int32_t>> tuples(static_cast<size_t>(registers));
  std::vector<PyObject*> constants(static_cast<size_t>(registers));
  for (const auto& [holder, step] : all_steps(path)) {
    const int32_t* const p = holder->operands(*step);
    if (step->op == StepOp::argument_) found.arguments[static_cast<size_t>(p[0])] = p[1];
    if (step->op == StepOp::tuple_) tuples[static_cast<size_t>(p[0])] = {p + 2, p + 2 + p[1]};
    if (step->op == StepOp::constant_) constants[static_cast<size_t>(p[0])] = holder->object(p[1]);
    if (step->op == StepOp::return_) found.registers = tuples[static_cast<size_t>(p[0])];
  }
  if (!found.registers.empty()) {
    found.tag = constants[static_cast<size_t>(found.registers[0])];
    found.registers.erase(found.registers.begin());
  }
  return found;
}

bool Turn::fill(std::vector<Ref> registers) {
  registers_.clear();
  for (const auto& [reg, number] : numbers_) {
    PyObject* const object = registers[static_cast<size_t>(reg)].get();
    const auto found = object ? number_of(object) : std::nullopt;
    if (!found || found->first != number.type) return false;
    code_[number.cell] = found->second;
  }
  for (const auto& [reg, elements] : arrays_) {
    PyObject* const object = registers[static_cast<size_t>(reg)].get();
    if (object == nullptr || !PyArray_CheckExact(object)) return false;
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    if (dtype_of(array) != elements.dtype || PyArray_NDIM(array) != std::ssize(elements.axes) ||
        warns_when_written(array)) {
      return false;
    }
    code_[elements.place].i = reinterpret_cast<int64_t>(PyArray_DATA(array));
    for (int d = 0; d < PyArray_NDIM(array); ++d) {
      const auto [size, stride] = elements.axes[static_cast<size_t>(d)];
      code_[size].i = PyArray_DIM(array, d);
      code_[stride].i = PyArray_STRIDE(array, d);
    }
  }
  registers_ = std::move(registers);
  return true;
}

// Between two turns of its own, what is given is moved to where it is taken: behind all that a turn
// computes, so that one that is not for the machine leaves what it took.
void Turn::join() {
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
    for (Place& given : gives_) {
      const bool taken = std::ranges::find(takes_, given.slot, &Place::slot) != takes_.end();
      if (!taken && replaced(given.number.cell)) {
        given.number.cell = code_.emit(Op::move, given.number.cell);
      }
    }
    for (const auto& [from, to] : moves) code_.append({.op = Op::move, .d = to, .a = from});
    for (Place& given : gives_) {
      const auto taken = std::ranges::find(takes_, given.slot, &Place::slot);
      if (taken != takes_.end()) given.number.cell = taken->number.cell;
    }
  }
  code_.seal();
}

int64_t Turn::run(std::span<Variable> variables, Items& items, int64_t most, bool& more) {
  for (const auto& [slot, number] : takes_) {
    if (variables[slot].type != number.type) return 0;
    code_[number.cell] = variables[slot].number;
  }
  Variable& item = variables.back();
  int64_t made = 0;
  for (bool goes_on = true; goes_on && code_.run();) {
    ++made;
    more = !items.exist() || items.next(item);
    goes_on = more && made < most && follows_itself_;
    if (item_ < 0) continue;
    goes_on = goes_on && item.type == item_type_;
    if (goes_on) code_[item_] = item.number;
  }
  if (made == 0) return 0;
  for (const auto& [slot, number] : gives_) {
    variables[slot].type = number.type;
    variables[slot].number = code_[number.cell];
    variables[slot].changed = true;
  }
  return made;
}

}  // namespace dvm::capture::numbers
