// Programs of products of matrices for AI Cores. Both factors come by way of L1 to where the cube
// reads them, in slots that take turns at each stage, so that the pipes load, feed and multiply
// different steps of k at the same time:
//
//   global memory --load--> L1 --feed--> L0A, L0B --matmul--> L0C --drain--> global memory
//
// The bytes of a slot are the hardware's own order of fractals in L1 and L0, which no instruction
// can observe; here they are rows, and slots have room for whole fractals.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vm/isa/program.h"
#include "vm/target/target.h"
#include "vm/tile/contraction.h"

namespace dvm::vm {

// Whether the target multiplies so: it has an L1.
bool has_cube(const TargetTraits& target);

// Slots that take turns: steps of k that are on their way in L1, and beside the cube.
inline constexpr int kTurnsInL1 = 4, kTurnsInL0 = 2;

// In which order tiles follow each other (the swizzle): bands of `width` rows of tiles, or columns,
// from end to end and within a band across it. Cores run neighbouring tiles at the same time, and
// share what these read in the second cache.
struct TileOrder {
  bool by_columns = false;  // bands are columns of tiles
  int64_t width = 1;        // all of them: one band
  bool operator==(const TileOrder&) const = default;
};
// How a product is computed: tiles of m by n sums, in steps of k.
struct CubeTiling {
  int64_t m, n, k;
  TileOrder order;
};
// What each vector core beside the cube does with a tile of sums: cycles by tile and by element;
// and bytes of bytecode, for each kind of tile.
struct WorkBehind {
  double per_tile = 0, per_element = 0;
  int64_t bytecode = 0;
};
// Of least time: by the pool of tiles that were measured (vm/encode/tile_pool.h), where both
// factors lie as those did; else by vm/target/core_timing.def.
CubeTiling tile_cube(const Contraction& product, const TargetTraits& target,
                     const WorkBehind& behind = {});
// With tiles of m by n sums, or as many as there are.
CubeTiling tile_cube(const Contraction& product, const TargetTraits& target, int64_t m, int64_t n);
// Why a product of such factors cannot be computed in such tiles: one is no tile, or exceeds a
// memory beside the cube. Empty where it can.
std::string why_no_tile(DType source, const CubeTiling& tiling, const TargetTraits& target);
// Cycles of the core that has most to do.
double cube_cycles(const Contraction& product, const CubeTiling& tiling, const TargetTraits& target,
                   const WorkBehind& behind = {});

// Nothing in the product may be empty. Throws UnsupportedError where a limit of Programs is
// exceeded.
Program encode_cube(const Contraction& product, const CubeTiling& tiling,
                    const TargetTraits& target, std::span<uint64_t> words);

}  // namespace dvm::vm
