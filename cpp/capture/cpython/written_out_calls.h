// Calls of `any`, `all` and `tuple` with a generator expression, which the compiler of 3.14 writes
// out as loops, behind a look at what the name stands for. They are recorded as calls all the same.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

// The instructions of one, by code unit.
struct WrittenOutCall {
  int32_t compares = -1;  // what the name stands for with what it should
  int32_t jumps = -1;     // to the call itself, if that is another
  int32_t drops = -1;     // the callee
  int32_t makes = -1;     // the list that a tuple is made of
  int32_t loop = -1;      // over the generator
};

// In no particular order; the code object keeps them.
const std::vector<WrittenOutCall>& written_out_calls(PyCodeObject* code);

}  // namespace dvm::capture
