// Random flags of a Program: between instructions, around loops, and those that steps hand on.
#pragma once

#include <vector>

#include "vm/program_draft.h"

namespace dvm::vm {

class RandomFlags {
 public:
  explicit RandomFlags(ProgramDraft& draft) : draft_(draft) {}

  void add() {
    draft_.loop_flags = 0;
    for (size_t tries = draft_.below(3 * draft_.code.size()); tries > 0; --tries) {
      const size_t later = draft_.below(draft_.code.size()), earlier = draft_.below(later + 1);
      if (!has_flags(pipe(earlier), pipe(later)) || !together(earlier, later)) continue;
      const auto event = static_cast<uint8_t>(draft_.below(kFirstCarried));
      draft_.code[earlier].sets.push_back({1, pipe(earlier), pipe(later), event, 0});
      draft_.code[later].waits.push_back({0, pipe(earlier), pipe(later), event, 0});
    }
    for (const LoopFlagInfo& row : kLoopFlags) {
      if (draft_.chance(50)) continue;
      draft_.loop_flags |= row.flag;
      const size_t waiter = draft_.below(draft_.code.size()),
                   setter = draft_.below(draft_.code.size());
      if (waiter > setter || pipe(waiter) != row.dst || pipe(setter) != row.src ||
          !together(waiter, setter) || !draft_.code[waiter].loops.empty()) {
        continue;
      }
      draft_.code[waiter].waits.push_back({0, row.src, row.dst, 0, 0});
      draft_.code[setter].sets.push_back({1, row.src, row.dst, 0, 0});
    }
    for (size_t begin = 0; begin < draft_.code.size(); ++begin) {
      if (draft_.code[begin].fixed.insn == Insn::loop) add_loop_flags(begin);
    }
  }

 private:
  using Line = ProgramDraft::Line;

  Pipe pipe(size_t line) const { return info(draft_.code[line].fixed.insn).pipe; }
  // Whether they are in the same loops, so that they run equally often.
  bool together(size_t a, size_t b) const { return draft_.code[a].loops == draft_.code[b].loops; }

  // Flags around a loop, and those that its steps hand on.
  void add_loop_flags(size_t begin) {
    Line& loop = draft_.code[begin];
    std::vector<size_t> inside, before, behind;
    const std::vector<int> around(loop.loops.begin(), loop.loops.end() - 1);
    for (size_t i = 0; i < draft_.code.size(); ++i) {
      if (draft_.code[i].fixed.insn == Insn::loop) continue;
      if (draft_.code[i].loops == loop.loops) inside.push_back(i);
      if (draft_.code[i].loops == around) (i < begin ? before : behind).push_back(i);
    }
    const auto any = [&](const std::vector<size_t>& of) { return of[draft_.below(of.size())]; };
    const auto event = static_cast<uint8_t>(kFirstCarried + loop.loops.size() - 1);
    if (!inside.empty()) {
      const size_t waiter = any(inside), setter = any(inside);
      if (waiter <= setter && has_flags(pipe(setter), pipe(waiter))) {
        loop.carries.push_back({2, pipe(setter), pipe(waiter), event, 0});
        draft_.code[waiter].waits.push_back({0, pipe(setter), pipe(waiter), event, 0});
        draft_.code[setter].sets.push_back({1, pipe(setter), pipe(waiter), event, 0});
      }
    }
    const auto dst = static_cast<Pipe>(draft_.below(kPipeCount));
    if (!before.empty()) {
      const size_t setter = any(before);
      if (has_flags(pipe(setter), dst)) {
        draft_.code[setter].sets.push_back({1, pipe(setter), dst, 1, 0});
        loop.waits.push_back({0, pipe(setter), dst, 1, 0});
      }
    }
    if (!behind.empty()) {
      const size_t waiter = any(behind);
      if (has_flags(dst, pipe(waiter))) {
        loop.sets.push_back({1, dst, pipe(waiter), 2, 0});
        draft_.code[waiter].waits.push_back({0, dst, pipe(waiter), 2, 0});
      }
    }
  }

  ProgramDraft& draft_;
  // Events from here on are for what loops carry; three nested ones have one each.
  static constexpr uint8_t kFirstCarried = kEventIds - 3;
};

}  // namespace dvm::vm
