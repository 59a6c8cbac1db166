// Values that a path computed go as soon as none of its steps reads them again, as the program's
// own temporaries do: a long loop holds one array, not one per turn.
#pragma once

#include "capture/path/path.h"

namespace dvm::capture {

// Adds the `forget` steps of a path that nothing hangs on yet.
void forget_early(Path& path);

}  // namespace dvm::capture
