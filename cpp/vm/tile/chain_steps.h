// Which steps of a Stage a chain may compute, by the rules of the target.
#pragma once

#include "vm/target/chain_rules.h"
#include "vm/tile/bind.h"

namespace dvm::vm {

// The width of the chains that the step may be one of.
int8_t chain_width(const ChainRules& rules, const Stage& stage, const KernelStep& step);

// Whether the step sums rows of what a chain of that width computes, in the order that chains have.
bool sums_rows(const Stage& stage, const KernelStep& step, int width);

}  // namespace dvm::vm
