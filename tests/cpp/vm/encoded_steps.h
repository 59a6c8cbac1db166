// The steps that the encoder makes chains of, as it answers when asked: those which targets have
// fast bodies for.
#pragma once

#include <memory>
#include <vector>

#include "vm/isa/program.h"
#include "vm/tile/chain_steps.h"

namespace dvm::vm {

// Whether the two make a chain, one after the other; the second is one of a chain.
inline bool make_chain(const MicroOp& first, const MicroOp& second) {
  static const auto stage = std::make_unique<Stage>();
  stage->value_count = stage->step_count = 0;
  for (const MicroOp& op : {first, second}) {
    const Instruction alone{.insn = op.insn, .dtype = op.dtype, .aux = op.aux};
    KernelStep& step = stage->steps[stage->step_count++];
    step = {.insn = op.insn, .dtype = op.dtype, .aux = op.aux};
    step.arity = static_cast<uint8_t>(info(op.insn).operands - 1);
    for (int k = 0; k <= step.arity; ++k) {
      const auto value = static_cast<int16_t>(stage->value_count++);
      stage->values[value] = {.dtype = operand_dtype(alone, k)};
      (k == 0 ? step.dst : step.src[k - 1]) = value;
    }
  }
  const int8_t width = chain_width(*stage, stage->steps[0]);
  const int8_t other = chain_width(*stage, stage->steps[1]);
  return width != kNoChain && (width == kAnyWidth || width == other);
}

// Every step of the chains whose elements have `width` bytes: its instruction, dtype and aux.
inline std::vector<MicroOp> encoded_steps(int width) {
  const DType wide = width == 4 ? DType::f32 : DType::f64;
  const MicroOp of_width{.insn = Insn::add, .dtype = wide};
  std::vector<MicroOp> steps;
  for (int i = 0; i < kInsnCount; ++i) {
    const auto insn = static_cast<Insn>(i);
    const InsnInfo& row = info(insn);
    if (row.pipe != Pipe::simd || info(row.format).extents != ExtentKind::linear) continue;
    if (insn == Insn::chain) continue;
    const int choices = row.format == Format::cast      ? core::kDTypeCount
                        : row.format == Format::compare ? kCompareCount
                                                        : 1;
    for (int d = 0; d < core::kDTypeCount; ++d) {
      for (int aux = 0; aux < choices; ++aux) {
        const MicroOp step{
            .insn = insn, .dtype = static_cast<DType>(d), .aux = static_cast<uint8_t>(aux)};
        if (contains(row.dtypes, step.dtype) && make_chain(step, of_width)) steps.push_back(step);
      }
    }
  }
  return steps;
}

}  // namespace dvm::vm
