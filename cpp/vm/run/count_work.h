// How much work a Program is, counted by going through its tiles without computing anything.
#pragma once

#include <cstdint>

#include "vm/isa/program.h"

namespace dvm::vm {

struct Work {
  // Arithmetic on elements: one for each result of an elementwise instruction or comparison, one
  // for each element that is reduced, two for each multiply-add of a product. What only moves,
  // converts or chooses elements is none.
  int64_t operations = 0;
  int64_t bytes = 0;  // of the global operands that it may touch, each once
};
Work count_work(const Program& program);

}  // namespace dvm::vm
