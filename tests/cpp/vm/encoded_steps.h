// The steps that the encoder makes chains of, as it answers when asked: those which targets have
// fast bodies for.
#pragma once

#include <vector>

#include "vm/isa/program.h"
#include "vm/target/chain_rules.h"

namespace dvm::vm {

// Every step of the chains whose elements have `width` bytes: its instruction, dtype and aux.
inline std::vector<MicroOp> encoded_steps(int width) {
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
        if (!contains(row.dtypes, step.dtype)) continue;
        const int8_t own = chain_width(kChainRules, step.insn, step.dtype, step.aux);
        if (own == kAnyWidth || own == width) steps.push_back(step);
      }
    }
  }
  return steps;
}

}  // namespace dvm::vm
