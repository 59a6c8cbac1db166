// Whether a thread's stack has room: the interpreter's own limit of recursion counts calls, and may
// be set as high as one likes.
#pragma once

namespace dvm::capture {

// For a call of C++ code and what it calls.
bool has_stack_room();

}  // namespace dvm::capture
