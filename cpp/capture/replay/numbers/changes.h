// What the paths of a loop tell of its turns: the steps of each, what it returns, what turns
// change.
#pragma once

#include <memory>
#include <vector>

#include "capture/path/path.h"
#include "capture/replay/replay.h"

namespace dvm::capture::numbers {

const Path& root_of(const Path& path);
// The steps of a path from the root of its tree on.
std::vector<TreeStep> all_steps(const Path& path);

// What a turn's tuple has: its first item, if it is a constant, and the registers of the others.
// By register, the slot of the argument that it holds; -1: none.
struct Returned {
  std::vector<int32_t> arguments, registers;
  PyObject* tag = nullptr;
};
Returned returned_by(const Path& path);

// What a turn changes: the item, behind the variables, is one of them.
struct Changes {
  std::vector<bool> slots;
  std::vector<int32_t> carried;  // slots of what a turn's tuple holds, in order
  bool changes_lists = false;    // in some of them, or of loops within
  bool needs_attempt = false;    // for some change lists, draw, or hold loops
};

// Of the turns of a loop, as far as its paths tell.
Changes changes_of(const std::vector<std::unique_ptr<Path>>& paths, int32_t variables,
                   const std::vector<int32_t>& carried);

}  // namespace dvm::capture::numbers
