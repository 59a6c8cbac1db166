// The time of this thread, which other threads and processes do not lengthen, and the wall's.
#pragma once

#include "capture/policy.h"

namespace dvm::capture {

Times times();
Times since(const Times& begin);

}  // namespace dvm::capture
