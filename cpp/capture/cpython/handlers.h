// Where an exception goes: a code object's exception table.
#pragma once

#include <optional>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

struct Handler {
  int begin, end;  // the code units that it covers
  int target;      // the handler's first code unit
  int depth;       // entries that stay on the value stack
  bool lasti;      // the interrupted code unit is pushed before the exception
};

std::vector<Handler> handlers_of(const PyCodeObject* code);
// The handler for an exception raised by the instruction at this code unit; none: it leaves the
// frame.
std::optional<Handler> handler_of(const PyCodeObject* code, int instruction);

}  // namespace dvm::capture
