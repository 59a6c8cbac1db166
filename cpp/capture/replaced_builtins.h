// What dvm itself is written with, should the program put something else in its place.
#pragma once

namespace dvm::capture {

// Notes functions and types of `builtins` as they are.
bool note_builtins();

// The name of one that is another now, or null. Then nothing is captured: the lowering would call
// what the program has put there, which would see that, and may answer anything.
const char* replaced_builtin();

}  // namespace dvm::capture
