#include "capture/replay/numbers/body.h"

#include <algorithm>

#include "capture/replay/numbers/turn_code.h"

namespace dvm::capture::numbers {

Body::Entry Body::entry_of(PyObject* const* arguments, std::span<const Variable> variables,
                           const Items& items) {
  Entry entry{arguments, {}};
  for (const Variable& variable : variables) entry.types.push_back(variable.type);
  entry.parts = items.types_of_parts(variables.back());
  return entry;
}

Body::Body(size_t slots) : homes_(slots), taken_(slots), given_(slots), exits_(1) {}

Body::~Body() = default;

std::unique_ptr<Body> Body::of(const std::vector<std::unique_ptr<Path>>& paths, const Entry& entry,
                               const Changes& changes) {
  std::unique_ptr<Body> body(new Body(entry.types.size()));
  if (changes.needs_attempt) body->attempt_ = std::make_unique<Attempt>();
  std::vector<Ref> registers;
  TurnCode(*body, changes, entry).append_tree(paths, registers);
  PyErr_Clear();
  if (body->paths_.empty()) return nullptr;
  body->finish();
  return body->bound_.fill(std::move(registers)) ? std::move(body) : nullptr;
}

const Number& Body::home(size_t slot, Type type) {
  if (!homes_[slot]) homes_[slot] = Number{bound_.code().cell(), type};
  return *homes_[slot];
}

void Body::finish() {
  const size_t item = homes_.size() - 1;
  for (size_t slot = 0; slot < item; ++slot) {
    if (taken_[slot]) takes_.push_back({slot, *homes_[slot]});
    if (given_[slot]) exits_[0].push_back({slot, *homes_[slot]});
  }
  Code& code = bound_.code();
  code.seal();
  std::vector<Rounds::Taken> taken;
  if (taken_[item]) taken.push_back({-1, &code[homes_[item]->cell], homes_[item]->type});
  for (const auto& [part, number] : parts_) {
    taken.push_back({part, &code[number.cell], number.type});
  }
  rounds_ = Rounds(std::move(taken), attempt_.get());
}

bool Body::has(const Path& path) const { return std::ranges::find(paths_, &path) != paths_.end(); }

bool Body::prepare(PyObject* const* arguments) {
  is_too_long_ = false;
  std::vector<Ref> registers;
  return bound_.find(arguments, registers) && bound_.fill(std::move(registers));
}

Body::Result Body::run(std::span<Variable> variables, Items& items, int64_t most, Undo* undo,
                       Draws& draws) {
  bound_.undo = undo;
  for (const auto& [slot, number] : takes_) {
    if (variables[slot].type != number.type) return {.fits = false};
    bound_.code()[number.cell] = variables[slot].number;
  }
  if (!rounds_.begin(items, variables.back(), most)) return {.fits = false};
  if (is_too_long_) return {};
  if (attempt_) attempt_->begin(draws);
  const int64_t left = bound_.code().run();
  const bool failed = left == Code::kFailed;
  if (failed && attempt_) {
    attempt_->take_back();
    is_too_long_ = attempt_->is_too_long();
  }
  bound_.settle_lists();
  if (left > 0) rounds_.next();
  for (const auto& [slot, number] : exits_[failed ? 0 : static_cast<size_t>(left)]) {
    if (rounds_.made() == 0) break;
    Variable& variable = variables[slot];
    variable.type = number.type;
    variable.number = bound_.code()[number.cell];
    variable.changed = true;
    if (variable.object) variable.object = Ref();
  }
  return {rounds_.made(), rounds_.more(), rounds_.was_long(), true};
}

}  // namespace dvm::capture::numbers
