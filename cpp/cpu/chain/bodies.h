// The bodies that chain_text.inc makes for one SIMD level and width of elements, as chain.cpp sees
// them: a table of entries, and the way in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/simd_level.h"

namespace dvm::cpu {

// What a program for the bodies is made of: the assembly text says more.
struct ChainStep {
  const std::byte* block;
  const std::byte* vector;
  uint64_t operand;
};

// How far the sums of rows are whose lanes are in registers, in units of as many elements as a sum
// has lanes. A sum starts anew with each chunk (core/ops/sum_order.h).
struct SumCursor {
  int64_t left;      // of the chunk
  int64_t row_left;  // of the row, behind the chunk
  int64_t row_units;
  std::byte* lanes;  // where those of the chunk go
};

// What of a program's steps is another for each row: the address of an operand moves on by `stride`
// bytes; with `element` it is that element's bits, which lie `stride` bytes apart.
struct ChainMove {
  uint64_t* operand;
  int64_t stride;
  const std::byte* element;
};

// The rows that a program runs over one after the other, and what changes between two of them.
struct ChainRowLoop {
  int64_t rows = 1;
  ChainMove* begin = nullptr;
  ChainMove* end = nullptr;
  int64_t overlap = 0;  // whether elements may be computed twice
};

struct ChainBodies {
  // Two distances from the table per entry, of its bodies; both 0 where the level has none.
  const int32_t* table;
  // Runs a program over rows of so many bytes per operand of full width. Counts the rows down, and
  // leaves what it moved where it is then.
  void (*run)(const ChainStep* program, int64_t bytes, ChainRowLoop* rows) noexcept;
  // Whether quiet operations may raise flags.
  bool raise_too_much;
  // Bytes per operand that a block runs over, and the banks that the lanes of sums take: the last
  // ones; 0 where they do not fit.
  int block_bytes, lane_banks;
};

// nullptr where there are none.
const ChainBodies* chain_bodies(SimdLevel level, int width);

}  // namespace dvm::cpu
