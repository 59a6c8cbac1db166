// emit: a tiled Stage and its Schedule -> a Program. Gives values their places (slots by liveness,
// streams where the target reads and writes global memory in place), turns runs of steps into
// instructions, adds loads, stores and flags.
#pragma once

#include <optional>
#include <span>

#include "vm/encode/drafts.h"
#include "vm/tile/schedule.h"
#include "vm/tile/tiling.h"

namespace dvm::vm {

// Writes the Program into `words`; none where the slots of this tiling exceed the local memory
// (values of mixed sizes can leave gaps that the tile limit does not foresee).
std::optional<Program> emit(Schedules& schedules, const Tiling& tiling, std::span<uint64_t> words,
                            Drafts& drafts);

}  // namespace dvm::vm
