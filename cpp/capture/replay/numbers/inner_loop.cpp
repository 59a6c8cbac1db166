#include "capture/replay/numbers/inner_loop.h"

#include <algorithm>
#include <utility>

#include "capture/replay/likely.h"
#include "capture/replay/loop.h"

namespace dvm::capture::numbers {

// What its turns change, or the turns around it, and the ways that its turns go.
void InnerLoop::find_bodies() {
  paths_ = loop_.paths().size();
  changes_ = changes_of(loop_.paths(), loop_.layout().variables, loop_.layout().carried);
  for (size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].reg < 0) changes_.slots[i] = true;
  }
  changes_.changes_lists = changes_.changes_lists || changes_lists_;
  bodies_.clear();
  exits_.clear();
  for (const auto& path : loop_.paths()) {
    const Returned returned = returned_by(*path);
    if (returned.tag == nullptr) continue;
    auto& kind = PyLong_AsLong(returned.tag) == Loop::kNext ? bodies_ : exits_;
    kind.push_back({.path = path.get()});
  }
}

bool InnerLoop::fill(std::span<const Ref> registers) {
  if (loop_.version() != version_) return false;
  if (paths_ != loop_.paths().size()) find_bodies();
  arguments_.assign(given_.size() + 1, nullptr);
  for (size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].reg < 0) continue;
    PyObject* const object = registers[static_cast<size_t>(given_[i].reg)].get();
    if (object == nullptr) return false;
    if (!changes_.slots[i]) arguments_[i] = object;
  }
  items_.reset();
  if (!over_.same.empty() && !find_items(registers)) return false;
  for (auto* const kind : {&bodies_, &exits_}) {
    for (Body& body : *kind) {
      body.is_ready = body.turn ? body.turn->prepare(arguments_.data()) : make(body);
    }
  }
  return true;
}

bool InnerLoop::find_items(std::span<const Ref> registers) {
  std::vector<PyObject*> objects;
  for (const int32_t reg : over_.same) {
    objects.push_back(registers[static_cast<size_t>(reg)].get());
    if (objects.back() == nullptr) return false;
  }
  iterator_ = Ref::steal(objects.size() == 1 ? PyObject_GetIter(objects[0])
                                             : PyObject_Vectorcall(objects.back(), objects.data(),
                                                                   objects.size() - 1, nullptr));
  if (!iterator_) return PyErr_Clear(), false;
  Items items(iterator_.get());
  items.count();
  if (!items.can_begin_again()) return false;
  items_ = std::move(items);
  return true;
}

bool InnerLoop::make(Body& body) {
  if (body.refused == kChances) return false;
  std::vector<std::optional<Type>> types(given_.size() + 1);
  for (size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].number) types[i] = given_[i].number->type;
  }
  body.turn = Turn::within(*body.path, arguments_.data(), types, changes_, attempt_);
  if (!body.turn) ++body.refused;
  return body.turn != nullptr;
}

void InnerLoop::empty() {
  for (auto* const kind : {&bodies_, &exits_}) {
    for (const Body& body : *kind) {
      if (body.turn) body.turn->empty();
    }
  }
  items_.reset();
  iterator_ = Ref();
}

bool InnerLoop::begin_items(Cell* cells, Items& items) const {
  if (items_) {
    items = *items_;
  } else if (!over_.range.empty()) {
    const auto value = [&](size_t k) { return cells[over_.range[k]].i; };
    if (value(2) == 0) return false;
    items = Items(value(0), value(1), value(2));
  }
  return true;
}

int64_t InnerLoop::turns(Items& items, bool& more) {
  for (size_t k = 0; k < bodies_.size(); ++k) {
    const size_t i = likely_first(k, likely_);
    if (!bodies_[i].is_ready) continue;
    const int64_t made = bodies_[i].turn->run(variables_, items, kUntimed, more);
    if (made == 0) continue;
    likely_ = i;
    return made;
  }
  return 0;
}

bool InnerLoop::run(Cell* cells) {
  variables_.resize(given_.size() + 1);
  for (size_t i = 0; i < given_.size(); ++i) {
    variables_[i].type.reset();
    if (!given_[i].number) continue;
    variables_[i].type = given_[i].number->type;
    variables_[i].number = cells[given_[i].number->cell];
  }
  Items items(nullptr);
  if (!begin_items(cells, items)) return false;
  bool more = !items.exist() || items.next(variables_.back());
  while (more) {
    const int64_t made = turns(items, more);
    if (made == 0) return leave(cells, items);
    attempt_.count(made);
    loop_.count_turns_of_numbers(made);
    if (attempt_.is_too_long()) return false;
  }
  const auto& at_end = loop_.layout().at_end;
  values_.resize(at_end.size() + 1);
  for (size_t k = 0; k < at_end.size(); ++k) {
    const Variable& last = variables_[static_cast<size_t>(at_end[k])];
    values_[k + 1].type = last.type;
    values_[k + 1].number = last.number;
  }
  return give_parts(cells, values_, loop_.layout().end);
}

bool InnerLoop::leave(Cell* cells, const Items& items) {
  for (const Body& exit : exits_) {
    if (!exit.is_ready || !exit.turn->leave(variables_, items, values_)) continue;
    return give_parts(cells, values_, exit.turn->tag());
  }
  return false;
}

bool InnerLoop::give_parts(Cell* cells, std::span<const Variable> values, const Ref& tag) const {
  cells[tag_].i = PyLong_AsLong(tag.get());
  for (const auto& [index, number] : parts_) {
    const auto k = static_cast<size_t>(index);
    if (k >= values.size() || values[k].type != number.type) return false;
    cells[number.cell] = values[k].number;
  }
  return true;
}

}  // namespace dvm::capture::numbers
