// Algorithm 2 of the DVM paper: the loop over tiles and instructions, shared by every target.
//
// A target supplies a Core type:
//   std::byte* local(uint32_t offset, int64_t bytes)       a slot
//   void begin(const Header&), end(const Header&)          before its first, after its last tile
//   void wait(const Sync&), set(const Sync&)               asynchronous pipes; no-ops on the cpu
//   void execute(const Instruction&, const TileArgs&, tile)  runs I[insn](args)
//   bool checks()                                          constexpr: whether operands are checked
// The Core decides what is checked; the loop itself only decodes.
#pragma once

#include <span>

#include "vm/program.h"
#include "vm/tile_kernel.h"

namespace dvm::vm {

template <typename Core>
void run_tiles(const Program& program, std::span<std::byte* const> globals, int64_t begin,
               int64_t end, Core& core);

}  // namespace dvm::vm
