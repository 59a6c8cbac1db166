#include "capture/cpython/skipped_turns.h"

#include <algorithm>

#include "capture/record/turns_left.h"

namespace dvm::capture {

namespace {

constexpr int64_t kRecordedLast = 2;
// Turns that are worth it: of the outermost loop, which may be unrolled where it is a short one,
// and of one within another.
constexpr int64_t kFewest = 32, kFewestWithin = 8;

}  // namespace

bool SkippedTurns::begin(PyFrameObject* frame, FrameRecorder& recorder, const FrameView& f,
                         bool is_outermost, std::span<const int64_t> wanted) {
  is_outermost = is_outermost && recorder.loops() == 1;
  // What leaves a loop within another one, or within a call, would be what the recording lacks.
  if (!is_outermost && recorder.is_left_early()) return false;
  const int64_t turn = recorder.next_turn();
  int64_t turns = turns_left(f.stack[f.depth - 1]) - kRecordedLast;
  for (const int64_t other : wanted) {
    if (other >= turn) turns = std::min(turns, other - turn);
  }
  if (turns < (is_outermost ? kFewest : kFewestWithin)) return false;
  recorder.begin_opcode(f);
  frame_ = frame;
  turns_ = left_ = turns;
  return true;
}

SkippedTurns::Passed SkippedTurns::pass(FrameRecorder& recorder, const FrameView& f) {
  if (!recorder.is_in_loop(f)) return Passed::left;
  if (!recorder.is_at_turn(f) || --left_ > 0) return Passed::skipped;
  frame_ = nullptr;
  recorder.go_on_at_turn(f, turns_);
  return Passed::recorded;
}

}  // namespace dvm::capture
