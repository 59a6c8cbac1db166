// A simulated Ascend target: same results as the reference evaluator, and SimulationError where a
// Program would misuse the memories or the flags of an AI Core. Cores run one after another.
#pragma once

#include <memory>
#include <vector>

#include "sim/core.h"
#include "vm/target/target.h"

namespace dvm::sim {

struct SimReport {
  std::vector<CoreReport> cores;  // block_dim of them
  core::FpFlags raised = 0;
  vm::Fault fault = vm::Fault::none;  // of the first core that found one
};

class SimTarget final : public vm::Target {
 public:
  // A row of targets.def of kind ascend; it outlives the target, as all rows do.
  explicit SimTarget(const vm::TargetTraits& traits);
  const vm::TargetTraits& traits() const override { return traits_; }
  // In the order of the list. SimulationError where a launch does not wait for one that it has to.
  vm::RunStatus run(std::span<const vm::Launch> launches) override;
  using vm::Target::run;
  // One Program; also says what each core did, and to `traces`, if asked for, everything that it
  // did.
  SimReport run_and_report(const vm::Program& program, std::span<std::byte* const> globals,
                           std::vector<Trace>* traces = nullptr);
  // The same of a launch, which may have followers.
  SimReport run_and_report(const vm::Launch& launch);

 private:
  SimReport run_counted(const vm::Launch& launch, std::vector<Trace>* traces, TilesDone& done);
  SimReport run_cores(const vm::Launch& launch, std::vector<Trace>* traces,
                      const CommonRun& common);

  const vm::TargetTraits& traits_;
};

std::unique_ptr<vm::Target> make_sim_target(const vm::TargetTraits& traits);

}  // namespace dvm::sim
