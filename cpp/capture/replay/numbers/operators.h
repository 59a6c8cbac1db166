// Python's operators and builtins on numbers as instructions of the machine. None: not of these.
#pragma once

#include <optional>
#include <span>

#include "capture/path/steps.h"
#include "capture/replay/numbers/code.h"

namespace dvm::capture::numbers {

std::optional<Number> append_unary(Code& code, Operator op, const Number& a);
std::optional<Number> append_binary(Code& code, Operator op, const Number& a, const Number& b);
std::optional<Number> append_call(Code& code, PyObject* callee, std::span<const Number> arguments);

// Whether a text is in another.
Number append_contained(Code& code, const Number& part, const Number& text);
// A method of a text without arguments; `ord` and `chr`.
std::optional<Number> append_method(Code& code, PyObject* name, const Number& text);
std::optional<Number> append_characters(Code& code, PyObject* callee, const Number& a);

// 0 or 1.
std::optional<int32_t> append_truth(Code& code, const Number& a);
// The Python number of an element.
std::optional<Number> append_python(Code& code, const Number& element);

}  // namespace dvm::capture::numbers
