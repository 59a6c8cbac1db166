#include "capture/replay/numbers/operators.h"

#include <bit>
#include <cmath>
#include <string_view>

#include "capture/library/library.h"

namespace dvm::capture::numbers {

namespace {

constexpr Type kInteger{Kind::integer}, kFloating{Kind::floating}, kBoolean{Kind::boolean};

bool is_floating(const Number& a) { return a.type.kind == Kind::floating; }

// What an operator is, of two floats and of two integers; what each result is.
struct Row {
  std::optional<Op> floats = {}, integers = {};
  bool compares = false, makes_float = false, keeps_bools = false;
};

std::optional<Row> row_of(Operator op) {
  switch (op) {
    case Operator::add:
    case Operator::inplace_add:
      return Row{Op::add_floats, Op::add_integers};
    case Operator::subtract:
    case Operator::inplace_subtract:
      return Row{Op::subtract_floats, Op::subtract_integers};
    case Operator::multiply:
    case Operator::inplace_multiply:
      return Row{Op::multiply_floats, Op::multiply_integers};
    case Operator::divide:
    case Operator::inplace_divide:
      return Row{.floats = Op::divide_floats, .integers = Op::divide_integers, .makes_float = true};
    case Operator::floor_divide:
    case Operator::inplace_floor_divide:
      return Row{{}, Op::floor_divide};
    case Operator::remainder:
    case Operator::inplace_remainder:
      return Row{{}, Op::remainder};
    case Operator::power:
    case Operator::inplace_power:
      return Row{Op::power_floats, {}};
    case Operator::bit_and:
    case Operator::inplace_and:
      return Row{.integers = Op::and_integers, .keeps_bools = true};
    case Operator::bit_or:
    case Operator::inplace_or:
      return Row{.integers = Op::or_integers, .keeps_bools = true};
    case Operator::bit_xor:
    case Operator::inplace_xor:
      return Row{.integers = Op::xor_integers, .keeps_bools = true};
    case Operator::shift_left:
    case Operator::inplace_shift_left:
      return Row{{}, Op::shift_left};
    case Operator::shift_right:
    case Operator::inplace_shift_right:
      return Row{{}, Op::shift_right};
    case Operator::less:
      return Row{.floats = Op::lt_floats, .integers = Op::lt_integers, .compares = true};
    case Operator::less_equal:
      return Row{.floats = Op::le_floats, .integers = Op::le_integers, .compares = true};
    case Operator::equal:
      return Row{.floats = Op::eq_floats, .integers = Op::eq_integers, .compares = true};
    case Operator::not_equal:
      return Row{.floats = Op::ne_floats, .integers = Op::ne_integers, .compares = true};
    case Operator::greater:
      return Row{.floats = Op::gt_floats, .integers = Op::gt_integers, .compares = true};
    case Operator::greater_equal:
      return Row{.floats = Op::ge_floats, .integers = Op::ge_integers, .compares = true};
    default:
      return {};
  }
}

const Library& library_of(Type element) { return *libraries()[element.library]; }

// Whether it is a library's integer of 64 bits for which arithmetic is Python's, but for what the
// machine leaves alone: results that do not fit, and divisors of 0.
bool is_pythons_integer(const Number& a) {
  return a.type.is_element(core::DType::i64) && library_of(a.type).integers_as_python;
}

// Whether of an element, too, it gives a number of Python's.
bool gives_python(Operator op) {
  return op == Operator::integer || op == Operator::index || op == Operator::floating;
}

// An integer beside a float: comparisons are exact, arithmetic rounds it first.
int32_t as_float(Code& code, const Number& a, bool exact) {
  if (is_floating(a) || a.type.is_element(core::DType::f64)) return a.cell;
  return code.emit(exact ? Op::exact_float : Op::rounded_float, a.cell);
}

// Whether it is the builtin of that name.
bool is_builtin(PyObject* callee, const char* name) {
  PyObject* const found = PyDict_GetItemString(PyEval_GetBuiltins(), name);
  return callee == found && PyCFunction_Check(callee);
}

// Whether it makes an array of the element.
bool makes_array(PyObject* callee, const Number& a) {
  return a.type.kind == Kind::element &&
         library_of(a.type).what_gives(callee, nullptr, nullptr) == Library::Gives::array;
}

// Those of Python's `math` that are the C library's where both have a result that is a number.
// Others, `log` among them, do more than that.
struct MathFunction {
  std::string_view name;
  double (*function)(double);
};
constexpr MathFunction kMathFunctions[] = {
    {"sin", std::sin},   {"cos", std::cos},   {"tan", std::tan},   {"exp", std::exp},
    {"sqrt", std::sqrt}, {"atan", std::atan}, {"tanh", std::tanh},
};

std::optional<Number> append_function(Code& code, PyObject* callee, const Number& a) {
  static PyObject* const module = PyImport_ImportModule("math");
  const bool is_number = a.type.kind != Kind::element || a.type.is_element(core::DType::f64);
  if (module == nullptr || !is_number || !PyCFunction_CheckExact(callee)) return {};
  if (PyCFunction_GET_SELF(callee) != module) return {};
  const std::string_view called = reinterpret_cast<PyCFunctionObject*>(callee)->m_ml->ml_name;
  for (const auto& [name, function] : kMathFunctions) {
    if (name != called) continue;
    const int32_t given = as_float(code, a, false);
    return Number{code.emit(Op::call_float, given, 0, std::bit_cast<int64_t>(function)), kFloating};
  }
  return {};
}

}  // namespace

std::optional<int32_t> append_truth(Code& code, const Number& a) {
  switch (a.type.kind) {
    case Kind::boolean:
      return a.cell;
    case Kind::integer:
      return code.emit(Op::truth_of_integer, a.cell);
    case Kind::floating:
      return code.emit(Op::truth_of_float, a.cell);
    case Kind::none:
      return code.integer(0);
    case Kind::text:
      return {};
    case Kind::element:
      break;
  }
  switch (a.type.dtype) {
    case core::DType::boolean:
      return code.emit(Op::truth_of_byte, a.cell);
    case core::DType::i64:
      return code.emit(Op::truth_of_integer, a.cell);
    case core::DType::f64:
      return code.emit(Op::truth_of_float, a.cell);
    default:
      break;
  }
  const auto number = append_python(code, a);
  return number ? append_truth(code, *number) : std::nullopt;
}

std::optional<Number> append_python(Code& code, const Number& element) {
  switch (element.type.dtype) {
    case core::DType::f64:
      return Number{element.cell, kFloating};
    case core::DType::f32:
      return Number{code.emit(Op::widened_single, element.cell), kFloating};
    case core::DType::i64:
      return Number{element.cell, kInteger};
    case core::DType::boolean:
      return Number{code.emit(Op::truth_of_byte, element.cell), kBoolean};
    default:
      break;
  }
  const core::DType dtype = element.type.dtype;
  if (core::info(dtype).kind != core::Kind::integer) return {};
  const bool is_unsigned =
      core::dispatch(dtype, []<core::DType D>() { return std::is_unsigned_v<core::Storage<D>>; });
  const Op widened = is_unsigned ? Op::widened_unsigned : Op::widened_integer;
  const int64_t missing = 64 - 8 * core::byte_size(dtype);
  return Number{code.emit(widened, element.cell, 0, missing), kInteger};
}

std::optional<Number> append_unary(Code& code, Operator op, const Number& a) {
  if (op == Operator::truth || op == Operator::boolean || op == Operator::negate) {
    const auto truth = append_truth(code, a);
    if (!truth) return {};
    return Number{op == Operator::negate ? code.emit(Op::negate_truth, *truth) : *truth, kBoolean};
  }
  if (a.type.kind == Kind::element) {
    const bool keeps_type = op == Operator::negative || op == Operator::absolute;
    const bool is_known = is_pythons_integer(a) || a.type.is_element(core::DType::f64);
    if (keeps_type ? !is_known : !gives_python(op)) return {};
    const auto number = append_python(code, a);
    if (!number || (op == Operator::index && number->type != kInteger)) return {};
    const auto result = append_unary(code, op, *number);
    return result && keeps_type ? Number{result->cell, a.type} : result;
  }
  const bool floats = is_floating(a);
  switch (op) {
    case Operator::negative:
      return floats ? Number{code.emit(Op::negate_float, a.cell), kFloating}
                    : Number{code.emit(Op::negate_integer, a.cell), kInteger};
    case Operator::positive:
      return Number{a.cell, floats ? kFloating : kInteger};
    case Operator::absolute:
      return floats ? Number{code.emit(Op::abs_float, a.cell), kFloating}
                    : Number{code.emit(Op::abs_integer, a.cell), kInteger};
    case Operator::floating:
      return Number{as_float(code, a, false), kFloating};
    case Operator::integer:
      return floats ? Number{code.emit(Op::whole_float, a.cell), kInteger}
                    : Number{a.cell, kInteger};
    case Operator::index:
      if (a.type.kind != Kind::integer) return {};
      return Number{a.cell, kInteger};
    case Operator::invert:
      if (a.type.kind != Kind::integer) return {};
      return Number{code.emit(Op::invert_integer, a.cell), kInteger};
    default:
      return {};
  }
}

std::optional<Number> append_binary(Code& code, Operator op, const Number& a, const Number& b) {
  const auto row = row_of(op);
  if (!row) return {};
  if (is_pythons_integer(a) || is_pythons_integer(b)) {
    const Type element = is_pythons_integer(a) ? a.type : b.type;
    const auto whole = [&](const Number& x) {
      return x.type == element || x.type.kind == Kind::integer;
    };
    if (!whole(a) || !whole(b) || !row->integers || row->makes_float) return {};
    const auto dtype = row->compares ? core::DType::boolean : core::DType::i64;
    return Number{code.emit(*row->integers, a.cell, b.cell),
                  {Kind::element, dtype, element.library}};
  }
  const auto is_double = [](const Number& x) { return x.type.is_element(core::DType::f64); };
  const auto may_compare = [&](const Number& x) {
    return x.type.kind != Kind::element || is_double(x);
  };
  if (row->compares && (is_double(a) || is_double(b)) && may_compare(a) && may_compare(b)) {
    const int32_t x = as_float(code, a, true), y = as_float(code, b, true);
    const uint16_t library = is_double(a) ? a.type.library : b.type.library;
    return Number{code.emit(*row->floats, x, y), {Kind::element, core::DType::boolean, library}};
  }
  if (a.type.kind == Kind::element || b.type.kind == Kind::element) return {};
  const Type result = row->compares ? kBoolean : kInteger;
  if (is_floating(a) || is_floating(b)) {
    if (!row->floats) return {};
    const int32_t x = as_float(code, a, row->compares), y = as_float(code, b, row->compares);
    return Number{code.emit(*row->floats, x, y), row->compares ? kBoolean : kFloating};
  }
  if (!row->integers) return {};
  const bool bools = a.type == kBoolean && b.type == kBoolean && row->keeps_bools;
  const Type of = row->makes_float ? kFloating : bools ? kBoolean : result;
  return Number{code.emit(*row->integers, a.cell, b.cell), of};
}

Number append_contained(Code& code, const Number& part, const Number& text) {
  return {code.emit(Op::in_text, part.cell, text.cell), kBoolean};
}

namespace {

struct TextMethod {
  std::string_view name;
  AsksCharacter function;
};
constexpr TextMethod kTextMethods[] = {
    {"isalpha", [](Py_UCS4 c) { return Py_UNICODE_ISALPHA(c) != 0; }},
    {"isdigit", [](Py_UCS4 c) { return Py_UNICODE_ISDIGIT(c) != 0; }},
    {"isdecimal", [](Py_UCS4 c) { return Py_UNICODE_ISDECIMAL(c) != 0; }},
    {"isnumeric", [](Py_UCS4 c) { return Py_UNICODE_ISNUMERIC(c) != 0; }},
    {"isspace", [](Py_UCS4 c) { return Py_UNICODE_ISSPACE(c) != 0; }},
    {"islower", [](Py_UCS4 c) { return Py_UNICODE_ISLOWER(c) != 0; }},
    {"isupper", [](Py_UCS4 c) { return Py_UNICODE_ISUPPER(c) != 0; }},
};

}  // namespace

std::optional<Number> append_method(Code& code, PyObject* name, const Number& text) {
  for (const auto& [called, function] : kTextMethods) {
    if (PyUnicode_CompareWithASCIIString(name, called.data()) != 0) continue;
    return Number{code.emit(Op::asks_text, text.cell, 0, std::bit_cast<int64_t>(function)),
                  kBoolean};
  }
  return {};
}

std::optional<Number> append_characters(Code& code, PyObject* callee, const Number& a) {
  if (a.type.kind == Kind::text && is_builtin(callee, "ord")) {
    return Number{code.emit(Op::code_of_text, a.cell), kInteger};
  }
  if (a.type.kind == Kind::integer && is_builtin(callee, "chr")) {
    return Number{code.emit(Op::text_of_code, a.cell), {Kind::text}};
  }
  return {};
}

std::optional<Number> append_call(Code& code, PyObject* callee, std::span<const Number> arguments) {
  if (arguments.size() == 1) {
    if (makes_array(callee, arguments[0])) return arguments[0];
    if (is_builtin(callee, "abs")) return append_unary(code, Operator::absolute, arguments[0]);
    return append_function(code, callee, arguments[0]);
  }
  const bool is_max = is_builtin(callee, "max");
  if (arguments.empty() || (!is_max && !is_builtin(callee, "min"))) return {};
  Number found = arguments[0];
  const bool of_floats = is_floating(found) || found.type.is_element(core::DType::f64);
  if (found.type.kind == Kind::element && !of_floats && !is_pythons_integer(found)) return {};
  const Op op = of_floats ? (is_max ? Op::max_floats : Op::min_floats)
                          : (is_max ? Op::max_integers : Op::min_integers);
  for (const Number& each : arguments.subspan(1)) {
    if (each.type != found.type) return {};
    found.cell = code.emit(op, found.cell, each.cell);
  }
  return found;
}

}  // namespace dvm::capture::numbers
