// What bodies of loops do with the number of their trip.
#pragma once

#include <cstdint>

#include "runtime/plan/plan.h"

namespace dvm::runtime {

enum class TripUse : uint8_t {
  nothing,
  moves,     // it only says where views begin, in equal steps from trip to trip
  anything,  // or another number of the loop is used
};

// The number of the trip is the body's first scalar argument.
TripUse trip_use(const Plan& body);

}  // namespace dvm::runtime
