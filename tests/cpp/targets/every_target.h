// Runs a check on all that executes Programs here: a simulated target, and the cpu at each SIMD
// level of this machine.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cpu/cpu_target.h"
#include "cpu/simd_level.h"
#include "sim/sim_target.h"

namespace dvm::testing {

template <typename Check>
void on_every_target(Check&& check) {
  static const auto sim = sim::make_sim_target(*vm::find_target("ascend910b3"));
  static const auto cpu = cpu::make_cpu_target();
  check(*sim);
  const cpu::SimdLevel used = cpu::simd_level();
  for (const cpu::SimdLevel level : cpu::simd_levels()) {
    SCOPED_TRACE("at SIMD level " + std::string(cpu::to_string(level)));
    cpu::set_simd_level(level);
    check(*cpu);
  }
  cpu::set_simd_level(used);
}

}  // namespace dvm::testing
