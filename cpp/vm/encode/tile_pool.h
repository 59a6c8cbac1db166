// Tiles of products on the cube whose times were measured: the pool that tuning fills, and what a
// product takes in such tiles by the model of waves (paper TSCompiler, sections 4.3 and 6). How
// many waves there are is known once a call's sizes are; how long one takes was measured before.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ops/dtype.h"
#include "vm/target/target.h"

namespace dvm::vm {

// How the right factor lies: its rows are runs of memory, or its columns.
enum class RightLies : uint8_t { by_rows, by_columns };

// Cycles that grow with k, the length of what is added up.
struct CyclesByDepth {
  double fixed = 0, each = 0;  // for each element of k
  double at(int64_t k) const { return fixed + each * static_cast<double>(k); }
  bool operator==(const CyclesByDepth&) const = default;
};

// Tiles of m by n sums in steps of k. A wave is one tile for each cube of the target.
struct MeasuredTile {
  core::DType source;  // of both factors
  RightLies right;
  int64_t m, n, k;
  CyclesByDepth first, next;  // a launch of one wave; each further one
  bool operator==(const MeasuredTile&) const = default;
};
using TilePool = std::vector<MeasuredTile>;

// The pool of a target, that of tile_pool.def where none was set.
std::shared_ptr<const TilePool> tile_pool(const TargetTraits& target);
// For Programs that are encoded from now on. UnsupportedError for a tile that the target has
// no room for, or that takes no time.
void set_tile_pool(const TargetTraits& target, TilePool pool);

}  // namespace dvm::vm
