#include "driver/module_names.h"

#include <algorithm>

namespace dvm::driver {

using core::Op;

ModuleNames::ModuleNames(const core::Module& module) : types(core::without_closures(module)) {
  const auto arguments_of = [&](const std::vector<core::ValueKind>& kinds) {
    std::vector<runtime::Argument> all;
    for (const core::ValueKind& kind : kinds) all.push_back(runtime::argument_of(kind, types));
    return all;
  };
  for (const core::DataType& type : module.types) applied.push_back(arguments_of(type.gives));
  for (const core::Function& function : module.functions) {
    functions.push_back(function.name);
    gives.push_back(arguments_of(core::gives(function.graph)));
    core::for_each_graph(function.graph, [&](const core::Graph& graph) {
      for (const core::Node& node : graph.nodes()) {
        const bool calls = node.op == Op::call || node.op == Op::call_into;
        if (calls && std::ranges::find(callees, node.attrs.callee) == callees.end()) {
          callees.push_back(node.attrs.callee);
        }
      }
    });
  }
}

int32_t ModuleNames::type(std::string_view name) const {
  return static_cast<int32_t>(std::ranges::find(types, name, &core::DataType::name) -
                              types.begin());
}
int32_t ModuleNames::function(std::string_view name) const {
  return static_cast<int32_t>(std::ranges::find(functions, name) - functions.begin());
}

}  // namespace dvm::driver
