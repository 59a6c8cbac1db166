// What the effects of a path are about to drop: the old values of attributes, variables and items.
//
// A path reads all that it needs before it changes anything, makes of several changes to one place
// only the last, and its registers let go of what they hold when all is over. Nobody can see that,
// unless code runs or answers change when an old value dies. So this is asked before anything is
// visible.
#pragma once

#include "capture/replay/frame.h"

namespace dvm::capture {

// Notes in the path which of its effects may drop what others see.
void note_drops(Path& path);

// Whether the program could tell when something dies that the effects of the frame's path drop.
bool drops_tell(const Frame& frame);

}  // namespace dvm::capture
