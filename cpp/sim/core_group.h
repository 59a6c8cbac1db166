// A launch with followers on groups of AI Cores (mix kernels): the core of the cube computes tiles
// of the leader, and the two vector cores beside it what follows on them. Both flags of what is
// handed over are in vm/target/launch.h; here the cores of a group run one after another, tile by
// tile, and sim/timing runs them side by side.
#pragma once

#include "sim/sim_target.h"

namespace dvm::sim {

// As SimTarget::run_and_report(); cores are those of each group, the cube's first.
SimReport run_groups(const vm::Launch& launch, const vm::TargetTraits& traits,
                     const CommonRun& common);

}  // namespace dvm::sim
