// Installing Paths: what a new path has in common with an earlier one runs once for both.
//
// A path that begins like another one (registers renamed) and leaves it at a guard with an outcome
// is hung to that guard: only what comes from there on is kept of it. So `while error > tolerance`
// with many iteration counts is one pass with many exits.
#pragma once

#include <memory>
#include <vector>

#include "capture/path/path.h"

namespace dvm::capture {

// Compiles the segments of a path that ends up in `paths`; `roots` are those of them which start
// from the beginning. Without `may_share` no existing path is touched (a replay of one may be in
// flight).
//
// A segment dvm has no compiled form for turns the rest of the path into a fallback.
Path* install(std::unique_ptr<Path> path, std::vector<std::unique_ptr<Path>>& paths,
              std::vector<Path*>& roots, bool may_share);

}  // namespace dvm::capture
