#include "capture/replay/numbers/inner_items.h"

#include <algorithm>
#include <utility>

namespace dvm::capture::numbers {

bool InnerItems::fill(std::span<PyObject* const> objects) {
  all_.reset();
  iterator_ = Ref::steal(objects.size() == 1 ? PyObject_GetIter(objects[0])
                                             : PyObject_Vectorcall(objects.back(), objects.data(),
                                                                   objects.size() - 1, nullptr));
  if (!iterator_) return PyErr_Clear(), false;
  Items items(iterator_.get());
  items.count();
  if (!items.can_begin_again()) return false;
  all_ = std::move(items);
  return true;
}

void InnerItems::empty() {
  all_.reset();
  items_ = Items(nullptr);
  item_ = {};
  iterator_ = Ref();
}

InnerItems::First InnerItems::first() const {
  Items items = *all_;
  Variable item;
  if (!items.next(item)) {
    const size_t parts = std::max<size_t>(1, items.parts());
    return {items.parts() > 0, std::vector<std::optional<Type>>(parts)};
  }
  auto parts = items.types_of_parts(item);
  const bool is_tuple = !parts.empty();
  if (!is_tuple) parts.push_back(item.type);
  return {is_tuple, std::move(parts)};
}

bool InnerItems::run(Cell*) {
  items_ = *all_;
  return true;
}

void InnerItems::give_part(Cell* cells, size_t k, const std::optional<Type>& type,
                           Cell number) const {
  cells[cells_[k].cell] = number;
  cells[cells_[k].type].i = type ? word_of(*type) : kNoType;
}

// What is no number, or no tuple of so many, has no type: the turn that reads it is replayed.
bool InnerItems::next(Cell* cells) {
  if (!items_.next(item_)) return false;
  PyObject* const tuple = item_.type ? nullptr : item_.object.get();
  const bool is_made = items_.parts() == cells_.size() && tuple == nullptr;
  const bool is_tuple = tuple != nullptr && PyTuple_CheckExact(tuple) &&
                        PyTuple_GET_SIZE(tuple) == std::ssize(cells_);
  for (size_t k = 0; k < cells_.size(); ++k) {
    if (is_made) {
      give_part(cells, k, items_.last_of(k).type, items_.last_of(k).number);
    } else if (is_tuple) {
      const auto number = number_of(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(k)));
      give_part(cells, k, number ? std::optional(number->first) : std::nullopt,
                number ? number->second : Cell{.i = 0});
    } else {
      give_part(cells, k, k == 0 ? item_.type : std::nullopt, item_.number);
    }
  }
  return true;
}

}  // namespace dvm::capture::numbers
