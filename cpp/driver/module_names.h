// The functions and data types of a Module by the numbers that a Plan has for them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/module.h"
#include "runtime/plan/plan.h"

namespace dvm::driver {

// What a Plan calls the functions and data types of a module by: their place in these lists.
struct ModuleNames {
  explicit ModuleNames(const core::Module& module);

  std::vector<core::DataType> types;  // without_closures()
  std::vector<std::string> functions;
  std::vector<std::string> callees;                   // what any of the functions calls of the host
  std::vector<std::vector<runtime::Argument>> gives;  // of the functions
  // What functions of each type give; of a sum there are none.
  std::vector<std::vector<runtime::Argument>> applied;
  int32_t type(std::string_view name) const;
  int32_t function(std::string_view name) const;
};

}  // namespace dvm::driver
