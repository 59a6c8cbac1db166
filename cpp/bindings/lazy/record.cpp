#include "bindings/lazy/record.h"

#include <algorithm>
#include <optional>

#include "bindings/lazy/recording.h"
#include "core/ops/elementwise.h"

namespace dvm::bindings::lazy {

PyTypeObject* g_array_type = nullptr;
PyObject* g_through_numpy = nullptr;

namespace {

using core::DType;
using core::Op;

// NumPy's promotion of two dtypes: the number of the row, or -1.
int8_t g_promotions[core::kDTypeCount][core::kDTypeCount];

std::optional<DType> promoted(std::span<const Operand> operands) {
  std::optional<DType> all;
  Weak weakest = Weak::none;
  for (const Operand& operand : operands) {
    weakest = std::max(weakest, operand.weak);
    if (operand.weak != Weak::none) continue;
    if (!all) {
      all = operand.dtype;
      continue;
    }
    const int8_t both = g_promotions[static_cast<int>(*all)][static_cast<int>(operand.dtype)];
    // Integers of different signs compare as such, and are no floats then.
    const bool were_floats = core::is_floating(*all) || core::is_floating(operand.dtype);
    if (both < 0 || (core::is_floating(static_cast<DType>(both)) && !were_floats)) return {};
    all = static_cast<DType>(both);
  }
  if (!all) return all;
  if (weakest == Weak::integer && *all == DType::boolean) return DType::i64;
  if (weakest == Weak::floating && !core::is_floating(*all)) return DType::f64;
  return all;
}

bool fits(const Operand& operand, DType dtype) {
  if (operand.weak != Weak::integer || core::is_floating(dtype)) return true;
  const int64_t value = operand.number.as_int();
  return core::round_to(dtype, operand.number).as_int() == value &&
         (dtype != DType::u64 || value >= 0);
}

// What the operation computes in, where its operands promote to `dtype`; none: NumPy's, with a rule
// of its own for small integers, or an error. Integers become the float that holds each of them.
std::optional<DType> computes_in(Op op, DType dtype, std::span<const Operand> operands) {
  const core::ElementwiseInfo* row = core::elementwise_info(op);
  if (row == nullptr || core::allows(row->operands, dtype)) return dtype;
  if (row->operands != core::OperandRule::floating) return {};
  if (op == Op::div) return DType::f64;
  int bytes = 0;
  bool are_all_bools = true;
  for (const Operand& operand : operands) {
    if (operand.weak != Weak::none) continue;
    bytes = std::max(bytes, core::byte_size(operand.dtype));
    are_all_bools &= operand.dtype == DType::boolean;
  }
  if (are_all_bools) bytes = core::byte_size(dtype);  // with an int of Python's they are as large
  if (bytes >= 4) return DType::f64;
  return bytes == 2 ? std::optional(DType::f32) : std::nullopt;
}

DType result_of(Op op, DType computes) {
  if (core::is_comparison(op)) return DType::boolean;
  const core::ElementwiseInfo* row = core::elementwise_info(op);
  const bool asks = row != nullptr && row->result == core::ResultRule::boolean;
  return asks ? DType::boolean : computes;
}

// False: they do not.
bool broadcast(std::span<const Operand> operands, Node& node) {
  for (const Operand& operand : operands) node.rank = std::max(node.rank, operand.rank);
  std::fill_n(node.shape, node.rank, 1);
  for (const Operand& operand : operands) {
    int64_t* shape = node.shape + (node.rank - operand.rank);
    for (int d = 0; d < operand.rank; ++d) {
      const int64_t size = operand.shape[d];
      if (size == shape[d] || size == 1) continue;
      if (shape[d] != 1) return false;
      shape[d] = size;
    }
  }
  return true;
}

// An integer to a power that may be negative is an error of NumPy's, if it is.
bool is_power_of_integers(Op op, DType dtype, const Operand& exponent) {
  return op == Op::power && !core::is_floating(dtype) &&
         (exponent.weak != Weak::integer || exponent.number.as_int() < 0);
}

}  // namespace

bool import_promotions() {
  for (int a = 0; a < core::kDTypeCount; ++a) {
    for (int b = 0; b < core::kDTypeCount; ++b) {
      PyArray_Descr* descr = PyArray_PromoteTypes(capture::descr_of(static_cast<DType>(a)),
                                                  capture::descr_of(static_cast<DType>(b)));
      if (descr == nullptr) return false;
      g_promotions[a][b] = -1;
      for (int c = 0; c < core::kDTypeCount; ++c) {
        const auto dtype = static_cast<DType>(c);
        if (capture::numpy_name(dtype).empty() || !is_for_graphs(dtype)) continue;
        if (capture::descr_of(dtype)->type_num == descr->type_num) {
          g_promotions[a][b] = static_cast<int8_t>(c);
        }
      }
      Py_DECREF(descr);
    }
  }
  return true;
}

PyObject* through_numpy(std::string_view name, std::span<PyObject* const> operands,
                        PyObject* keywords) {
  const auto arguments = capture::Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(operands.size())));
  if (!arguments) return nullptr;
  for (size_t k = 0; k < operands.size(); ++k) {
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(k), Py_NewRef(operands[k]));
  }
  const auto text = capture::Ref::steal(
      PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  if (!text) return nullptr;
  return PyObject_CallFunctionObjArgs(g_through_numpy, text.get(), arguments.get(),
                                      keywords == nullptr ? Py_None : keywords, nullptr);
}

std::string_view numpy_name_of(Op op) {
  switch (op) {
#define DVM_COMPARE(name, op, numpy) \
  case Op::name:                     \
    return numpy;
#include "core/ops/compare.def"
#undef DVM_COMPARE
    case Op::select:
      return "where";
    default:
      const core::ElementwiseInfo* row = core::elementwise_info(op);
      return row != nullptr ? row->numpy : core::info(op).name;
  }
}

PyObject* elementwise(Op op, std::span<PyObject* const> given) {
  Recording recording;
  if (!recording.begin(given)) return nullptr;
  Operand operands[kMaxOperands];
  const size_t count = given.size();
  bool is_foreign = false;
  for (size_t k = 0; k < count; ++k) {
    is_foreign |= !recording.read(given[k], operands[k]);
  }
  const auto numpy = [&] { return through_numpy(numpy_name_of(op), given); };
  if (is_foreign) return numpy();
  const bool selects = op == Op::select;
  if (selects && operands[0].dtype != DType::boolean) return numpy();
  const std::span<const Operand> all(operands, count);
  const std::optional<DType> dtype = promoted(all.subspan(selects ? 1 : 0));
  if (!dtype) return numpy();
  if (op == Op::power && operands[1].weak == Weak::integer && operands[1].number.as_int() == 2 &&
      operands[0].dtype != DType::boolean) {
    return elementwise(Op::square, given.first(1));
  }
  const std::optional<DType> computes = computes_in(op, *dtype, all);
  if (!computes || is_power_of_integers(op, *dtype, operands[count - 1])) return numpy();
  Node node{.form = {.kind = Kind::elementwise,
                     .op = op,
                     .computes = *computes,
                     .dtype = result_of(op, *computes)}};
  for (const Operand& operand : all) {
    if (!fits(operand, *computes)) return numpy();
  }
  if (!broadcast(all, node)) return numpy();
  PyObject* made = Recording::new_array();
  if (made == nullptr) return nullptr;
  for (size_t k = 0; k < count; ++k) {
    node.form.operands[k] = recording.node_of(operands[k], *computes);
  }
  return recording.add(node, made);
}

}  // namespace dvm::bindings::lazy
