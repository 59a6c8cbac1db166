// Fusion -> Plan: registers, memory and checks. Every array lives from the unit that makes it to
// the last that uses it; one that leaves the Plan, or that the host gets to see, is the host's.
#pragma once

#include "core/graph/graph.h"
#include "fuser/fuse.h"
#include "runtime/plan/plan.h"

namespace dvm::driver {

runtime::Plan lower(const core::Graph& graph, fuser::Fusion fusion);

}  // namespace dvm::driver
