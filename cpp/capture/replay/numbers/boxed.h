// What the machine has no instruction for: a pure operator or builtin function of numbers, by
// objects of Python's.
#pragma once

#include <optional>
#include <vector>

#include "capture/path/steps.h"
#include "capture/replay/numbers/code.h"

namespace dvm::capture::numbers {

class BoxedStep final : public CellStep {
 public:
  // Of a call: no operator; what is called comes with fill(). The result has to be of that type.
  BoxedStep(std::optional<Operator> op, std::vector<Number> arguments, Number result)
      : op_(op), arguments_(std::move(arguments)), result_(result) {}

  void fill(PyObject* callee) { callee_ = callee; }  // borrowed
  bool run(Cell* cells) override;

 private:
  static constexpr size_t kMost = 4;  // arguments

  const std::optional<Operator> op_;
  const std::vector<Number> arguments_;
  const Number result_;
  PyObject* callee_ = nullptr;
};

// Whether it does nothing but compute with the numbers that it is given, and warns of nothing.
bool may_box(PyObject* callee);

}  // namespace dvm::capture::numbers
