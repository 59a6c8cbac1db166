// What a target has fast bodies for, as TargetTraits say it: of which steps the planner makes
// chains. The rows are those of chain_rules.def.
#pragma once

#include <cstdint>

#include "vm/isa/program.h"

namespace dvm::vm {

enum class ChainElements : uint8_t { floats, integers, bools };
inline constexpr int kChainElements = 3;

// Of a step by the elements that it computes with.
struct ChainRule {
  bool joins = false;  // a chain may compute it
  bool alone = false;  // and is worth it for this step alone
};
struct ChainRules {
  ChainRule rule[kChainElements][kInsnCount];

  const ChainRule& of(ChainElements elements, Insn insn) const {
    return rule[static_cast<size_t>(elements)][static_cast<size_t>(insn)];
  }
};
// Of the bodies that the cpu has.
extern const ChainRules kChainRules;

// Chains compute with elements of these dtypes, and read no others but one by one.
constexpr bool is_wide(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
}

// All elements of a chain are computed with in one width, so that banks hold equally many of them;
// narrower ones only come from memory, go there, or are made of others by a cast. The width in
// bytes of the chains that may compute a step of this dtype and aux; or any, or none.
inline constexpr int8_t kNoChain = -1, kAnyWidth = 0;
int8_t chain_width(const ChainRules& rules, Insn insn, DType dtype, uint8_t aux);

}  // namespace dvm::vm
