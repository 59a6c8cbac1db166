// What a target is asked to run: Programs with their operands, and which of them wait for which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/ops/fp_flags.h"
#include "vm/isa/program.h"

namespace dvm::vm {

struct RunStatus {
  core::FpFlags flags = 0;    // that operations raised, as NumPy's would, and kTiedZeros
  Fault fault = Fault::none;  // with one, results are of no use, those of later launches included
  uint16_t launch = 0;        // whose fault it is: the first in the list, if several have one
};

inline constexpr int kMaxLaunches = 16;  // in a list

struct Launch {
  Program program;
  // globals[k] is the base address of global operand k, aligned to its dtype.
  std::span<std::byte* const> globals;
  // Bit k: begins when launch k of the list, which stands before it, has ended. Those that it waits
  // for indirectly need no bit.
  uint32_t waits_for = 0;
  int32_t label = -1;  // of the step of a watched call (vm/target/watch.h)
};

// Whether the later of the two must wait for the other one: it writes where that reads or writes,
// or reads where that writes. By the bytes from the lowest to the highest that an operand may
// touch.
bool conflict(const Launch& a, const Launch& b);

// What `launch` has to wait for behind `earlier`, as Launch::waits_for.
uint32_t find_waits(std::span<const Launch> earlier, const Launch& launch);

}  // namespace dvm::vm
