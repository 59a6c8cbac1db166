// What turns of a loop are given: variables that change, and the items that a `for` goes over.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "capture/library/library.h"
#include "capture/py.h"
#include "capture/replay/numbers/code.h"

namespace dvm::capture::numbers {

struct Slot;

// A variable of the loop between two turns: a number or, where it has no `type`, an object. A row
// of an array that the loop goes over becomes an object only when somebody asks for it.
struct Variable {
  std::optional<Type> type;
  Cell number = {.i = 0};
  Ref object = {};
  bool changed = false;  // by a turn
};

// A number of Python's or a library's, exactly; none: it is none that the machine has.
std::optional<std::pair<Type, Cell>> number_of(PyObject* object);
// Likewise, or None, or a str, which must stay alive.
std::optional<std::pair<Type, Cell>> value_of(PyObject* object);
Variable variable_of(PyObject* object);
// Of an item: nobody else may have that, so that it is a value if it is a number, or a character
// that the interpreter has one object of for good.
std::optional<std::pair<Type, Cell>> lasting_value_of(PyObject* object);
Variable item_of(PyObject* object);
// The character at that place of a str, or the number at that of bytes; none: one of no such
// object.
std::optional<std::pair<Type, Cell>> part_of_text(PyObject* text, Py_ssize_t place);
// Whether two are equal of which each is a str or None.
bool equal_texts(Cell a, Cell b);
// Of strs: whether one is in the other; the number of a character, and what the interpreter says of
// it. Of a number, the character, if there is one object of it for good. None: it is another str.
bool holds_text(Cell text, Cell part);
std::optional<Py_UCS4> only_character(Cell text);
std::optional<Cell> character_of(int64_t number);
PyObject* object_of(Type type, Cell number);  // new reference; null: a Python error is set
// Python's or a library's type for it, and the other way; none: it is none of those.
PyTypeObject* python_type_of(Type type);
std::optional<Type> type_of_python(PyObject* type);

// What a `for` iterates over, item by item. Those of a range, list, tuple, text or array, and of
// `enumerate` and `zip` of them, are found without the iterator from when that is asked for; nobody
// sees it then.
class Items {
 public:
  explicit Items(PyObject* iterator) : iterator_(iterator) {}

  bool exist() const { return iterator_ != nullptr; }
  void count();  // from here on, where that can be
  // False: none is left, or a Python error is set.
  bool next(Variable& item) {
    if (source_ == Source::range) {
      if (left_ == 0) return false;
      item.type = Type{Kind::integer};
      item.number.i = value_;
      // Behind the last one it might overflow.
      if (--left_ > 0) value_ += step_;
      return true;
    }
    return source_ == Source::sequence ? next_of_sequence(item) : next_of_others(item);
  }
  Ref next_object();  // none: likewise
  // Whether a copy, made before any item was taken, gives all of them again.
  bool can_begin_again() const;
  // Whether items are rows of an array; the last one of those.
  bool has_rows() const { return source_ == Source::rows; }
  void hold_row(Slot& slot) const;
  // Of tuples that nobody has made: how many parts they have (0: it gives others), what each is
  // iterated over by, and of the last one what it gave.
  size_t parts() const { return parts_.size(); }
  const Items& items_of(size_t part) const { return parts_[part]; }
  const Variable& last_of(size_t part) const { return last_[part]; }
  // Of the one that `item` has just been made, if it is a tuple, made or given: what its parts are
  // that are numbers.
  std::vector<std::optional<Type>> types_of_parts(const Variable& item) const;
  // The one that `item` has just been made, with its identity.
  Ref object_of_last(const Variable& item) const;

 private:
  enum class Source : uint8_t { iterator, range, sequence, text, array, rows, tuples };
  void count_tuples();
  bool next_of_text(Variable& item);
  bool next_of_others(Variable& item);
  bool next_of_tuples(Variable& item);
  bool next_of_sequence(Variable& item) {
    if (at_ >= PySequence_Fast_GET_SIZE(sequence_.get())) return false;
    PyObject* const object = PySequence_Fast_GET_ITEM(sequence_.get(), at_++);
    if (!PyFloat_CheckExact(object)) return give(object, item);
    item.type = Type{Kind::floating};  // most of them
    item.number.f = PyFloat_AS_DOUBLE(object);
    return true;
  }
  static bool give(PyObject* object, Variable& item);
  bool next_of_array(Variable& item);

  PyObject* iterator_;  // null: of a `while`
  Source source_ = Source::iterator;
  int64_t value_ = 0, step_ = 0, left_ = 0;  // of a range
  Ref sequence_;                             // a list or tuple, a str or bytes, or an array
  const Library* library_ = nullptr;         // whose array
  int64_t at_ = 0;
  Type type_;  // of the array's elements
  std::vector<Items> parts_;
  std::vector<Variable> last_;
};

}  // namespace dvm::capture::numbers
