#include "vm/target/launch.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace dvm::vm {

namespace {

bool conflict(const Launch& a, const Program& of_a, const Launch& b, const Program& of_b) {
  const std::span<const Global> globals_of_a = of_a.globals(), globals_of_b = of_b.globals();
  for (size_t i = 0; i < globals_of_a.size(); ++i) {
    const Global& x = globals_of_a[i];
    if (x.low == x.high || a.globals[i] == nullptr) continue;  // its own, or handed over
    // As integers: the bytes of a stream begin anywhere from its base.
    const auto x_base = reinterpret_cast<intptr_t>(a.globals[i]);
    for (size_t j = 0; j < globals_of_b.size(); ++j) {
      const Global& y = globals_of_b[j];
      if (y.low == y.high || b.globals[j] == nullptr || (x.written | y.written) == 0) continue;
      const auto y_base = reinterpret_cast<intptr_t>(b.globals[j]);
      if (x_base + x.low < y_base + y.high && y_base + y.low < x_base + x.high) return true;
    }
  }
  return false;
}

// Calls f for the Program of the launch and for its followers, until one says true.
template <typename F>
bool any_program(const Launch& launch, F f) {
  return f(launch.program) ||
         std::any_of(launch.followers.begin(), launch.followers.end(),
                     [&](const Follower& follower) { return f(follower.program); });
}

}  // namespace

Follower::Range Follower::behind(const Program& leader, int64_t tile) const {
  const std::span<const int64_t> grid = leader.grid();
  const int64_t across = grid[grid.size() - 1], down = grid[grid.size() - 2];
  const int64_t column = tile % across - first_column, row = tile / across % down - first_row;
  if (column < 0 || column >= columns || row < 0 || row >= rows) return {0, 0};
  const int64_t batch = tile / across / down;
  const int64_t begin = ((batch * rows + row) * columns + column) * tiles;
  return {begin, begin + tiles};
}

void verify_followers(const Program& leader, std::span<const Follower> followers,
                      const HandedOver& handed) {
  DVM_CHECK(leader.grid().size() >= 2, "a leader has no rows and columns of tiles");
  const auto global = static_cast<size_t>(handed.global);
  const auto fits = [&](const Program& program, bool writes) {
    const Global& own = program.globals()[global];
    return own.low >= 0 && own.high <= handed.bytes && (own.written != 0) == writes;
  };
  DVM_CHECK(fits(leader, true), "a leader does not write what it hands over");
  std::vector<int64_t> met(followers.size());  // tiles of each
  for (int64_t tile = 0; tile < leader.header().tile_count; ++tile) {
    int owners = 0;
    for (size_t f = 0; f < followers.size(); ++f) {
      const Follower::Range range = followers[f].behind(leader, tile);
      if (range.begin == range.end) continue;
      DVM_CHECK(range.begin == met[f], "a follower's tiles are out of order");
      met[f] = range.end;
      ++owners;
    }
    DVM_CHECK(owners == 1, "a tile of a leader has no follower, or several");
  }
  for (size_t f = 0; f < followers.size(); ++f) {
    const Program& program = followers[f].program;
    DVM_CHECK(met[f] == program.header().tile_count, "a follower has tiles behind none");
    DVM_CHECK(fits(program, false), "a follower writes what is handed over, or reads too far");
  }
}

bool conflict(const Launch& a, const Launch& b) {
  return any_program(a, [&](const Program& of_a) {
    return any_program(b, [&](const Program& of_b) { return conflict(a, of_a, b, of_b); });
  });
}

uint32_t find_waits(std::span<const Launch> earlier, const Launch& launch) {
  uint32_t waits = 0, ended = 0;
  for (size_t k = earlier.size(); k-- > 0;) {
    if ((ended >> k & 1) == 0) {
      if (!conflict(earlier[k], launch)) continue;
      waits |= 1U << k;
    }
    ended |= earlier[k].waits_for;
  }
  return waits;
}

}  // namespace dvm::vm
