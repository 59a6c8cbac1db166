// A Kernel whose reductions feed steps is one Program where tiles hold what is reduced. Where they
// cannot (a row is too long, or sizes of 1 part what the Region took for one space), it is run in
// parts: each ends with its reductions, and what a later part needs waits in a workspace.
#pragma once

#include "vm/tile/kernel.h"

namespace dvm::vm {

// Fills in `parts` and `kept`; both stay empty where no reduction feeds a step.
void cut_at_reductions(Kernel& kernel);

}  // namespace dvm::vm
