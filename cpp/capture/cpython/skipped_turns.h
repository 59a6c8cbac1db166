// Turns of a loop that are not recorded. What a turn does the first ones show, of a loop within
// another one those of each run, and the last two how the loop ends; those between run with
// an event per turn at least, which counts them.
#pragma once

#include "capture/cpython/frame_recorder.h"

namespace dvm::capture {

class SkippedTurns {
 public:
  bool is_on() const { return frame_ != nullptr; }
  bool is_of(PyFrameObject* frame) const { return frame == frame_; }
  // The frame is at a turn of its innermost loop. If that has many more before the last ones, or
  // before one that is wanted, they are skipped from here on. `is_outermost`: the frame is the
  // function's own.
  bool begin(PyFrameObject* frame, FrameRecorder& recorder, const FrameView& f, bool is_outermost,
             std::span<const int64_t> wanted);
  // The frame is at a place: of a turn that is skipped, of the first one that is recorded again
  // (skipping ends), or behind a loop that it has left before that.
  enum class Passed : uint8_t { skipped, recorded, left };
  Passed pass(FrameRecorder& recorder, const FrameView& f);

 private:
  PyFrameObject* frame_ = nullptr;
  int64_t turns_ = 0, left_ = 0;
};

}  // namespace dvm::capture
