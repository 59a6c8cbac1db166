// Fusion -> Plan: registers, memory and checks. Every array lives from the unit that makes it to
// the last that uses it; one that leaves the Plan, or that the host gets to see, is the host's.
#pragma once

#include <functional>
#include <span>

#include "core/graph/graph.h"
#include "driver/module_names.h"
#include "driver/size_checks.h"
#include "fuser/fuse.h"
#include "runtime/plan/plan.h"

namespace dvm::driver {

// How a loop or branch of the Graph has its bodies compiled: its body number `index`.
using CompileBody = std::function<runtime::Plan(const core::Node& owner, size_t index)>;

struct LowerOptions {
  // So many of the arguments, from the first on, are a loop body's to write to; of them those that
  // it does write are declared so.
  size_t own_arguments = 0;
  bool dense_results = false;       // as Options has it
  bool reshapes_are_views = false;  // the same
  std::span<const SizeCheck> checks = {};
  const ModuleNames* module = nullptr;
};
runtime::Plan lower(const core::Graph& graph, fuser::Fusion fusion, const CompileBody& compile_body,
                    const LowerOptions& options);

}  // namespace dvm::driver
