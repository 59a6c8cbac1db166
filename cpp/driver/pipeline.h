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
  // With widened_halves(); appends what it decided.
  core::Graph (*run)(const core::Graph&, core::DTypeSet halves, std::vector<core::Decision>&);
  bool widens;  // left out where there are none
};
std::span<const GraphPass> graph_passes();

// Those whose operations are computed in f32: with strict numerics none, for each operation rounds
// as the eager library does, else those that the target has no arithmetic for.
core::DTypeSet widened_halves(const Options& options);

fuser::Limits region_limits();
std::string print(const fuser::Fusion& fusion);

}  // namespace dvm::driver
