// Tiles of a box of dims that several operands walk: how the Programs are cut that are made for one
// op and not by way of Regions (gathers, and what goes along an axis).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vm/isa/program.h"

namespace dvm::vm {

inline constexpr int kMaxBoxOperands = 4;

// A dim, outermost first: its size, and the bytes from one element to the next in each operand, 0
// where that does not move.
struct BoxDim {
  int64_t size;
  int64_t strides[kMaxBoxOperands];
};

// Inner dims are whole in a tile as far as its elements go, one is cut, those outside it have one
// position per tile: so one extent has a tail, and always along the innermost dim of the grid.
class BoxTiles {
 public:
  using Dims = uint32_t;  // bit by dim
  static constexpr Dims kAll = ~Dims{0};

  // At least one dim, none of which is empty; `most` elements in a tile; those in `alone` have one
  // position per tile in any case.
  BoxTiles(std::span<const BoxDim> dims, int64_t most, Dims alone = 0);

  // Tiles per dim that several of them share, outermost first; at least one.
  std::vector<int64_t> grid() const;
  int64_t elements(Dims in = kAll) const;  // of a tile
  // How a stream moves along the grid.
  std::vector<int64_t> stream(int operand, Dims in = kAll) const;
  // The extents of an instruction over a tile: of an elementwise one, or of one that goes through
  // an operand by the view dims that are returned.
  void set_linear(Instruction& fixed) const;
  std::vector<ViewDim> set_view(Instruction& fixed, int operand, Dims in = kAll) const;
  // Of all tiles.
  Global global(int operand, DType dtype, bool written, Dims in = kAll) const;
  // As many positions, that many bytes apart, of what is there.
  static void repeat(Global& global, int64_t count, int64_t stride);

 private:
  static bool has(Dims dims, int d) { return (dims >> d & 1) != 0; }
  int64_t tiles(int d) const { return (dims_[d].size + tile_[d] - 1) / tile_[d]; }
  // Of the dim that is cut, in its last tile.
  int64_t last(int d) const { return dims_[d].size - (tiles(d) - 1) * tile_[d]; }

  int rank_;
  BoxDim dims_[kMaxRank];
  int64_t tile_[kMaxRank];
  int grid_[kMaxRank], grid_rank_ = 0;  // the dims that several tiles share
};

}  // namespace dvm::vm
