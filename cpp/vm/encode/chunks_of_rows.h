// Reductions of all of an array whose rows lie apart. Its two dims do not merge, and the order of
// sums is that of its elements one after the other, in chunks that begin and end anywhere in a row.
// A tile is as many whole rows as make whole chunks, and one instruction gives a partial result for
// each chunk of it (vm/isa/reduce_source.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "vm/encode/drafts.h"
#include "vm/target/target.h"
#include "vm/tile/bind.h"
#include "vm/tile/tiling.h"

namespace dvm::vm {

// The tiling of such a Stage, and the chunks of a tile; none where the Stage is another, or the
// target does not read rows where they lie.
struct ChunksOfRows {
  Tiling tiling;
  int64_t chunks = 0;
};
std::optional<ChunksOfRows> chunks_of_rows(const Stage& stage, const TargetTraits& target);

// The Program of the Stage that store_partials() made of it.
Program encode_chunks_of_rows(const Stage& stage, const ChunksOfRows& rows_of_tile,
                              const TargetTraits& target, std::span<uint64_t> words,
                              Drafts& drafts);

}  // namespace dvm::vm
