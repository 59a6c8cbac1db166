// The tables behind isa.def and formats.def, and what follows from an instruction's fixed part.
#include <algorithm>
#include <array>

#include "core/ops/sum_order.h"
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

constexpr std::array kPipes = {
#define DVM_PIPE(name, unit, kernel, synopsis) std::string_view(#name),
#include "vm/isa/pipes.def"
};

// Pipes that cores of vectors lack, and those that cores of the cube do.
constexpr Pipes kCubeOnly = 0
#define DVM_PIPE(name, unit, kernel, synopsis) \
  | (KernelType::kernel == KernelType::cube ? bit(Pipe::name) : 0)
#include "vm/isa/pipes.def"
    ;
constexpr Pipes kVectorOnly = 0
#define DVM_PIPE(name, unit, kernel, synopsis) \
  | (KernelType::kernel == KernelType::vector ? bit(Pipe::name) : 0)
#include "vm/isa/pipes.def"
    ;

constexpr auto kFlagPairs = [] {
  std::array<std::array<bool, kPipeCount>, kPipeCount> pairs{};
  const auto add = [&](Pipe src, Pipe dst) {
    pairs[static_cast<size_t>(src)][static_cast<size_t>(dst)] = true;
  };
#define DVM_FLAG_PAIR(src, dst) add(Pipe::src, Pipe::dst);
#define DVM_CARRIED_PAIR(src, dst, bit) add(Pipe::src, Pipe::dst);
#include "vm/isa/pipes.def"
  return pairs;
}();

// Sets of pipes, so that columns may join several by '|'.
struct PipeSet {
  uint8_t bits;
  constexpr PipeSet operator|(PipeSet other) const {
    return {static_cast<uint8_t>(bits | other.bits)};
  }
  constexpr bool has(Pipe pipe) const { return (bits >> static_cast<int>(pipe) & 1) != 0; }
};
namespace pipe_sets {
#define DVM_PIPE(name, unit, kernel, synopsis) \
  constexpr PipeSet name = {1 << static_cast<int>(Pipe::name)};
#include "vm/isa/pipes.def"
}  // namespace pipe_sets
struct SpaceInfo {
  std::string_view name;
  PipeSet read_by, written_by;
};
constexpr std::array kSpaces = [] {
  using namespace pipe_sets;  // NOLINT(google-build-using-namespace): the columns are its names
  return std::array{
#define DVM_SPACE(name, read_by, written_by, synopsis) SpaceInfo{#name, read_by, written_by},
#include "vm/isa/spaces.def"
#undef DVM_SPACE
  };
}();

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
bool has_flags(Pipe src, Pipe dst) {
  return kFlagPairs[static_cast<size_t>(src)][static_cast<size_t>(dst)];
}
std::string_view to_string(KernelType type) {
  static constexpr std::string_view kNames[kKernelTypes] = {"aiv", "aic", "mix"};
  return kNames[static_cast<size_t>(type)];
}
KernelType kernel_type(Pipes used) {
  if ((used & kCubeOnly) == 0) return KernelType::vector;
  return (used & kVectorOnly) == 0 ? KernelType::cube : KernelType::mix;
}
std::string_view to_string(Mode mode) {
  static constexpr std::string_view kNames[] = {
#define DVM_MODE(name) #name,
#include "vm/isa/modes.def"
  };
  return kNames[static_cast<size_t>(mode)];
}

std::string_view to_string(Space space) { return kSpaces[static_cast<size_t>(space)].name; }
std::optional<Space> space_from_text(std::string_view text) {
  const auto found = std::ranges::find(kSpaces, text, &SpaceInfo::name);
  if (found == kSpaces.end()) return std::nullopt;
  return static_cast<Space>(found - kSpaces.begin());
}
bool reaches(Pipe pipe, Space space, bool writes) {
  const SpaceInfo& row = kSpaces[static_cast<size_t>(space)];
  return (writes ? row.written_by : row.read_by).has(pipe);
}
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

uint32_t other_tail_of(const Instruction& insn, int extent, Ends ends, uint32_t full) {
  for (const Tail& tail : insn.more_tails()) {
    if (tail.extent == extent && (ends >> tail.axis & 1) != 0) return tail.value;
  }
  return full;
}

int64_t positions_along(const Instruction& insn, int dim, int64_t extent) {
  const bool gathers = info(insn.insn).format == Format::gather;
  return gathers && dim + 1 == static_cast<int>(insn.m) ? int64_t{insn.n} : extent;
}

Ends cut_axes(const Instruction& insn) {
  Ends cut = insn.split != 0 ? 1 : 0;
  for (const Tail& tail : insn.more_tails()) cut = static_cast<Ends>(cut | 1u << tail.axis);
  return cut;
}

Extents extents(const Instruction& insn, Ends ends) {
  if (!insn.is_view()) return plain_extents(insn, ends);
  Extents result{insn.m, insn.size, insn.n};
  if (ends == 0 || (insn.split == 0 && insn.tails == 0)) return result;
  result.size = 1;
  const auto dims = insn.view_dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto extent = static_cast<uint32_t>(dims[d].extent);
    result.size *= tail_of(insn, static_cast<int>(d) + 1, ends, extent);
  }
  return result;
}

MatrixSize matrix_size(const Instruction& insn, int operand, const Extents& e) {
  if (!insn.is_attention()) return matrix_size(operand, e);
  MatrixSize size = attention_size(operand, e, insn.attention().depth);
  if (operand == kAttentionMask && insn.operands()[operand].mode == Mode::stream) size.rows = 1;
  return size;
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
  if (row.format == Format::masked_attention && operand == kAttentionMask) return DType::boolean;
  if (row.format == Format::matrix || is_attention(row.format))
    return MatrixAux::of(insn.dtype, insn.aux).source;
  if (row.format == Format::select && operand == 1) return DType::boolean;
  if (row.format == Format::gather && operand == kIndexOperand) return DType::i64;
  return insn.dtype;
}

int64_t operand_elements(const Instruction& insn, int operand, Ends ends) {
  const Extents e = extents(insn, ends);
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
  if (format == Format::gather) {
    if (operand != kIndexOperand || insn.insn == Insn::take_along) return e.size;
    const auto extent = static_cast<uint32_t>(insn.view_dims()[insn.m - 1].extent);
    return tail_of(insn, static_cast<int>(insn.m), ends, extent);
  }
  if (format == Format::matrix || is_attention(format)) {
    const MatrixSize size = matrix_size(insn, operand, e);
    const bool carries =
        operand == 0 && is_attention(format) && MatrixAux::of(insn.dtype, insn.aux).loop;
    return size.rows * (size.columns + (carries ? 2 : 0));
  }
  if (operand == 0 && reduces_chunks(insn)) return core::sum_chunks(e.size * e.n);
  const bool is_short =
      (format == Format::broadcast && operand == 1) || (format == Format::reduce && operand == 0);
  return is_short ? e.m * e.n : e.m * e.size * e.n;
}

}  // namespace dvm::vm
