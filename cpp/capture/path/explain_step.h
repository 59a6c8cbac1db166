// Paths in words: a listing of their steps, and why a call did not take one.
#pragma once

#include <string>

#include "capture/path/history.h"
#include "capture/path/path.h"

namespace dvm::capture {

struct Frame;

// One line per step: `r3 = attribute r0, 'weight'  # model.py:7`.
std::string print(const Path& path);

// Why the step of the frame's path failed: "argument x: dtype float32 became float64".
Miss explain_miss(const Frame& frame, const Step& step);

// Why a computation of the frame's path failed; the Python error, if any, stays set.
Miss explain_drop(const Frame& frame, const Step& step);

// A call's function by its name: "numpy.sort", "normal" (a method).
std::string callee_of(const Path& path, const Step& call);

// At most 60 characters of an object's repr, where that runs no code of the user's; else its kind.
std::string safe_repr(PyObject* object);

}  // namespace dvm::capture
