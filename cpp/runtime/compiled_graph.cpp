#include "runtime/compiled_graph.h"

#include <string>

#include "core/error.h"

namespace dvm::runtime {

namespace {

std::string counted(size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace

void check_arguments(const Plan& plan, std::span<const BufferView> inputs, size_t scalars) {
  if (inputs.size() != plan.inputs.size() || scalars != plan.scalars.size()) {
    core::fail(core::ErrorCode::wrong_arguments,
               "the graph takes " + counted(plan.inputs.size(), "tensor") + " and " +
                   counted(plan.scalars.size(), "scalar") + ", it was given " +
                   counted(inputs.size(), "tensor") + " and " + counted(scalars, "scalar"));
  }
  for (const PlanConstant& constant : plan.constants) {
    if (!constant.values) {
      core::fail(core::ErrorCode::unknown_name,
                 "the graph has a constant '" + constant.name + "', which is not supplied");
    }
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Argument& declared = plan.inputs[k];
    const std::string name = "input " + std::to_string(k);
    if (inputs[k].dtype != declared.dtype) {
      core::fail(core::ErrorCode::dtype_mismatch,
                 name + " is " + std::string(core::to_string(inputs[k].dtype)) +
                     ", the graph takes " + std::string(core::to_string(declared.dtype)));
    }
    if (inputs[k].rank != declared.rank) {
      core::fail(core::ErrorCode::wrong_arguments,
                 name + " has rank " + std::to_string(inputs[k].rank) + ", the graph takes rank " +
                     std::to_string(declared.rank));
    }
  }
}

}  // namespace dvm::runtime
