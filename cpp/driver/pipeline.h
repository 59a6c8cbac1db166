// The passes by name, for compile() and run_pass().
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "driver/compile.h"
#include "fuser/fuse.h"
#include "vm/target/target.h"

namespace dvm::driver {

struct PassSettings {
  core::DTypeSet halves;  // widened_halves()
  core::Precision precision = core::Precision::highest;
  bool reads_windows = true;  // the target does, where they lie
};

struct GraphPass {
  std::string_view name;
  // Appends what it decided.
  core::Graph (*run)(const core::Graph&, const PassSettings&, std::vector<core::Decision>&);
  bool (*applies)(const PassSettings&);  // else it is left out
  bool is_needed;                        // else users may switch it off
  std::string_view synopsis;
};
std::span<const GraphPass> graph_passes();

// UnknownTargetError for a name of none.
const vm::TargetTraits& traits_of(std::string_view name);

// Those whose operations are computed in f32: with strict numerics none, for each operation rounds
// as the eager library does, else those that the target has no arithmetic for.
core::DTypeSet widened_halves(const Options& options);

fuser::Limits region_limits(const vm::TargetTraits& target);
std::string print(const fuser::Fusion& fusion);

}  // namespace dvm::driver
