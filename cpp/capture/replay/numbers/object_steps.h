// Instructions with objects of Python's: what is read of lists, tuples and texts, and operators and
// functions of numbers that the machine does not have.
#pragma once

#include <bit>
#include <optional>
#include <vector>

#include "capture/path/steps.h"
#include "capture/record/special_methods.h"
#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/code.h"
#include "capture/replay/numbers/list_mirror.h"

namespace dvm::capture::numbers {

// With an object that is the same in all turns, though what is in it may not be.
class ObjectStep : public CellStep {
 public:
  // Borrowed; false: it is none of those that the step is for.
  bool fill(PyObject* object) {
    object_ = object;
    return is_for(object);
  }
  PyObject* object() const { return object_; }

  // What is done to the object, if that is a list.
  enum class Use : uint8_t { reads, replaces, resizes };
  virtual Use use() const { return Use::reads; }
  // Null: the list has its elements itself.
  void mirror(ListMirror* mirror) { mirror_ = mirror; }

 protected:
  virtual bool is_for(PyObject*) { return true; }
  ListMirror* mirror_ = nullptr;

 private:
  PyObject* object_ = nullptr;
};

inline bool is_text(PyObject* object) {
  return PyUnicode_CheckExact(object) || PyBytes_CheckExact(object);
}
inline bool is_sequence(PyObject* object) {
  return PyList_CheckExact(object) || PyTuple_CheckExact(object) || is_text(object);
}

class SequenceStep : public ObjectStep {
 protected:
  bool is_for(PyObject* object) override { return is_sequence(object); }
};

// An element, by the cell that has its place.
class ElementStep final : public SequenceStep {
 public:
  bool run(Cell*) override { return false; }  // an instruction has the place
  // The cell behind that of the result is for its type.
  bool load(int64_t place, Cell* result) {
    if (mirror_ == nullptr) return load_object(place, result);
    const ListMirror::Entry* const entry = mirror_->at(place);
    if (entry == nullptr) return false;
    result[0] = entry->value;
    result[1].i = entry->type;
    return true;
  }

 private:
  bool load_object(int64_t place, Cell* result) const;
};

// A change of a list: `list[place] = value`, or `list.pop(place)`.
class ListChangeStep : public ObjectStep {
 public:
  explicit ListChangeStep(Attempt& attempt) : attempt_(attempt) {}

 protected:
  bool is_for(PyObject* object) override { return PyList_CheckExact(object); }
  // Of an element that is a number, so that it may be dropped at once; none: it is another object.
  std::optional<Py_ssize_t> place_of(int64_t place) const;
  Attempt& attempt_;
};

class StoreStep final : public ListChangeStep {
 public:
  StoreStep(Type type, Attempt& attempt) : ListChangeStep(attempt), type_(type) {}
  Use use() const override { return Use::replaces; }
  bool run(Cell*) override { return false; }  // an instruction has the place and the value
  bool store(int64_t place, Cell value) {
    if (mirror_ == nullptr) return store_object(place, value);
    ListMirror::Entry* const entry = mirror_->at(place);
    if (entry == nullptr) return false;
    attempt_.keep_entry(*entry);
    *entry = {value, std::bit_cast<uint32_t>(type_), 1};
    return true;
  }

 private:
  bool store_object(int64_t place, Cell value);
  const Type type_;
};

class PopStep final : public ListChangeStep {
 public:
  PopStep(int32_t place, Attempt& attempt) : ListChangeStep(attempt), place_(place) {}
  Use use() const override { return Use::resizes; }
  bool run(Cell* cells) override;

 private:
  const int32_t place_;
};

class AppendStep final : public ObjectStep {
 public:
  // No attempt: where it fails nothing has happened, and nothing else does.
  AppendStep(Number value, Attempt* attempt) : value_(value), attempt_(attempt) {}
  Use use() const override { return Use::resizes; }
  bool run(Cell* cells) override;

 protected:
  bool is_for(PyObject* object) override { return PyList_CheckExact(object); }

 private:
  const Number value_;
  Attempt* attempt_;
};

// How many elements a list or tuple has, or a text characters.
class LengthStep final : public SequenceStep {
 public:
  explicit LengthStep(int32_t result) : result_(result) {}
  bool run(Cell* cells) override;

 private:
  const int32_t result_;
};

// A pure operator or builtin function of numbers, by Python itself.
class BoxedStep final : public ObjectStep {
 public:
  // Of a call: no operator, and the object is called.
  BoxedStep(std::optional<Operator> op, std::vector<Number> arguments, Typed result)
      : op_(op), arguments_(std::move(arguments)), result_(result) {}
  bool run(Cell* cells) override;

 private:
  static constexpr size_t kMost = 4;  // arguments

  const std::optional<Operator> op_;
  const std::vector<Number> arguments_;
  const Typed result_;
};

// Whether it does nothing but compute with the numbers that it is given, and warns of nothing.
bool may_box(PyObject* callee);

inline int64_t literal_of(const ElementStep& step) { return reinterpret_cast<int64_t>(&step); }
inline int64_t literal_of(const StoreStep& step) { return reinterpret_cast<int64_t>(&step); }

inline PyObject* list_method(const char* name) {  // borrowed
  return special_method(&PyList_Type, name);
}

}  // namespace dvm::capture::numbers
