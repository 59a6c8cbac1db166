// Which steps of a Stage a chain may compute.
#pragma once

#include "vm/tile/bind.h"

namespace dvm::vm {

// Chains compute with elements of these dtypes, and read no others but one by one.
bool is_wide(DType dtype);

// All elements of a chain are computed with in one width, so that banks hold equally many of them;
// narrower ones only come from memory, go there, or are made of others by a cast. The width of the
// chains that a step may be one of, in bytes; or any, or none.
inline constexpr int8_t kNoChain = -1, kAnyWidth = 0;
int8_t chain_width(const Stage& stage, const KernelStep& step);

// Whether a step of `insn` is long enough to be a chain by itself.
bool is_chain_alone(Insn insn);

// Whether the step sums rows of what a chain of that width computes, in the order that chains have.
bool sums_rows(const Stage& stage, const KernelStep& step, int width);
// Whether such rows are long: of short ones, lanes are as much work as their elements.
bool sums_long_rows(const Stage& stage, const KernelStep& step);

}  // namespace dvm::vm
