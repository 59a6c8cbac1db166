// The loops of a code object, as the instructions that jump back tell: where each begins, and how
// far it goes. The recorder marks each turn of them, with new nodes for the variables that the loop
// names, so that a turn can be read as a function of its own.
#pragma once

#include <unordered_map>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

struct CodeLoop {
  int32_t begin, end;               // code units, the second one behind the loop
  std::vector<int32_t> slots = {};  // of the variables that its instructions name
  std::vector<int32_t> set = {};    // those of them that these set
  std::vector<int32_t> cells =
      {};                      // of those that functions within close over, or that it closes over
  int32_t filled = -1;         // of a comprehension: where on the stack its list is
  bool is_left_early = false;  // by `break` or `return`, in some turns
  bool holds(int32_t unit) const { return begin <= unit && unit < end; }
};

// Of all code objects that one recording meets, which keeps them alive.
class CodeLoops {
 public:
  // By their beginnings; one that begins within another ends within it.
  const std::vector<CodeLoop>& of(PyCodeObject* code);

 private:
  std::unordered_map<PyCodeObject*, std::vector<CodeLoop>> known_;
};

}  // namespace dvm::capture
