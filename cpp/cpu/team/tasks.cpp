#include "cpu/team/tasks.h"

#include <algorithm>
#include <bit>

namespace dvm::cpu {

namespace {

class Cutter {
 public:
  Cutter(std::span<const vm::Launch> launches, std::span<const LaunchCost> costs,
         const ThreadTeam& team)
      : launches_(launches), costs_(costs), team_(team) {}

  Tasks run() {
    sort_by_wave();
    for (int begin = 0, end; begin < size(); begin = end) {
      end = begin + 1;
      while (end < size() && wave(end) == wave(begin)) ++end;
      add_wave(begin, end);
    }
    // Of T threads, all but one T-th of the time can be saved.
    const double threads = team_.threads();
    if (saved_ns_ * threads < team_.fork_ns() * (threads - 1)) tasks_.items = 0;
    return tasks_;
  }

 private:
  int size() const { return static_cast<int>(launches_.size()); }
  size_t launch(int position) const { return tasks_.order[position]; }
  int wave(int position) const { return wave_[launch(position)]; }
  const LaunchCost& cost(int position) const { return costs_[launch(position)]; }

  // A launch is of the wave behind the last one that it waits for.
  void sort_by_wave() {
    for (size_t k = 0; k < launches_.size(); ++k) {
      wave_[k] = 0;
      for (uint32_t waits = launches_[k].waits_for; waits != 0; waits &= waits - 1) {
        wave_[k] = std::max(wave_[k], wave_[std::countr_zero(waits)] + 1);
      }
      int position = static_cast<int>(k);
      for (; position > 0 && wave(position - 1) > wave_[k]; --position) {
        tasks_.order[position] = tasks_.order[position - 1];
      }
      tasks_.order[position] = static_cast<uint8_t>(k);
    }
  }

  void add_wave(int begin, int end) {
    double all_ns = 0, longest_ns = 0;
    const int first_task = tasks_.count;
    for (int position = begin; position < end; ++position) {
      const auto [tiles, tile_ns] = cost(position);
      const int64_t chunk = std::min(tiles, team_.shared_chunk(tiles, tile_ns));
      all_ns += tile_ns * static_cast<double>(tiles);
      longest_ns = std::max(longest_ns, tile_ns * static_cast<double>(chunk));
      add_task(position, chunk);
    }
    saved_ns_ += all_ns - std::max(all_ns / team_.threads(), longest_ns);
    // Nobody else could do anything meanwhile, and what the one wrote is near to it.
    const bool alone = tasks_.count == first_task + 1 && tasks_.list[first_task].items == 1;
    if (alone && was_alone_) join_last();
    was_alone_ = alone;
  }

  void add_task(int position, int64_t chunk) {
    const int64_t items = (cost(position).tiles + chunk - 1) / chunk;
    Task& task = tasks_.list[tasks_.count];
    task = {position, 1, chunk, tasks_.items, items, 0};
    task_of_[launch(position)] = tasks_.count++;
    tasks_.items += items;
    for (uint32_t waits = launches_[launch(position)].waits_for; waits != 0; waits &= waits - 1) {
      task.waits_for |= 1U << task_of_[std::countr_zero(waits)];
    }
  }

  // The last task becomes part of the one before it.
  void join_last() {
    const Task& last = tasks_.list[--tasks_.count];
    const int kept = tasks_.count - 1;
    Task& task = tasks_.list[kept];
    task_of_[launch(last.first)] = kept;
    task.waits_for |= last.waits_for & ~(1U << kept);
    ++task.count;
    --tasks_.items;
  }

  const std::span<const vm::Launch> launches_;
  const std::span<const LaunchCost> costs_;
  const ThreadTeam& team_;
  Tasks tasks_;
  int wave_[vm::kMaxLaunches], task_of_[vm::kMaxLaunches];
  double saved_ns_ = 0;
  bool was_alone_ = false;
};

}  // namespace

Tasks cut_into_tasks(std::span<const vm::Launch> launches, std::span<const LaunchCost> costs,
                     const ThreadTeam& team) {
  return Cutter(launches, costs, team).run();
}

}  // namespace dvm::cpu
