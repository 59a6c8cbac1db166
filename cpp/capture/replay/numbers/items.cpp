#include "capture/replay/numbers/items.h"

#include <algorithm>
#include <cstring>

#include "capture/record/turns_left.h"
#include "capture/replay/numbers/arrays.h"
#include "capture/replay/numbers/object_steps.h"

namespace dvm::capture::numbers {

namespace {

// A number attribute of a range.
bool read(PyObject* range, const char* name, int64_t& value) {
  const Ref attribute = Ref::steal(PyObject_GetAttrString(range, name));
  int overflow = 1;
  if (attribute) value = PyLong_AsLongLongAndOverflow(attribute.get(), &overflow);
  return overflow == 0 && !PyErr_Occurred();
}

// What iterating over the array gives: numbers of this type, if any.
std::optional<Type> type_of_items(const Library& library, PyObject* array) {
  const ArrayLook look = library.fields.look(array);
  const auto dtype = library.dtype_of(array);
  if (look.rank != 1 || look.shape[0] == 0 || !dtype) return {};
  // Another of the library's types may have the same elements: one of them tells.
  const Ref first = Ref::steal(PySequence_GetItem(array, 0));
  const auto number = first ? number_of(first.get()) : std::nullopt;
  if (!number || !number->first.is_element(*dtype)) return {};
  return number->first;
}

// Whether iterating over the array gives arrays as guards find them of dvm's dtypes.
bool has_rows_alike(PyObject* array) {
  const auto like = Likeness::of(array);
  return like && like->rank() > 1;
}

}  // namespace

// Where each part comes of an iterator of its own that nobody else has.
void Items::count_tuples() {
  const Ref state = Ref::steal(PyObject_CallMethod(iterator_, "__reduce__", nullptr));
  // (enumerate, (iterator, number)), or (zip, iterators); a third part where `zip` is strict.
  if (!state || PyTuple_GET_SIZE(state.get()) != 2) return PyErr_Clear();
  PyObject* const of = PyTuple_GET_ITEM(state.get(), 1);
  const bool numbers = Py_IS_TYPE(iterator_, &PyEnum_Type);
  const Py_ssize_t count = numbers ? 1 : PyTuple_GET_SIZE(of);
  std::vector<Items> parts;
  if (numbers) {
    Items& number = parts.emplace_back(iterator_);
    number.source_ = Source::range;
    number.value_ = PyLong_AsLongLong(PyTuple_GET_ITEM(of, 1));
    number.step_ = 1;
    number.left_ = INT64_MAX - std::max<int64_t>(number.value_, 0);
  }
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* const iterator = PyTuple_GET_ITEM(of, k);
    Items& part = parts.emplace_back(iterator);
    if (Py_REFCNT(iterator) > (numbers ? 2 : 1)) return;
    part.count();
    if (part.source_ == Source::iterator) return;
  }
  if (PyErr_Occurred()) return PyErr_Clear();
  source_ = Source::tuples;
  parts_ = std::move(parts);
  last_.resize(parts_.size());
}

bool Items::can_begin_again() const {
  return source_ != Source::iterator && std::ranges::all_of(parts_, &Items::can_begin_again);
}

void Items::count() {
  if (source_ != Source::iterator || !exist()) return;
  if (Py_IS_TYPE(iterator_, &PyEnum_Type) || Py_IS_TYPE(iterator_, &PyZip_Type)) {
    return count_tuples();
  }
  const bool is_range = Py_IS_TYPE(iterator_, &PyRangeIter_Type);
  if (!is_range && !Py_IS_TYPE(iterator_, &PyListIter_Type) &&
      !Py_IS_TYPE(iterator_, &PyTupleIter_Type) && !Py_IS_TYPE(iterator_, &PySeqIter_Type) &&
      !is_text_iterator(iterator_)) {
    return;
  }
  // (iter, (what it goes over,), how many were taken), if it has not come to its end; from CPython
  // 3.12 on a range is what is left of it, and None were taken.
  const Ref state = Ref::steal(PyObject_CallMethod(iterator_, "__reduce__", nullptr));
  if (state && PyTuple_GET_SIZE(state.get()) == 3) {
    PyObject* const over = PyTuple_GET_ITEM(PyTuple_GET_ITEM(state.get(), 1), 0);
    PyObject* const taken = PyTuple_GET_ITEM(state.get(), 2);
    at_ = taken == Py_None ? 0 : PyLong_AsLongLong(taken);
    int64_t start = 0;
    if (is_range) {
      if (read(over, "start", start) && read(over, "step", step_)) source_ = Source::range;
      value_ = start + at_ * step_;
      left_ = PyObject_Size(over) - at_;
    } else if (PyList_CheckExact(over) || PyTuple_CheckExact(over)) {
      source_ = Source::sequence;
      sequence_ = Ref::borrow(over);
    } else if (is_text(over)) {
      source_ = Source::text;
      sequence_ = Ref::borrow(over);
    } else if (const Library* const library = open_library_of(over)) {
      if (const auto type = type_of_items(*library, over)) {
        source_ = Source::array;
        type_ = *type;
      } else if (has_rows_alike(over)) {
        source_ = Source::rows;
      } else {
        return PyErr_Clear();
      }
      library_ = library;
      sequence_ = Ref::borrow(over);
    }
  }
  PyErr_Clear();
}

bool Items::give(PyObject* object, Variable& item) {
  const auto number = number_of(object);
  item.type.reset();
  if (number) {
    item.type = number->first;
    item.number = number->second;
  } else {
    item.object = Ref::borrow(object);
  }
  return true;
}

void Items::hold_row(Slot& slot) const {
  ArrayLook row = library_->fields.look(sequence_.get());
  row.data += (at_ - 1) * row.strides[0];
  ++row.shape;
  ++row.strides;
  --row.rank;
  slot.array = sequence_;
  slot.whole = false;
  row.read(sequence_.get(), slot.view.dtype, slot.view);
}

bool Items::next_of_array(Variable& item) {
  const ArrayLook array = library_->fields.look(sequence_.get());
  if (at_ >= array.shape[0]) return false;
  item.type = type_;
  item.number.i = 0;
  std::memcpy(item.number.bytes, array.data + at_++ * array.strides[0],
              static_cast<size_t>(core::byte_size(type_.dtype)));
  return true;
}

bool Items::next_of_text(Variable& item) {
  PyObject* const text = sequence_.get();
  if (at_ >= PyObject_Size(text)) return false;
  const auto part = part_of_text(text, at_++);
  item.type.reset();
  if (part) {
    item.type = part->first;
    item.number = part->second;
  } else {
    item.object =
        Ref::steal(PyUnicode_FromOrdinal(static_cast<int>(PyUnicode_READ_CHAR(text, at_ - 1))));
  }
  return part || item.object;
}

bool Items::next_of_tuples(Variable& item) {
  item.type.reset();
  item.object = Ref();
  for (size_t k = 0; k < parts_.size(); ++k) {
    if (!parts_[k].next(last_[k])) return false;
  }
  return true;
}

bool Items::next_of_others(Variable& item) {
  switch (source_) {
    case Source::range:
    case Source::sequence:
      break;
    case Source::text:
      return next_of_text(item);
    case Source::array:
      return next_of_array(item);
    case Source::rows:
      item.type.reset();
      item.object = Ref();
      return at_++ < library_->fields.look(sequence_.get()).shape[0];
    case Source::tuples:
      return next_of_tuples(item);
    case Source::iterator:
      break;
  }
  item.object = Ref();  // `enumerate` and `zip` give a tuple again that nobody else has
  const Ref next = Ref::steal(PyIter_Next(iterator_));
  if (next) item = item_of(next.get());
  return static_cast<bool>(next);
}

std::vector<std::optional<Type>> Items::types_of_parts(const Variable& item) const {
  std::vector<std::optional<Type>> types;
  if (item.type) return types;
  PyObject* const tuple = item.object.get();
  if (tuple == nullptr) {
    for (const Variable& part : last_) types.push_back(part.type);
  } else if (PyTuple_CheckExact(tuple)) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); ++k) {
      const auto number = lasting_value_of(PyTuple_GET_ITEM(tuple, k));
      types.push_back(number ? std::optional(number->first) : std::nullopt);
    }
  }
  return types;
}

Ref Items::object_of_last(const Variable& item) const {
  if (source_ == Source::iterator || (source_ == Source::tuples && item.object)) return item.object;
  if (source_ == Source::tuples) {
    Ref tuple = Ref::steal(PyTuple_New(std::ssize(parts_)));
    for (size_t k = 0; tuple && k < parts_.size(); ++k) {
      Ref part = parts_[k].object_of_last(last_[k]);
      if (!part) return {};
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(k), part.release());
    }
    return tuple;
  }
  if (source_ == Source::sequence) {
    return Ref::borrow(PySequence_Fast_GET_ITEM(sequence_.get(), at_ - 1));
  }
  if (source_ == Source::text && !item.type) return item.object;
  if (source_ == Source::rows) return Ref::steal(PySequence_GetItem(sequence_.get(), at_ - 1));
  return Ref::steal(object_of(*item.type, item.number));
}

Ref Items::next_object() {
  if (source_ == Source::iterator) return Ref::steal(PyIter_Next(iterator_));
  Variable item;
  return next(item) ? object_of_last(item) : Ref();
}

}  // namespace dvm::capture::numbers
