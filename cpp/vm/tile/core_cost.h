// What tiles of a Stage cost an AI Core, by the parameters of its SoC (vm/target/core_timing.def):
// the constants of Algorithm 1 of the DVM paper on simulated targets.
#pragma once

#include "vm/target/target.h"
#include "vm/tile/bind.h"

namespace dvm::vm {

// Cycles of a launch, in which a core loads and computes a tile, and stores it while the next one
// loads.
struct CoreCost {
  double launch = 0;       // whatever its tiles are, the last store's own cycles included
  double per_core = 0;     // that begins
  double per_tile = 0;     // starts of transfers and instructions, latencies, flags
  double per_element = 0;  // of a tile
  double stored = 0;       // the same, behind the last tile
  // Of `rounds` tiles of so many elements on each of some cores.
  double operator()(double cores, double rounds, double elements) const {
    return launch + cores * per_core + rounds * (per_tile + elements * per_element) +
           elements * stored;
  }
};
CoreCost core_cost(const Stage& stage, const TargetTraits& target);

}  // namespace dvm::vm
