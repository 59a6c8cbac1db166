// Results that a segment writes straight into arrays of the caller (`np.add(a, b, out=c)`), instead
// of into new arrays that are copied there behind the commit.
//
// That is before the commit, and so must not be seen if the replay is given up. The lowering names
// targets only where giving up makes no difference (effects.py): the segment is the last step that
// can fail, and the original, which then runs, writes all of the target without having read it. It
// must come that far, too. A failed check of the Plan would stop it, so all checks come before the
// first write; a warning that is an error would, so where flags are looked at the filters are
// asked; an integer to a negative power would, so those have no targets.
#pragma once

#include <span>

#include "capture/replay/array_host.h"
#include "capture/replay/frame.h"

namespace dvm::capture {

// A smaller array is copied sooner than all is asked.
inline constexpr int64_t kLeastPlacedBytes = int64_t{1} << 13;

// Which of the Plan's host arrays that result is, if it may be memory that others look at: nothing
// behind its first use gives the call up. -1: none.
int32_t placeable(const runtime::Plan& plan, int32_t result);

// Fills in Segment::Output::allocation where the Plan allows a target.
void find_targets(Segment& segment);

// The results of this call that go into their targets, written to `placed` (room for one per
// output); their number. All of them or none.
size_t place_results(const Frame& frame, const Segment& segment,
                     std::span<const runtime::BufferView> inputs, PlacedResult* placed);

}  // namespace dvm::capture
