// The tables behind isa.def and formats.def, and what follows from an instruction's fixed part.
#include <array>

#include "vm/isa/program.h"
#include "vm/isa/reduce_source.h"

namespace dvm::vm {

namespace {

constexpr std::array kFormats = {
#define DVM_FORMAT(name, operands, extents, notation) \
  FormatInfo{#name, operands, ExtentKind::extents, notation},
#include "vm/isa/formats.def"
#undef DVM_FORMAT
};

// A function, because column names of isa.def are macro parameters below.
constexpr int count_operands(Format format) {
  return kFormats[static_cast<size_t>(format)].operands;
}

// Column values of isa.def that are no enum of the interface.
enum class OperandsColumn : uint8_t { none, scalar };
enum class ResultColumn : uint8_t { same, boolean };

constexpr std::array kInsns = {
#define DVM_INSN(name, format, pipe, operands, dtypes, result, slope, head, synopsis) \
  InsnInfo{#name,                                                                     \
           Format::format,                                                            \
           Pipe::pipe,                                                                \
           OperandsColumn::operands == OperandsColumn::scalar,                        \
           DTypeSet::dtypes,                                                          \
           ResultColumn::result == ResultColumn::boolean,                             \
           count_operands(Format::format),                                            \
           slope,                                                                     \
           head,                                                                      \
           synopsis},
#include "vm/isa/isa.def"
#undef DVM_INSN
};
static_assert(kInsns.size() == kInsnCount);

constexpr std::array kPipes = {std::string_view("load"), std::string_view("simd"),
                               std::string_view("store")};
static_assert(kPipes.size() == kPipeCount);

constexpr std::array kCompares = {
#define DVM_COMPARE(name, op, numpy) std::string_view(#name),
#include "core/ops/compare.def"
#undef DVM_COMPARE
};

}  // namespace

const FormatInfo& info(Format format) { return kFormats[static_cast<size_t>(format)]; }
const InsnInfo& info(Insn insn) { return kInsns[static_cast<size_t>(insn)]; }

std::optional<Insn> insn_from_text(std::string_view name) {
  for (size_t i = 0; i < kInsns.size(); ++i) {
    if (kInsns[i].name == name) return static_cast<Insn>(i);
  }
  return std::nullopt;
}

std::string_view to_string(Pipe pipe) { return kPipes[static_cast<size_t>(pipe)]; }
std::string_view to_string(Compare compare) { return kCompares[static_cast<size_t>(compare)]; }
std::string_view to_string(ReduceOrder order) {
  return order == ReduceOrder::lanes ? "lanes" : "sequential";
}

std::optional<Compare> compare_from_text(std::string_view text) {
  for (size_t i = 0; i < kCompares.size(); ++i) {
    if (kCompares[i] == text) return static_cast<Compare>(i);
  }
  return std::nullopt;
}

Extents extents(const Instruction& insn, bool tail) {
  Extents result{insn.m, insn.size, insn.n};
  if (!tail || insn.split == 0) return result;
  if (insn.is_view()) {
    result.size = 1;
    const auto dims = insn.view_dims();
    for (size_t d = 0; d < dims.size(); ++d) {
      result.size *= d + 1 == insn.split ? insn.tail : dims[d].extent;
    }
    return result;
  }
  switch (static_cast<Split>(insn.split)) {
    case Split::m:
      result.m = insn.tail;
      break;
    case Split::size:
      result.size = insn.tail;
      break;
    case Split::n:
      result.n = insn.tail;
      break;
    case Split::none:
      break;
  }
  return result;
}

bool writes(const Instruction& insn, int operand) {
  if (!insn.is_chain()) return operand == 0;
  return (insn.operands()[operand].access & Access::kWritten) != 0;
}

Reach reach(const Instruction& insn, int operand) {
  return insn.is_chain() ? Access::reach(insn.operands()[operand].access) : Reach::each;
}

DType operand_dtype(const Instruction& insn, int operand) {
  if (insn.is_chain()) return static_cast<DType>(Access::dtype(insn.operands()[operand].access));
  const InsnInfo& row = info(insn.insn);
  if (operand == 0) return row.boolean_result ? DType::boolean : insn.dtype;
  if (row.format == Format::cast) return static_cast<DType>(insn.aux);
  if (row.format == Format::reduce) return reduced_dtype(insn.dtype, insn.aux);
  if (row.format == Format::select && operand == 1) return DType::boolean;
  return insn.dtype;
}

int64_t operand_elements(const Instruction& insn, int operand, bool tail) {
  const Extents e = extents(insn, tail);
  switch (reach(insn, operand)) {
    case Reach::each:
      break;
    case Reach::per_row:
      return e.m;
    case Reach::one:
      return 1;
    case Reach::per_column:
      return e.size;
  }
  const Format format = info(insn.insn).format;
  const bool is_short =
      (format == Format::broadcast && operand == 1) || (format == Format::reduce && operand == 0);
  return is_short ? e.m * e.n : e.m * e.size * e.n;
}

}  // namespace dvm::vm
