// Which results have the bits that the library's own functions would give them. Only a path of such
// alone may be left and taken again by what calls take: of any other, a program could tell when.
#pragma once

#include "capture/path/path.h"

namespace dvm::capture {

// Whether all that the path computes has.
bool has_plain_bits(const Path& path);

}  // namespace dvm::capture
