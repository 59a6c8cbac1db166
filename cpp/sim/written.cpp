#include "sim/written.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace dvm::sim {

WrittenElements::WrittenElements(const vm::Launch& launch)
    : globals_(launch.program.globals().size()) {
  int64_t tiles = 0;
  const auto add = [&](const vm::Program& program) {
    first_tile_.push_back(static_cast<int32_t>(tiles));
    tiles += program.header().tile_count;
    DVM_CHECK(tiles <= vm::kMaxTiles, "a launch has more tiles than a simulation can number");
    for (size_t g = 0; g < globals_.size(); ++g) {
      const vm::Global& global = program.globals()[g];
      const bool is_place =
          static_cast<int>(g) == launch.handed.global || static_cast<int>(g) == launch.made.global;
      if (global.written == 0 || is_place) continue;
      Elements& all = globals_[g];
      const bool first = all.low == all.high;
      all.low = first ? global.low : std::min(all.low, global.low);
      all.high = first ? global.high : std::max(all.high, global.high);
      all.size = core::byte_size(global.dtype);
    }
  };
  add(launch.program);
  for (const vm::Follower& follower : launch.followers) add(follower.program);
  for (Elements& all : globals_) {
    all.writer.assign(static_cast<size_t>((all.high - all.low) / all.size), kNobody);
  }
}

int64_t WrittenElements::write(size_t program, int64_t tile, size_t global, int64_t begin,
                               int64_t count) {
  Elements& all = globals_[global];
  if (!all.is_watched()) return -1;
  const auto by = static_cast<int32_t>(first_tile_[program] + tile);
  const auto first = all.writer.begin() + (begin - all.low) / all.size;
  const auto other = std::find_if(
      first, first + count, [by](int32_t writer) { return writer != kNobody && writer != by; });
  if (other != first + count) return all.low + (other - all.writer.begin()) * all.size;
  std::fill_n(first, count, by);
  return -1;
}

int64_t WrittenElements::read(size_t program, int64_t tile, size_t global, int64_t begin,
                              int64_t count) const {
  const Elements& all = globals_[global];
  if (!all.is_watched()) return -1;
  const auto by = static_cast<int32_t>(first_tile_[program] + tile);
  const auto first = all.writer.begin() + (begin - all.low) / all.size;
  const auto other =
      std::find_if(first, first + count, [by](int32_t writer) { return writer != by; });
  return other == first + count ? -1 : all.low + (other - all.writer.begin()) * all.size;
}

void WrittenElements::check_ends() const {
  for (size_t g = 0; g < globals_.size(); ++g) {
    const Elements& all = globals_[g];
    if (!all.is_watched() || (all.writer.front() != kNobody && all.writer.back() != kNobody)) {
      continue;
    }
    core::fail(core::ErrorCode::sim_fault,
               "the " + std::string(all.writer.front() == kNobody ? "first" : "last") +
                   " element of global g" + std::to_string(g) + " was written by no tile");
  }
}

}  // namespace dvm::sim
