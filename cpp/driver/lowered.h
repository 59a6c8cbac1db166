// What a Graph has become so far, shared by what lowers its parts.
#pragma once

#include <vector>

#include "core/graph/module.h"
#include "driver/module_names.h"
#include "driver/sizes.h"
#include "runtime/plan/plan.h"

namespace dvm::driver {

using Registers = std::vector<int32_t>;

// Where a value is.
struct Placed {
  int32_t buffer = -1;
  int32_t scalar = -1;  // of an op `scalar`, which may be in a buffer as well
  bool owned = false;   // roots: to be freed after its last use
};

struct Lowered {
  Lowered(const core::Graph& of, const ModuleNames* names)
      : graph(of), module(names), values(static_cast<size_t>(of.size())) {}

  Placed& at(core::Value v) { return values[static_cast<size_t>(v)]; }
  runtime::Argument argument_of(const core::Type& type) const {
    return runtime::argument_of(core::kind_of(type), module != nullptr
                                                         ? std::span(module->types)
                                                         : std::span<const core::DataType>());
  }

  const core::Graph& graph;
  const ModuleNames* const module;  // null: the Graph stands alone
  runtime::Plan plan;
  runtime::PlanBuilder builder{plan};
  SizeCode sizes{builder, graph.dims()};
  std::vector<Placed> values;
};

}  // namespace dvm::driver
