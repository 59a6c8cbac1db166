#include "sim/timing/bandwidth.h"

#include <algorithm>
#include <limits>

namespace dvm::sim {

namespace {

// One that all transfers use, each a share of its amount.
struct Resource {
  Limit limit;
  double Transfer::*use;
  double left;     // beside those whose rate is settled
  double use_sum;  // of the others
};

}  // namespace

void share_bandwidth(std::span<Share> shares, const vm::CoreTiming& timing) {
  Resource resources[] = {{Limit::l2, &Transfer::l2, timing.l2_bytes, 0},
                          {Limit::hbm, &Transfer::hbm, timing.hbm_bytes, 0}};
  constexpr double kUnsettled = -1;
  for (Share& share : shares) {
    share.rate = kUnsettled;
    for (Resource& resource : resources) resource.use_sum += share.transfer->*resource.use;
  }
  size_t unsettled = shares.size();
  while (unsettled != 0) {
    // The rate at which the first of them is stopped.
    double level = std::numeric_limits<double>::infinity();
    const Resource* exhausted = nullptr;
    for (const Resource& resource : resources) {
      if (resource.use_sum <= 0) continue;
      const double stops = std::max(resource.left, 0.0) / resource.use_sum;
      if (stops < level) {
        level = stops;
        exhausted = &resource;
      }
    }
    for (const Share& share : shares) {
      if (share.rate == kUnsettled && share.transfer->cap <= level) {
        level = share.transfer->cap;
        exhausted = nullptr;
      }
    }
    const Resource* const full = exhausted;
    size_t settled = 0;
    for (Share& share : shares) {
      if (share.rate != kUnsettled) continue;
      const bool stopped =
          full == nullptr ? share.transfer->cap <= level : share.transfer->*full->use > 0;
      if (!stopped) continue;
      share.rate = level;
      share.limit = full == nullptr ? Limit::own : full->limit;
      for (Resource& resource : resources) {
        resource.left -= share.transfer->*resource.use * level;
        resource.use_sum -= share.transfer->*resource.use;
      }
      ++settled;
    }
    if (full != nullptr) {
      // What is left of it is rounding.
      for (Resource& resource : resources) {
        if (&resource == full) resource.use_sum = 0;
      }
    }
    unsettled -= settled;
  }
}

}  // namespace dvm::sim
