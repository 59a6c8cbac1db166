#include "sim/sim_target.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>

#include "core/error.h"
#include "sim/core_group.h"
#include "vm/target/watch.h"

namespace dvm::sim {

namespace {

constexpr std::align_val_t kMemoryAlign{64};

struct FreeMemory {
  void operator()(std::byte* memory) const { ::operator delete(memory, kMemoryAlign); }
};

// Each must wait, if through others, for all before it that touch the same memory.
void check_waits(std::span<const vm::Launch> launches) {
  DVM_CHECK(launches.size() <= vm::kMaxLaunches, "a list has too many launches");
  for (size_t later = 0; later < launches.size(); ++later) {
    uint32_t ended = launches[later].waits_for;  // when it begins
    for (size_t k = later; k-- > 0;) {
      if (ended >> k & 1) {
        ended |= launches[k].waits_for;
      } else if (vm::conflict(launches[k], launches[later])) {
        core::fail(core::ErrorCode::sim_fault, "launch " + std::to_string(later) +
                                                   " does not wait for launch " +
                                                   std::to_string(k) + ", whose memory it uses");
      }
    }
  }
}

// Of all Programs that are run.
int64_t tiles_of(std::span<const vm::Launch> launches) {
  int64_t tiles = 0;
  for (const vm::Launch& launch : launches) {
    tiles += launch.program.header().tile_count;
    for (const vm::Follower& follower : launch.followers) {
      tiles += follower.program.header().tile_count;
    }
  }
  return tiles;
}

}  // namespace

SimTarget::SimTarget(const vm::TargetTraits& traits) : traits_(traits) {
  DVM_CHECK(traits.flags, "target " + std::string(traits.name) + " is not simulated");
}

vm::RunStatus SimTarget::run(std::span<const vm::Launch> launches) {
  check_waits(launches);
  if (vm::Watch* const watch = vm::Watch::current()) watch->ran(launches);
  vm::RunStatus status;
  TilesDone done(tiles_of(launches));
  for (size_t k = 0; k < launches.size(); ++k) {
    const SimReport report = run_counted(launches[k], nullptr, done);
    status.flags |= report.raised;
    if (report.fault == vm::Fault::none) continue;
    status.fault = report.fault;
    status.launch = static_cast<uint16_t>(k);
    break;
  }
  return status;
}

SimReport SimTarget::run_and_report(const vm::Launch& launch) {
  TilesDone done(tiles_of({&launch, 1}));
  return run_counted(launch, nullptr, done);
}

SimReport SimTarget::run_and_report(const vm::Program& program, std::span<std::byte* const> globals,
                                    std::vector<Trace>* traces) {
  const vm::Launch launch{program, globals};
  TilesDone done(tiles_of({&launch, 1}));
  return run_counted(launch, traces, done);
}

SimReport SimTarget::run_counted(const vm::Launch& launch, std::vector<Trace>* traces,
                                 TilesDone& done) {
  WrittenElements written(launch);
  const CommonRun common{done, written};
  const SimReport report = launch.followers.empty() ? run_cores(launch, traces, common)
                                                    : run_groups(launch, traits_, common);
  if (report.fault == vm::Fault::none) written.check_ends();
  return report;
}

// Algorithm 2 of the DVM paper, lines 1 to 5: core id takes the tiles from body_tile * id on.
SimReport SimTarget::run_cores(const vm::Launch& launch, std::vector<Trace>* traces,
                               const CommonRun& common) {
  const vm::Program& program = launch.program;
  const std::span<std::byte* const> globals = launch.globals;
  const std::unique_ptr<std::byte, FreeMemory> memory(static_cast<std::byte*>(
      ::operator new(static_cast<size_t>(LocalMemories::bytes(traits_)), kMemoryAlign)));
  const vm::Header& header = program.header();
  SimReport report;
  const core::WatchFpFlags watch;
  report.cores.resize(header.block_dim);
  std::optional<InstructionIndex> index;
  if (traces != nullptr) {
    index.emplace(program);
    traces->assign(header.block_dim, {});
  }
  for (int64_t id = 0; id < header.block_dim; ++id) {
    const int64_t begin = id * header.body_tile;
    const int64_t end = std::min<int64_t>(begin + header.body_tile, header.tile_count);
    const auto k = static_cast<size_t>(id);
    std::optional<Tracer> tracer;
    if (traces != nullptr) tracer.emplace(program, *index, globals, (*traces)[k]);
    AiCore core(id, program, traits_, globals, memory.get(), report.cores[k], common,
                tracer ? &*tracer : nullptr);
    vm::run_tiles(program, globals, begin, end, core);
    report.raised |= core.more_flags();
    if (report.fault == vm::Fault::none) report.fault = core.fault;
  }
  report.raised |= watch.raised();
  return report;
}

std::unique_ptr<vm::Target> make_sim_target(const vm::TargetTraits& traits) {
  return std::make_unique<SimTarget>(traits);
}

}  // namespace dvm::sim
