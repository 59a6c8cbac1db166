// The signature of every tile kernel, and the table a target fills with them: Algorithm 2's
// "virtual instruction table I". One entry per instruction x dtype (of Instruction::dtype).
#pragma once

#include <cstddef>
#include <cstdint>

#include "vm/isa/program.h"

namespace dvm::vm {

struct TileArgs {
  std::byte* dst;
  const std::byte* src[4];            // as many as the format has
  int64_t m, size, n;                 // extents of this tile, tail already applied
  std::optional<int64_t> row_stride;  // triple formats: of src[0], see row_stride()
  uint8_t scalar_mask;                // bit k: src[k] is one element that stands for all
  uint8_t aux;                        // Instruction::aux
  const ViewDim* dims;                // view formats: aux dims, tail already applied; else nullptr
  // Of products of matrices, attentions and gathers alone:
  bool adds;                // to what dst holds
  const Instruction* insn;  // how matrices lie; the extents of tiles that are no tails
  int64_t first_column;     // of windows: that of the tile among all
  // Of attentions: what they have besides, the dtype of q, k and v, and where the tile is.
  const AttentionWords* attention;
  int64_t last;        // row i of the tile sees rows of k of this step up to i + last
  bool carries, ends;  // whether this is a step of a loop, and the last one
  std::byte* scratch;  // of this thread, as large as the target makes it
  Fault* fault;        // where it says that an index is not there
};
// A kernel cannot fail: what it touches has been checked before. dst may equal a source of an
// elementwise instruction exactly; otherwise they do not overlap.
using TileKernel = void (*)(const TileArgs&) noexcept;

// nullptr where isa.def allows no such dtype.
struct KernelTable {
  TileKernel at[kInsnCount][core::kDTypeCount] = {};

  constexpr TileKernel& entry(Insn insn, DType dtype) {
    return at[static_cast<int>(insn)][static_cast<int>(dtype)];
  }
  TileKernel operator()(const Instruction& insn) const {
    return at[static_cast<int>(insn.insn)][static_cast<int>(insn.dtype)];
  }
};

}  // namespace dvm::vm
