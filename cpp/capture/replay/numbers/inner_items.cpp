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

bool InnerItems::gives_tuples() const {
  Items items = *all_;
  Variable first;
  if (all_->parts() > 0) return true;
  if (!items.next(first) || first.type || !first.object) return false;
  return PyTuple_CheckExact(first.object.get());
}

std::vector<std::optional<Type>> InnerItems::types() const {
  Items items = *all_;
  Variable first;
  if (!items.next(first))
    return std::vector<std::optional<Type>>(std::max<size_t>(1, all_->parts()));
  std::vector<std::optional<Type>> found;
  if (items.parts() > 0) {
    for (size_t k = 0; k < items.parts(); ++k) found.push_back(items.last_of(k).type);
  } else if (!gives_tuples()) {
    found.push_back(first.type);
  } else {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(first.object.get()); ++k) {
      const auto number = number_of(PyTuple_GET_ITEM(first.object.get(), k));
      found.push_back(number ? std::optional(number->first) : std::nullopt);
    }
  }
  return found;
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
