// The vocabulary of Paths: steps (steps.def) and operators (operators.def) as enums and tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "capture/py.h"

namespace dvm::capture {

enum class StepOp : uint8_t {
#define DVM_STEP(name, category, operands, synopsis) name##_,
#include "capture/path/steps.def"
#undef DVM_STEP
};

enum class Category : uint8_t { fetch, guard, choice, compute, effect, end };

struct StepInfo {
  std::string_view name;
  Category category;
  std::string_view operands, synopsis;
};
const StepInfo& info(StepOp op);
std::optional<StepOp> step_from_text(std::string_view name);

enum class Operator : uint8_t {
#define DVM_OPERATOR(name, arity, text, expression) name,
#include "capture/path/operators.def"
#undef DVM_OPERATOR
};

std::string_view to_string(Operator op);
std::optional<Operator> operator_from_text(std::string_view text, int arity);

// A new reference; null: a Python error is set. `b` is null for unary operators.
PyObject* apply(Operator op, PyObject* a, PyObject* b);

}  // namespace dvm::capture
