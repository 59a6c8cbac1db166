// How the launches of one list become the items of one job of the team: those that wait for nothing
// lie side by side, and no thread sleeps between those that wait for each other.
#pragma once

#include <cstdint>
#include <span>

#include "cpu/team/thread_team.h"
#include "vm/target/launch.h"

namespace dvm::cpu {

struct LaunchCost {
  int64_t tiles;
  double tile_ns;
};

struct Task {
  // Positions in Tasks::order: one launch, or several that run one after the other in one item.
  int first, count;
  int64_t chunk;       // tiles of one item, but for the last
  int64_t first_item;  // in the job
  int64_t items;
  uint32_t waits_for;  // bit k: begins when task k has ended, whose items come before its own
};

struct Tasks {
  uint8_t order[vm::kMaxLaunches];  // of launches: first those that wait for nothing, and so on
  Task list[vm::kMaxLaunches];
  int count = 0;
  int64_t items = 0;  // 0: one thread is as fast

  int64_t end(int task) const { return list[task].first_item + list[task].items; }
};

// `costs`: of each launch.
Tasks cut_into_tasks(std::span<const vm::Launch> launches, std::span<const LaunchCost> costs,
                     const ThreadTeam& team);

}  // namespace dvm::cpu
