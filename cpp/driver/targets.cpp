#include <memory>
#include <vector>

#include "core/error.h"
#include "cpu/cpu_target.h"
#include "driver/compile.h"
#include "sim/sim_target.h"

namespace dvm::driver {

vm::Target& target(std::string_view name) {
  static const std::vector<std::unique_ptr<vm::Target>> targets = [] {
    std::vector<std::unique_ptr<vm::Target>> made;
    for (const vm::TargetTraits& traits : vm::all_targets()) {
      made.push_back(traits.kind == vm::TargetKind::cpu ? cpu::make_cpu_target()
                                                        : sim::make_sim_target(traits));
    }
    return made;
  }();
  for (const auto& made : targets) {
    if (made->traits().name == name) return *made;
  }
  core::fail(core::ErrorCode::unknown_target, "no target is named '" + std::string(name) + "'");
}

}  // namespace dvm::driver
