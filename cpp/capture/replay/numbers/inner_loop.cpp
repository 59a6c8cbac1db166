#include "capture/replay/numbers/inner_loop.h"

#include <algorithm>
#include <utility>

#include "capture/replay/likely.h"
#include "capture/replay/loop.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

// What its turns change, or the turns around it.
void InnerLoop::find_changes() {
  paths_ = loop_.paths().size();
  changes_ = changes_of(loop_.paths(), loop_.layout().variables, loop_.layout().carried);
  for (size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].home < 0) changes_.slots[i] = true;
  }
  changes_.changes_lists = changes_.changes_lists || changes_lists_;
  bodies_.clear();
  refused_ = 0;
}

bool InnerLoop::fill(std::span<const Ref> registers) {
  if (loop_.version() != version_) return false;
  if (paths_ != loop_.paths().size()) find_changes();
  arguments_.assign(given_.size() + 1, nullptr);
  for (size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].home < 0) continue;
    PyObject* const object = registers[static_cast<size_t>(given_[i].home)].get();
    if (object == nullptr) return false;
    if (!changes_.slots[i]) arguments_[i] = object;
  }
  items_.reset();
  if (!over_.same.empty() && !find_items(registers)) return false;
  for (auto& [body, is_ready] : bodies_) is_ready = body->prepare(arguments_.data());
  return true;
}

bool InnerLoop::find_items(std::span<const Ref> registers) {
  std::vector<PyObject*> objects;
  for (const int32_t home : over_.same) {
    objects.push_back(registers[static_cast<size_t>(home)].get());
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

void InnerLoop::empty() {
  for (const auto& [body, is_ready] : bodies_) body->empty();
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

Body* InnerLoop::make_body(const Items& items) {
  if (refused_ == kChances) return nullptr;
  ++refused_;
  // The flags are those of the turns' own arithmetic.
  const auto flags = core::fp::get();
  auto body = Body::of(loop_.paths(), Body::entry_of(arguments_.data(), variables_, items),
                       changes_, &attempt_);
  core::fp::set(flags);
  return body ? bodies_.emplace_back(std::move(body)).body.get() : nullptr;
}

// By the body that runs some; null: none does.
Body* InnerLoop::turns(Items& items, Body::Result& made) {
  for (size_t k = 0; k < bodies_.size(); ++k) {
    const size_t i = likely_first(k, likely_);
    if (!bodies_[i].is_ready) continue;
    made = bodies_[i].body->run(variables_, items, kUntimed);
    if (!made.fits) continue;
    likely_ = i;
    return bodies_[i].body.get();
  }
  Body* const body = make_body(items);
  if (body == nullptr) return nullptr;
  likely_ = bodies_.size() - 1;
  made = body->run(variables_, items, kUntimed);
  return body;
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
    Body::Result made;
    Body* const body = turns(items, made);
    if (body == nullptr || made.failed) return false;
    attempt_.count(made.made);
    loop_.count_turns_of_numbers(made.made);
    if (made.left != nullptr) {
      give_parts(cells, *body, *made.left);
      return true;
    }
    if (attempt_.is_too_long()) return false;
    more = made.more;
  }
  give_end(cells);
  return true;
}

void InnerLoop::give_end(Cell* cells) const {
  const auto& [count, carried, at_end, end] = loop_.layout();
  cells[tag_].i = PyLong_AsLong(end.get());
  for (const auto& [index, part] : parts_) {
    const Variable& last = variables_[static_cast<size_t>(at_end[static_cast<size_t>(index) - 1])];
    cells[part.cell] = last.number;
    cells[part.type].i = last.type ? word_of(*last.type) : kNoType;
  }
}

void InnerLoop::give_parts(Cell* cells, Body& body, const Body::Exit& exit) const {
  cells[tag_].i = PyLong_AsLong(exit.tag.get());
  for (const auto& [index, part] : parts_) {
    const auto given = std::ranges::find(exit.gives, static_cast<size_t>(index), &Body::Place::slot);
    const bool is_there = given != exit.gives.end();
    cells[part.type].i = is_there ? word_of(given->number.type) : kNoType;
    if (is_there) cells[part.cell] = body[given->number];
  }
}

}  // namespace dvm::capture::numbers
