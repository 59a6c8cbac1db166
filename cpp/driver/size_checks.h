// Checks of sizes that come with a Graph: what is true of them besides, or a call is given up.
#pragma once

#include <span>

#include "core/dims/facts.h"
#include "driver/compile.h"

namespace dvm::driver {

struct SizeCheck {
  core::DimCmp compare;
  core::Dim left, right;  // of the Graph's own context
};

// As compile() without any.
Compilation compile(const core::Graph& graph, const Options& options,
                    std::span<const SizeCheck> checks);
// Functions of a module become functions of the Plan.
Compilation compile(const core::Module& module, const Options& options,
                    std::span<const SizeCheck> checks);

}  // namespace dvm::driver
