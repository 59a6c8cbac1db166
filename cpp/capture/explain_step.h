// Paths in words: a listing of their steps, and why a call did not take one.
#pragma once

#include <string>

#include "capture/path.h"

namespace dvm::capture {

struct Frame;

// One line per step: `r3 = attribute r0, 'weight'  # model.py:7`.
std::string print(const Path& path);

// Why the step of the frame's path failed: "argument x: dtype float32 became float64".
std::string explain_miss(const Frame& frame, const Step& step);

// Why a computation of the frame's path failed; the Python error, if any, stays set.
std::string explain_drop(const Frame& frame, const Step& step);

}  // namespace dvm::capture
