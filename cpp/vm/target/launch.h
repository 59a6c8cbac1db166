// What a target is asked to run: Programs with their operands, and which of them wait for which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/math/integers.h"
#include "core/ops/fp_flags.h"
#include "vm/isa/program.h"

namespace dvm::vm {

struct RunStatus {
  core::FpFlags flags = 0;    // that operations raised, as NumPy's would, and kTiedZeros
  Fault fault = Fault::none;  // with one, results are of no use, those of later launches included
  uint16_t launch = 0;        // whose fault it is: the first in the list, if several have one
};

inline constexpr int kMaxLaunches = 16;  // in a list

// A Program that goes along with another one, its leader, tile by tile: where a core has finished a
// tile of the leader, it runs those of the follower that read what it left. A maker goes ahead: the
// core runs those of its tiles that write what the leader's tile reads.
struct Follower {
  Program program;
  // The leader's tiles that it follows, among the last two dims of its grid: as many, from there.
  int32_t first_row = 0, rows = 1, first_column = 0, columns = 1;
  int32_t tiles = 1;  // of the follower, for each of those
  bool makes = false;

  // The tiles [begin, end) that belong to a tile of the leader; none for many of them.
  struct Range {
    int64_t begin, end;
  };
  Range behind(const Program& leader, int64_t tile) const;
};

// Of a group of AI Cores the one of the cube runs the leader, and each of two of vectors half of
// what is behind a tile.
inline constexpr int kVectorCores = 2;
Follower::Range half_of(const Follower::Range& behind, int64_t tile, int core);

// The operand in which each tile of a leader lies until its followers have read it. It has bytes
// for one tile, and no base: every core has places of its own for it, which take turns. Where
// followers run on other cores these hear of a tile by a flag across cores, which its pipe `fix`
// sets and their pipes `load` wait for, and by another one the place is given back (DVM paper,
// section 4.1: mix kernels). The counter of such a flag goes no further than kMaxTurns.
inline constexpr int kMaxTurns = 15;
struct HandedOver {
  int16_t global = -1;  // none
  int turns = 1;
  int64_t bytes = 0;
  bool operator==(const HandedOver&) const = default;
};

struct Launch {
  Program program;
  // globals[k] is the base address of global operand k, aligned to its dtype.
  std::span<std::byte* const> globals;
  // Bit k: begins when launch k of the list, which stands before it, has ended. Those that it waits
  // for indirectly need no bit.
  uint32_t waits_for = 0;
  int32_t label = -1;  // of the step of a watched call (vm/target/watch.h)
  // Of the Program: they have the same globals.
  std::span<const Follower> followers = {};
  // What the leader leaves to those behind it, and what makers leave to the leader.
  HandedOver handed = {}, made = {};

  // Of both, beside each other, as run_followed_tiles() takes them.
  int64_t place_bytes() const { return place_of_made() + made.bytes; }
  int64_t place_of_made() const { return core::round_up(handed.bytes, int64_t{64}); }
};

// Throws InternalError where a tile of the leader has not exactly one follower and one maker, if
// there are any of these, or where they do not agree on what is handed over or made.
void verify_followers(const Launch& launch);

// Whether the later of the two must wait for the other one: it writes where that reads or writes,
// or reads where that writes. By the bytes from the lowest to the highest that an operand may
// touch.
bool conflict(const Launch& a, const Launch& b);

// What `launch` has to wait for behind `earlier`, as Launch::waits_for.
uint32_t find_waits(std::span<const Launch> earlier, const Launch& launch);

}  // namespace dvm::vm
