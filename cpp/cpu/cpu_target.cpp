#include "cpu/cpu_target.h"

#include <algorithm>
#include <atomic>
#include <new>

#include "cpu/chain/chain.h"
#include "cpu/cost.h"
#include "cpu/kernels.h"
#include "cpu/reduce/find_kernels.h"
#include "cpu/team/thread_team.h"
#include "hwy/cache_control.h"
#include "vm/encode/tied_zeros.h"
#include "vm/run/interpreter.h"

namespace dvm::cpu {

namespace {

using vm::Program;

// The local memory of a thread: allocated by its first tile, kept until the thread ends.
class LocalMemory {
 public:
  LocalMemory() = default;
  ~LocalMemory() {
    if (block_ != nullptr) ::operator delete(block_, kPage);
  }
  LocalMemory(const LocalMemory&) = delete;
  LocalMemory& operator=(const LocalMemory&) = delete;
  // Null where the system has none left.
  std::byte* data(int64_t bytes) {
    if (block_ == nullptr) [[unlikely]] {
      block_ = static_cast<std::byte*>(
          ::operator new(static_cast<size_t>(bytes + kOffset), kPage, std::nothrow));
    }
    return block_ == nullptr ? nullptr : block_ + kOffset;
  }

 private:
  // Arrays begin where pages do, as a rule. A load waits for a store to the same place of another
  // page, so that slots begin as far from there as they can.
  static constexpr std::align_val_t kPage{4096};
  static constexpr int64_t kOffset = 2048 + 64;
  std::byte* block_ = nullptr;
};

// Chains pay only where they run in registers.
const vm::TargetTraits& cpu_traits() {
  static const vm::TargetTraits with_chains = *vm::find_target("cpu");
  static const vm::TargetTraits without_chains = [] {
    vm::TargetTraits row = with_chains;
    row.chains = false;
    return row;
  }();
  return has_chain_registers() ? with_chains : without_chains;
}

struct CpuCore {
  static constexpr bool kFlags = false;
  const vm::KernelTable& kernels;
  std::byte* memory;
  bool stored = false, tied = false;

  std::byte* local(uint32_t offset) const { return memory + offset; }
  void begin(const vm::Header&) { begin_chains(); }
  // Stores past the caches are not ordered by what publishes the end of a job.
  void end(const vm::Header&) const {
    if (stored) hwy::FlushStream();
  }
  void execute(const vm::Instruction& insn, const vm::TileArgs& args, const vm::Tile&) {
    stored |= insn.insn == vm::Insn::store;
    kernels(insn)(args);
    if (vm::may_tie_zeros(insn)) tied |= vm::has_tied_zeros(insn, args);
  }
  void execute_chain(const vm::ChainArgs& args, const vm::Tile&) const { run_chain(args, kernels); }
};

struct Job {
  const Program& program;
  const vm::KernelTable& kernels;
  std::span<std::byte* const> globals;
  std::atomic<core::FpFlags> flags{0};  // of the chunks that are done
  std::atomic<bool> no_memory{false};   // for a thread to compute its chunk in
};

void run_range(void* context, int64_t begin, int64_t end) noexcept {
  Job& job = *static_cast<Job*>(context);
  const core::WatchFpFlags watch;
  thread_local LocalMemory memory;
  std::byte* const local = memory.data(cpu_traits().local_bytes);
  if (local == nullptr) {
    job.no_memory.store(true, std::memory_order_relaxed);
    return;
  }
  CpuCore core{job.kernels, local};
  vm::run_tiles(job.program, job.globals, begin, end, core);
  // The team publishes what its threads wrote before the job counts as done.
  const core::FpFlags tied = core.tied ? core::kTiedZeros : core::FpFlags{0};
  if (const auto raised = static_cast<core::FpFlags>(watch.raised() | tied)) {
    job.flags.fetch_or(raised, std::memory_order_relaxed);
  }
}

// Tiles per chunk, or all of them where a single thread is as fast.
int64_t chunk_tiles(const Program& program, const ThreadTeam& team) {
  const int64_t tiles = program.header().tile_count;
  if (tiles == 1 || team.threads() == 1) return tiles;
  const double shared_ns = memory_cost(program) / static_cast<double>(tiles);
  return team.chunk_of(tiles, std::max(tile_cost(program), shared_ns));
}

class CpuTarget final : public vm::Target {
 public:
  explicit CpuTarget(Threads threads) : alone_(threads == Threads::one) {
    simd_level();  // an unknown DVM_SIMD fails here
  }
  const vm::TargetTraits& traits() const override { return cpu_traits(); }

  const vm::KernelTable* kernels() const override { return &kernel_table(simd_level()); }
  const vm::FindTable* finds() const override { return &find_table(simd_level()); }

  core::FpFlags run(const Program& program, std::span<std::byte* const> globals) override {
    Job job{program, kernel_table(simd_level()), globals};
    const int64_t tiles = program.header().tile_count;
    if (tiles == 1 || alone_) {
      run_range(&job, 0, tiles);
    } else {
      ThreadTeam& team = thread_team();
      team.run(tiles, chunk_tiles(program, team), run_range, &job);
    }
    if (job.no_memory.load(std::memory_order_relaxed)) throw std::bad_alloc();
    return job.flags.load(std::memory_order_relaxed);
  }
  // The bytes that an addition moves in 20 us or so; few bytes may be read by many tiles.
  bool takes_long(const Program& program) const override {
    constexpr int64_t kLongBytes = 128 << 10;
    constexpr uint32_t kLongTiles = 32;
    int64_t bytes = 0;
    for (const vm::Global& global : program.globals()) bytes += global.high - global.low;
    return bytes >= kLongBytes || program.header().tile_count >= kLongTiles;
  }

 private:
  const bool alone_;
};

}  // namespace

std::unique_ptr<vm::Target> make_cpu_target(Threads threads) {
  return std::make_unique<CpuTarget>(threads);
}

void set_thread_count(int threads) { thread_team().set_threads(threads); }
int thread_count() { return thread_team().threads(); }

}  // namespace dvm::cpu
