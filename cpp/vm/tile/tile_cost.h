// cost(tiling, stage, target): what the tiler minimises.
//
// Simulated targets: Algorithm 1's rounds of tiles per core, each as long as its elements and what
// starting it costs, which least_cost_tile() minimises in closed form. A cpu: nanoseconds that
// depend on the tiling, from the constants of cost.def:
//
//   setup    of each tile: its instructions, strided loads with their runs of adjacent elements
//   spill    of what instructions hand on to each other, once a tile leaves the first cache
//   stall    where operands come from memory: long tiles do not overlap that with computing
#pragma once

#include <cstdint>

#include "vm/target/cost.h"
#include "vm/tile/schedule.h"
#include "vm/tile/tiling.h"

namespace dvm::vm {

class TileCosts {
 public:
  explicit TileCosts(Schedules& schedules);
  struct Estimate {
    double ns;  // of all tiles, less what every tiling costs; infinite where one does not fit
    bool
        roomy;  // nothing is lost by the size of the tile: a smaller one of this split is no better
  };
  Estimate operator()(const Tiling& tiling) const;

 private:
  // Of inputs to the outputs that they are, in one instruction each; the accesses on both sides.
  struct Copies {
    int count = 0;
    uint64_t accesses = 0;
  };
  Copies find_copies(const Schedule& schedule) const;
  double per_element(int64_t weight) const;
  double setup_ns(const TileUse& use) const;
  double functions_ns(int begin, int end) const;
  double rows_ns(const Tiling& tiling, const Schedule& schedule) const;
  Schedules& schedules_;
  const Stage& stage_;
  const StageFacts& facts_;
  const CostTable& table_ = cost_table();
  double elements_ = 1;
  bool from_memory_;  // operands
};

}  // namespace dvm::vm
