// What an Arena keeps for the making of Programs, reused from call to call.
#pragma once

#include "vm/encode/drafts.h"
#include "vm/tile/bind.h"
#include "vm/tile/schedule.h"

namespace dvm::vm {

// Of one call. Each output of a Region, and each value that its parts keep, may be a Stage of its
// own, and a Stage three Programs for each of the levels of partial results that any size has.
inline constexpr int kMaxPrograms = 1024;
static_assert((kMaxGlobals + kMaxKept) * 3 * 7 <= kMaxPrograms);

struct EncodeScratch {
  Program programs[kMaxPrograms];
  Stage stage, next, uncut, rows;
  Schedules schedules;
  Drafts drafts;
};

}  // namespace dvm::vm
