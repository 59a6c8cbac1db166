#pragma once

#include "capture/cpython/code_table.h"

namespace dvm::capture {

Meaning meaning_since_313(int opcode, int oparg);

}  // namespace dvm::capture
