// What one Region may hold. All who count do it by this one budget: the fuser cuts Graphs by it,
// prepare() refuses what exceeds it, and the arrays of bind and encode are as long as it says, with
// what these add themselves for the sizes of a call (vm/tile/bind.h). So no call exhausts them.
#pragma once

#include <optional>
#include <string>

namespace dvm::core {

struct RegionBudget {
  int steps = 64;    // operations, broadcasts included
  int tensors = 32;  // inputs and outputs
  int values = 192;  // inputs, scalars and results of operations
  int shapes = 32;   // distinct ones
  int kept = 16;     // values to be stored where rows are too long to be computed one by one
  int levels = 4;    // reductions one behind the other
};
inline constexpr RegionBudget kRegionBudget;
inline constexpr RegionBudget kNothingUsed{0, 0, 0, 0, 0, 0};

// The first thing of which there is more than the budget has.
struct Excess {
  const char* rule;  // of the fuser, by which it cuts
  const char* what;
  int count, limit;
  std::string text() const {
    return std::to_string(count) + " " + what + " of at most " + std::to_string(limit);
  }
};

inline std::optional<Excess> find_excess(const RegionBudget& use, const RegionBudget& budget) {
  static constexpr struct {
    int RegionBudget::*count;
    const char *rule, *what;
  } kRows[] = {
      {&RegionBudget::steps, "step-limit", "operations"},
      {&RegionBudget::tensors, "tensor-limit", "tensors"},
      {&RegionBudget::values, "value-limit", "values"},
      {&RegionBudget::shapes, "shape-limit", "shapes"},
      {&RegionBudget::kept, "row-limit", "values between the passes over rows too long for a tile"},
      {&RegionBudget::levels, "row-limit", "reductions one behind the other"},
  };
  for (const auto& row : kRows) {
    if (use.*row.count > budget.*row.count)
      return Excess{row.rule, row.what, use.*row.count, budget.*row.count};
  }
  return std::nullopt;
}

}  // namespace dvm::core
