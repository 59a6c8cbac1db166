#include "vm/target/core_timing.h"

#include <cmath>
#include <map>
#include <string>

#include "core/error.h"
#include "vm/target/target.h"

namespace dvm::vm {

namespace {

constexpr TimingRow kTimingRows[] = {
#define DVM_TIMING(name, value, least, origin, synopsis) \
  {#name, &CoreTiming::name, least, #origin, synopsis},
#include "vm/target/core_timing.def"
};

struct OwnTiming {
  std::string_view target, name;
  double CoreTiming::*member;
  double value;
  std::string_view origin, synopsis;
};
constexpr OwnTiming kOwnTimings[] = {
#define DVM_TIMING_OF(target, name, value, origin, synopsis) \
  {#target, #name, &CoreTiming::name, value, #origin, synopsis},
#include "vm/target/core_timing.def"
};

}  // namespace

std::span<const TimingRow> timing_rows() { return kTimingRows; }

CoreTiming core_timing(std::string_view target) {
  CoreTiming timing;
  for (const OwnTiming& own : kOwnTimings) {
    if (own.target == target) timing.*own.member = own.value;
  }
  return timing;
}

const CoreTiming& core_timing(const TargetTraits& target) {
  static const std::map<uint8_t, CoreTiming> all = [] {
    std::map<uint8_t, CoreTiming> made;
    for (const TargetTraits& known : all_targets()) made[known.id] = core_timing(known.name);
    return made;
  }();
  return all.at(target.id);
}

VectorCost vector_cost(Insn insn, DType dtype, bool scalar) {
  VectorCost cost{info(insn).slope, info(insn).head};
  if (dtype == DType::f16) {
#define DVM_HALF_SLOPE(name, value) \
  if (insn == Insn::name) cost.slope = value;
#include "vm/target/slopes.def"
  }
  if (scalar) {
#define DVM_SCALAR_SLOPE(name, value, fixed) \
  if (insn == Insn::name) cost = {value, fixed};
#include "vm/target/slopes.def"
  }
  return cost;
}

TimingRow timing_row_of(std::string_view target, const TimingRow& row) {
  TimingRow found = row;
  for (const OwnTiming& own : kOwnTimings) {
    if (own.target != target || own.name != row.name) continue;
    found.origin = own.origin;
    found.synopsis = own.synopsis;
  }
  return found;
}

void set_timing(CoreTiming& timing, std::string_view name, double value) {
  for (const TimingRow& row : kTimingRows) {
    if (row.name != name) continue;
    if (!std::isfinite(value) || value < row.least) {
      core::fail(core::ErrorCode::unsupported, "timing " + std::string(name) + " is at least " +
                                                   std::to_string(row.least) + ", not " +
                                                   std::to_string(value));
    }
    timing.*row.value = value;
    return;
  }
  std::string names;
  for (const TimingRow& row : kTimingRows) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  core::fail(core::ErrorCode::unsupported,
             "no timing is named '" + std::string(name) + "'; there are " + names);
}

}  // namespace dvm::vm
