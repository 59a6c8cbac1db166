// How tiles lie to what computes them: which dims they span, which operands are runs of memory in
// them, and, to chains, as rows, so that what has an element for each row or for each column need
// not be expanded.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "vm/target/target.h"
#include "vm/tile/bind.h"
#include "vm/tile/tiling.h"

namespace dvm::vm {

// How the tiles of a Stage lie to chains: the dims that a tile spans, and those of them that make
// the columns of its rows, 0 where chains take a tile for one row.
struct TileRows {
  DimMask wide = 0, columns = 0;
  bool operator==(const TileRows&) const = default;

  // The first dim of the columns.
  int columns_begin() const { return columns == 0 ? 0 : std::countr_zero(columns); }
};

// What of a tiling decides how its tiles are computed; its sizes only scale that.
struct TileShape {
  TileRows rows;
  // Bits of Stage::accesses: whose tile is one run of memory. Of the others those whose tile is
  // rows, all the same way apart: of the columns, for chains to read, and those that reductions may
  // read (Stage::reduced_rows_begin()).
  uint64_t dense = 0, column_rows = 0, reduced_rows = 0;
  bool operator==(const TileShape&) const = default;

  bool is_dense(int access) const { return (dense >> access & 1) != 0; }
};
static_assert(kMaxStageAccesses <= 64);
TileShape shape_of(const Stage& stage, const Tiling& tiling, const TargetTraits& target);

// The elements of a row that is worth a run of its own, in which what is for each row is a scalar.
inline constexpr int64_t kLongRow = 1024;
// Whether each of such rows is a run of its own: it is long, or does not end with the lanes of a
// sum.
bool are_alone(int64_t elements);
// Whether such rows are runs that take longer than their elements do in a run of all.
bool are_short(int64_t elements);

// What the elements of a value stand for, in a chain over elements that span `of`; nothing where it
// has to be expanded. Spans are of Stage values.
std::optional<Reach> reach_of(DimMask value, DimMask of, TileRows rows);

}  // namespace dvm::vm
