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

struct ChainBodies {
  // Two distances from the table per entry, of its bodies; both 0 where the level has none.
  const int32_t* table;
  // Runs a program over so many bytes per operand of full width; `overlap` says whether elements
  // may be computed twice.
  void (*run)(const ChainStep* program, int64_t bytes, int64_t overlap) noexcept;
  // Whether quiet operations may raise flags.
  bool raise_too_much;
};

// nullptr where there are none.
const ChainBodies* chain_bodies(SimdLevel level, int width);

}  // namespace dvm::cpu
