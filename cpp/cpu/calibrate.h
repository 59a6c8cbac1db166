// Measures the constants of vm/target/cost.def on this machine, in about a second.
#pragma once

#include "vm/target/calibration.h"

namespace dvm::cpu {

// SIMD level and processor: what was measured elsewhere does not hold here.
std::string machine_name();

// Programs of one kind of instruction each, on the calling thread but for the team's. What is a
// choice rather than a cost (how long to spin, say) keeps its default.
vm::Calibration calibrate();

}  // namespace dvm::cpu
