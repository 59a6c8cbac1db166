// How long things take on the AI Cores of a SoC: the rows of core_timing.def as a struct.
#pragma once

#include <span>
#include <string_view>

#include "vm/isa/program.h"

namespace dvm::vm {

struct TargetTraits;

struct CoreTiming {
#define DVM_TIMING(name, value, least, origin, synopsis) double name = value;
#include "vm/target/core_timing.def"
  bool operator==(const CoreTiming&) const = default;
};

// Of an instruction of the vector unit: cycles per 256-byte repeat, and those of its own. `scalar`:
// of its two sources one is a scalar that it takes as such.
struct VectorCost {
  double slope, head;
};
VectorCost vector_cost(Insn insn, DType dtype, bool scalar);

// A row, for who reads or overrides it by name.
struct TimingRow {
  std::string_view name;
  double CoreTiming::*value;
  double least;
  std::string_view origin, synopsis;
};
std::span<const TimingRow> timing_rows();

// Of a target: its own values where it has any.
CoreTiming core_timing(std::string_view target);
// The same, of the target that these traits are of or were made from.
const CoreTiming& core_timing(const TargetTraits& target);
// What stands in the row of that SoC: origin and synopsis of the value that core_timing() gives.
TimingRow timing_row_of(std::string_view target, const TimingRow& row);
// Sets one value by its name. UnsupportedError for a name that no row has, or a value below its
// least.
void set_timing(CoreTiming& timing, std::string_view name, double value);

}  // namespace dvm::vm
