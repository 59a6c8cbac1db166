#include "vm/target/launch.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "vm/target/target.h"

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

Follower::Range half_of(const Follower::Range& behind, int64_t tile, int core) {
  // A single tile goes to one core, then to the other.
  const int64_t middle = (behind.begin + behind.end + (tile + 1) % 2) / 2;
  const int64_t end = std::min(middle, behind.end);
  return core == 0 ? Follower::Range{behind.begin, end} : Follower::Range{end, behind.end};
}

namespace {

// Whether nothing but that pipe touches the global, so that its flags tell when.
bool is_reached_by(const Program& program, int global, Pipe pipe) {
  for (std::span<const uint64_t> code = program.code(); !code.empty();) {
    const auto& insn = *reinterpret_cast<const Instruction*>(code.data());
    code = code.subspan(insn.words);
    for (int k = 0; k < insn.operand_count(); ++k) {
      const Operand& operand = insn.operands()[k];
      if (is_stream(operand) && program.stream(operand.index).global == global &&
          info(insn.insn).pipe != pipe) {
        return false;
      }
    }
  }
  return true;
}

void verify_flags(const Launch& launch) {
  const int global = launch.handed.global;
  DVM_CHECK(is_reached_by(launch.program, global, Pipe::fix),
            "a leader hands over by another pipe than fix");
  for (const Follower& follower : launch.followers) {
    DVM_CHECK(is_reached_by(follower.program, global, Pipe::load),
              "a follower reads what is not loaded");
  }
}

// What one side writes, the leader or its makers, and the other one reads.
void verify_place(const Launch& launch, const HandedOver& place, bool is_made) {
  const auto part = [&](const Program& program) -> const Global& {
    const auto global = static_cast<size_t>(place.global);
    DVM_CHECK(global < program.globals().size(), "what is handed over is no operand of a Program");
    return program.globals()[global];
  };
  const auto fits = [&](const Program& program, bool writes) {
    const Global& own = part(program);
    return own.low >= 0 && own.high <= place.bytes && (own.written != 0) == writes;
  };
  if (place.global >= 0) {
    DVM_CHECK(fits(launch.program, !is_made),
              is_made ? "a leader writes what is made for it, or reads too far"
                      : "a leader does not write what it hands over");
  }
  for (const Follower& follower : launch.followers) {
    if (follower.makes != is_made) {
      DVM_CHECK(place.global < 0 || part(follower.program).low == part(follower.program).high,
                "a Program has the place of others");
      continue;
    }
    DVM_CHECK(place.global >= 0, "there is no place for what a Program makes or follows");
    DVM_CHECK(fits(follower.program, is_made),
              is_made ? "a maker does not write what it makes, or writes too far"
                      : "a follower writes what is handed over, or reads too far");
  }
}

// Each of the leader has one tile or more of one follower behind it, and of one maker before it.
void verify_tiles(const Launch& launch) {
  const std::span<const Follower> followers = launch.followers;
  std::vector<int64_t> met(followers.size());  // tiles of each
  for (int64_t tile = 0; tile < launch.program.header().tile_count; ++tile) {
    int owners = 0, makers = 0;
    for (size_t f = 0; f < followers.size(); ++f) {
      const Follower::Range range = followers[f].behind(launch.program, tile);
      if (range.begin == range.end) continue;
      DVM_CHECK(range.begin == met[f], "a follower's tiles are out of order");
      met[f] = range.end;
      ++(followers[f].makes ? makers : owners);
    }
    DVM_CHECK(owners == (launch.handed.global >= 0 ? 1 : 0),
              "a tile of a leader has no follower, or several");
    DVM_CHECK(makers == (launch.made.global >= 0 ? 1 : 0),
              "a tile of a leader has no maker, or several");
  }
  for (size_t f = 0; f < followers.size(); ++f) {
    DVM_CHECK(met[f] == followers[f].program.header().tile_count,
              "a follower has tiles behind none");
  }
}

}  // namespace

void verify_followers(const Launch& launch) {
  const Program& leader = launch.program;
  DVM_CHECK(leader.grid().size() >= 2, "a leader has no rows and columns of tiles");
  verify_place(launch, launch.handed, false);
  verify_place(launch, launch.made, true);
  const bool has_flags = find_target(leader.header().target)->flags;
  if (launch.handed.global >= 0 && has_flags) verify_flags(launch);
  DVM_CHECK(launch.handed.turns >= (has_flags ? 2 : 1) && launch.handed.turns <= kMaxTurns,
            "no flag counts the places of what is handed over");
  verify_tiles(launch);
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
