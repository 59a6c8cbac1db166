#include "capture/path/steps.h"

namespace dvm::capture {

namespace {

constexpr StepInfo kSteps[] = {
#define DVM_STEP(name, category, operands, synopsis) \
  {#name, Category::category, operands, synopsis},
#include "capture/path/steps.def"
#undef DVM_STEP
};

struct OperatorInfo {
  std::string_view text;
  int arity;
};
constexpr OperatorInfo kOperators[] = {
#define DVM_OPERATOR(name, arity, text, expression) {text, arity},
#include "capture/path/operators.def"
#undef DVM_OPERATOR
};

// Results of the C API's queries, where -1 is an error, as objects.
PyObject* bool_of(int truth) { return truth < 0 ? nullptr : PyBool_FromLong(truth); }
PyObject* not_of(int truth) { return truth < 0 ? nullptr : PyBool_FromLong(!truth); }
PyObject* size_of(Py_ssize_t size) { return size < 0 ? nullptr : PyLong_FromSsize_t(size); }

}  // namespace

const StepInfo& info(StepOp op) { return kSteps[static_cast<int>(op)]; }

std::optional<StepOp> step_from_text(std::string_view name) {
  for (size_t i = 0; i < std::size(kSteps); ++i) {
    if (kSteps[i].name == name) return static_cast<StepOp>(i);
  }
  return std::nullopt;
}

std::string_view to_string(Operator op) { return kOperators[static_cast<int>(op)].text; }

std::optional<Operator> operator_from_text(std::string_view text, int arity) {
  for (size_t i = 0; i < std::size(kOperators); ++i) {
    if (kOperators[i].text == text && kOperators[i].arity == arity) {
      return static_cast<Operator>(i);
    }
  }
  return std::nullopt;
}

PyObject* apply(Operator op, PyObject* a, [[maybe_unused]] PyObject* b) {
  switch (op) {
#define DVM_OPERATOR(name, arity, text, expression) \
  case Operator::name:                              \
    return expression;
#include "capture/path/operators.def"
#undef DVM_OPERATOR
  }
  __builtin_unreachable();
}

}  // namespace dvm::capture
