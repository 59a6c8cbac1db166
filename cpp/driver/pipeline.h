// The passes by name, for compile() and run_pass().
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "driver/compile.h"
#include "fuser/fuse.h"

namespace dvm::driver {

struct GraphPass {
  std::string_view name;
  core::Graph (*run)(const core::Graph&);
  bool widened_only;  // left out where each operation rounds as the eager library does
};
std::span<const GraphPass> graph_passes();

// Whether operations on fp16 are computed in f32.
bool widens(const Options& options);

fuser::Limits region_limits();
std::string print(const fuser::Fusion& fusion);

}  // namespace dvm::driver
