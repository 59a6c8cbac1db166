// The micro-ops of a chain: what each computes, and that every place holds what is read from it.
#include <algorithm>
#include <optional>

#include "core/error.h"
#include "vm/verify/tile.h"

namespace dvm::vm {

namespace {

bool is_elementwise(Insn insn) {
  const InsnInfo& row = info(insn);
  return row.pipe == Pipe::simd && info(row.format).extents == ExtentKind::linear &&
         insn != Insn::chain;
}

bool is_sum(const MicroOp& op) {
  return op.insn == Insn::sum && (op.dtype == DType::f32 || op.dtype == DType::f64);
}

int aux_end(Format format) {
  if (format == Format::cast) return core::kDTypeCount;
  return format == Format::compare ? kCompareCount : 1;
}

}  // namespace

void TileVerifier::check_chain(const Instruction& insn) const {
  std::optional<DType> held[kFirstOperand + kMaxChainOperands];  // by place: what can be read there
  bool used[kMaxChainOperands] = {};
  int next_operand = 0;
  int index = 0;
  auto refuse = [&](const std::string& message) {
    fail("micro-op " + number(index) + ": " + message);
  };
  auto use = [&](int place) {
    const int operand = place - kFirstOperand;
    if (operand < 0) return;
    if (operand >= insn.aux) refuse("there is no operand " + number(operand));
    if (operand > next_operand) {
      refuse("operand " + number(operand) + " is used before " + number(next_operand));
    }
    next_operand = std::max(next_operand, operand + 1);
    used[operand] = true;
  };
  for (int k = 0; k < insn.aux; ++k) {
    if (!writes(insn, k)) held[kFirstOperand + k] = operand_dtype(insn, k);
  }
  for (const MicroOp& op : insn.micro_ops()) {
    const bool is_total = is_sum(op) && &op == &insn.micro_ops().back();
    if (static_cast<int>(op.insn) >= kInsnCount || (!is_elementwise(op.insn) && !is_total)) {
      refuse("opcode " + number(static_cast<int>(op.insn)) +
             " is no elementwise instruction, nor a last sum of f32 or f64");
    }
    const InsnInfo& row = info(op.insn);
    if (static_cast<int>(op.dtype) >= core::kDTypeCount || !contains(row.dtypes, op.dtype) ||
        op.aux >= aux_end(row.format) || op.zero != 0) {
      refuse("dtype, aux or reserved bits mean nothing to " + std::string(row.name));
    }
    // The rules of its dtypes are those of an instruction of its own.
    const Instruction step{.insn = op.insn, .dtype = op.dtype, .aux = op.aux};
    for (int k = 0; k < 3; ++k) {
      if ((op.src[k] != 0) != (k + 1 < row.operands)) refuse("has too many or too few sources");
      if (op.src[k] == 0) continue;
      use(op.src[k]);
      if (held[op.src[k]] != operand_dtype(step, k + 1)) {
        refuse("source " + number(k) + " holds no " +
               std::string(core::to_string(operand_dtype(step, k + 1))));
      }
    }
    if (is_total && op.src[0] >= kFirstOperand) refuse("may sum no operand, only a bank");
    if (op.dst == 0) refuse("has no destination");
    use(op.dst);
    const DType result = operand_dtype(step, 0);
    const int operand = op.dst - kFirstOperand;
    if (is_total != (operand >= 0 && reach(insn, operand) == Reach::per_row)) {
      refuse("sums, and only they, are operands with an element for each row");
    }
    if (operand >= 0 && ((op.insn != Insn::copy && !is_total) || !writes(insn, operand) ||
                         operand_dtype(insn, operand) != result)) {
      refuse("may not write operand " + number(operand));
    }
    held[op.dst] = result;
    ++index;
  }
  if (!std::all_of(used, used + insn.aux, [](bool u) { return u; })) {
    fail("an operand is used by no micro-op");
  }
}

}  // namespace dvm::vm
