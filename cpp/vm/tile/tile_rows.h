// How tiles lie to the chains that run over them: as rows, so that what has an element for each row
// or for each column need not be expanded.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "vm/tile/bind.h"
#include "vm/tile/tiler.h"

namespace dvm::vm {

// How the tiles of a Stage lie to chains: the dims that a tile spans, and those of them that make
// the columns of its rows, 0 where chains take a tile for one row.
struct TileRows {
  DimMask wide = 0, columns = 0;

  // The first dim of the columns.
  int columns_begin() const { return columns == 0 ? 0 : std::countr_zero(columns); }
};
TileRows tile_rows(const Stage& stage, const Tiling& tiling);

// The elements of a row that is worth a run of its own, in which what is for each row is a scalar.
inline constexpr int64_t kLongRow = 1024;
// Whether chains compute several rows of so many elements at once: of short ones, none may end
// within the lanes of a sum.
bool may_be_rows(int64_t elements);
// Whether each of such rows is a run of its own.
bool are_alone(int64_t elements);

// What the elements of a value stand for, in a chain over elements that span `of`; nothing where it
// has to be expanded. Spans are of Stage values.
std::optional<Reach> reach_of(DimMask value, DimMask of, TileRows rows);

// Whether the step broadcasts, in tiles that lie so, what chains can read as it is: it is no work
// then.
bool vanishes(const Stage& stage, const KernelStep& step, TileRows rows);
// Whether there are tiles for which a broadcast is no work, such ones or, where rows are computed,
// single rows.
bool may_vanish(const Stage& stage, const KernelStep& step);

// Chains compute with elements of these dtypes, and read no others but one by one.
bool is_wide(DType dtype);

}  // namespace dvm::vm
