// Flags between pipes that run asynchronously: every dependency of an instruction on one of another
// pipe, through slots, is ordered by a set after the one and a wait before the other. A pipe itself
// runs in order, so only the latest instruction of each other pipe counts, and none that an earlier
// pair of set and wait already covers.
//
// Slots are used again by the next tile. Where that lets a pipe run ahead of one that comes later
// in the data flow (a backward pair: simd to load, store to simd, store to load), event 0 of the
// pair is carried from tile to tile: the core sets it before its first tile and waits for it after
// its last. Pairs inside a tile take the other events in turn. Forward pairs need no carrying: the
// reader that frees a slot has itself waited for the writer.
//
// A loop is one instruction to those around it: it waits before its first step for what any of its
// body needs, and sets flags after its last. Where a step depends on the step before it, the loop
// carries events from step to step, and none that others use: one for each such dependency as far
// as there are any, so that slots that take turns (ping-pong) are waited for one by one. What is
// left are as many events for each depth, so that a flag that is set before a loop and waited for
// behind it is not taken by a step.
#pragma once

#include <cstdint>
#include <span>

#include "vm/isa/program.h"

namespace dvm::vm {

// The slots an instruction touches, as byte ranges of local memory. A loop, of the scalar pipe,
// touches none; its body follows it.
struct SlotUse {
  static constexpr int16_t kNoLoop = -1;
  struct Range {
    uint32_t begin = 0, end = 0;
    bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  };
  Pipe pipe = Pipe::simd;
  uint8_t reads = 0;
  int16_t around = kNoLoop;          // the use of the innermost loop that it is in
  Range read[4] = {}, written = {};  // `written` is empty for stores
};

// Syncs of one instruction in the order of Instruction::sync_list(): waits, sets, then what a loop
// carries; each in the order of pipes, with those carried across tiles last.
struct SyncList {
  // An instruction has waits and sets, within and across tiles, for two other pipes. A loop of
  // three pipes has them for each pair of these, and carries them.
  static constexpr int kMax = 30;
  uint8_t count = 0;
  Sync at[kMax];
};

// Fills syncs[i] for uses[i]; returns the header's loop_flags.
uint8_t plan_flags(std::span<const SlotUse> uses, std::span<SyncList> syncs);

}  // namespace dvm::vm
