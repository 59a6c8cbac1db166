// How the transfers that are under way share the bandwidth of the chip: each gets as much as all
// others, until its own pipe, the second cache or global memory gives no more (max-min fairness).
#pragma once

#include <span>
#include <vector>

#include "sim/timing/cost.h"

namespace dvm::sim {

// What keeps a transfer from being faster.
enum class Limit : uint8_t { own, l2, hbm };

struct Share {
  const Transfer* transfer = nullptr;
  double rate = 0;  // of its amount, per cycle
  Limit limit = Limit::own;
};

// Fills in rate and limit of each.
void share_bandwidth(std::span<Share> shares, const vm::CoreTiming& timing);

}  // namespace dvm::sim
