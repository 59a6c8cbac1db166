// Chains in registers: what the micro-ops of a chain compute stays in vector registers for a block
// of elements, where plain instructions go through memory. Only with AVX-512 or AVX2, and only
// where there is a body for each micro-op (chain_bodies.def); else vm/isa/chain.h runs the chain.
//
// A chain is also the unit that a direct emitter of machine code would take: it would stand beside
// run_chain_in_registers(), with the same contract.
#pragma once

#include "vm/isa/chain.h"

namespace dvm::cpu {

// Whether the SIMD level in use can; then the encoder makes chains.
bool has_chain_registers();

// From now on this thread may find other instructions where there were some before: what is known
// of chains by their addresses has to be forgotten.
void begin_chains() noexcept;

// Same bits and same status flags as the plain kernels, micro-op by micro-op, but for which NaN a
// sum or product of two NaNs gives. False where it cannot run the chain: only what the chain writes
// may have changed then, so that another way of running it is as good as ever.
bool run_chain_in_registers(const vm::ChainArgs& args) noexcept;

// Runs any chain: in registers where that can be, else by the kernels of its micro-ops.
void run_chain(const vm::ChainArgs& args, const vm::KernelTable& kernels) noexcept;

}  // namespace dvm::cpu
