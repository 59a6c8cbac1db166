// Installing Paths: each is compiled, and shares what it has in common with an earlier one.
#pragma once

#include <memory>
#include <vector>

#include "capture/path.h"

namespace dvm::capture {

// Compiles the segments of a path that ends up in `paths`; `roots` are those of them which start
// from the beginning. With `may_share`, the new path is hung into the tree of a root that begins in
// the same way; without, no existing path is touched (a replay of one is in flight).
//
// A segment dvm has no compiled form for turns the rest of the path into a fallback.
void install(std::unique_ptr<Path> path, std::vector<std::unique_ptr<Path>>& paths,
             std::vector<Path*>& roots, bool may_share);

}  // namespace dvm::capture
