#include <memory>
#include <vector>

#include "core/error.h"
#include "cpu/cpu_target.h"
#include "driver/compile.h"
#include "sim/sim_target.h"

namespace dvm::driver {

namespace {

// By the folder that a row of targets.def names.
std::unique_ptr<vm::Target> make_cpu(const vm::TargetTraits&) { return cpu::make_cpu_target(); }
std::unique_ptr<vm::Target> make_sim(const vm::TargetTraits& traits) {
  return sim::make_sim_target(traits);
}

}  // namespace

vm::Target& target(std::string_view name) {
  static const std::vector<std::unique_ptr<vm::Target>> targets = [] {
    std::vector<std::unique_ptr<vm::Target>> made;
#define DVM_TARGET(name, id, folder, ...) made.push_back(make_##folder(*vm::find_target(id)));
#include "vm/target/targets.def"
#undef DVM_TARGET
    return made;
  }();
  for (const auto& made : targets) {
    if (made->traits().name == name) return *made;
  }
  core::fail(core::ErrorCode::unknown_target, "no target is named '" + std::string(name) + "'");
}

}  // namespace dvm::driver
