// Instructions with objects of Python's: what is read of lists, tuples and texts, and operators and
// functions of numbers that the machine does not have.
#pragma once

#include <optional>
#include <vector>

#include "capture/path/steps.h"
#include "capture/record/special_methods.h"
#include "capture/replay/numbers/attempt.h"
#include "capture/replay/numbers/code.h"

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

 protected:
  virtual bool is_for(PyObject*) { return true; }

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
  ElementStep(int32_t place, Typed result) : place_(place), result_(result) {}
  bool run(Cell* cells) override;

 private:
  const int32_t place_;
  const Typed result_;
};

// A change of a list: `list[place] = value`, or `list.pop(place)`, with places by their cells.
class ListChangeStep : public ObjectStep {
 public:
  ListChangeStep(int32_t place, Attempt& attempt) : attempt_(attempt), place_(place) {}

 protected:
  bool is_for(PyObject* object) override { return PyList_CheckExact(object); }
  // Of an element that is a number, so that it may be dropped at once; none: it is another object.
  std::optional<Py_ssize_t> place(const Cell* cells) const;
  Attempt& attempt_;

 private:
  const int32_t place_;
};

class StoreStep final : public ListChangeStep {
 public:
  StoreStep(int32_t place, Number value, Attempt& attempt)
      : ListChangeStep(place, attempt), value_(value) {}
  bool run(Cell* cells) override;

 private:
  const Number value_;
};

class PopStep final : public ListChangeStep {
 public:
  using ListChangeStep::ListChangeStep;
  bool run(Cell* cells) override;
};

class AppendStep final : public ObjectStep {
 public:
  // No attempt: where it fails nothing has happened, and nothing else does.
  AppendStep(Number value, Attempt* attempt) : value_(value), attempt_(attempt) {}
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

inline PyObject* list_method(const char* name) {  // borrowed
  return special_method(&PyList_Type, name);
}

}  // namespace dvm::capture::numbers
