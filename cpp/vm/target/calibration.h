// The constants of the cost model as text, which is what a calibration leaves behind:
//
//   dvm calibration v1
//   machine avx512, GenuineIntel 6-143-8, Intel(R) Xeon(R) Processor
//   arithmetic.f32 0.0385
//   tile_ns 3.75
//
// One constant of cost.def a line, in any order; what is missing keeps its default.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "vm/target/cost.h"

namespace dvm::vm {

struct Calibration {
  std::string machine;  // where it was measured: one line without spaces around it
  CostTable table;
};

// One constant; a class of cost.def is one per column.
struct CostEntry {
  std::string name;
  double least, most;
  std::string_view synopsis;
};
// Calls f(entry, value) for every constant, in the order of cost.def.
void for_each_cost(CostTable& table, const std::function<void(const CostEntry&, double&)>& f);

std::string print(const Calibration& calibration);
// Throws FormatError naming the line; total on any text.
Calibration parse_calibration(std::string_view text);

}  // namespace dvm::vm
