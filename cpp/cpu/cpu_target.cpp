#include "cpu/cpu_target.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <new>

#include "core/error.h"
#include "cpu/chain/chain.h"
#include "cpu/cost.h"
#include "cpu/kernels.h"
#include "cpu/matmul/matmul_kernels.h"
#include "cpu/matmul/product_tile.h"
#include "cpu/reduce/find_kernels.h"
#include "cpu/team/tasks.h"
#include "cpu/team/thread_team.h"
#include "hwy/cache_control.h"
#include "vm/encode/tied_zeros.h"
#include "vm/run/interpreter.h"
#include "vm/target/watch.h"

namespace dvm::cpu {

namespace {

using vm::Program;

// Memory of a thread: allocated by its first tile, kept until the thread ends.
class LocalMemory {
 public:
  LocalMemory() = default;
  ~LocalMemory() {
    if (block_ != nullptr) ::operator delete(block_, kPage);
  }
  LocalMemory(const LocalMemory&) = delete;
  LocalMemory& operator=(const LocalMemory&) = delete;
  // At least so many; null where the system has none left.
  std::byte* data(int64_t bytes) {
    if (bytes > bytes_) [[unlikely]] {
      if (block_ != nullptr) ::operator delete(block_, kPage);
      block_ = static_cast<std::byte*>(
          ::operator new(static_cast<size_t>(bytes + kOffset), kPage, std::nothrow));
      bytes_ = block_ == nullptr ? 0 : bytes;
    }
    return block_ == nullptr ? nullptr : block_ + kOffset;
  }

 private:
  // Arrays begin where pages do, as a rule. A load waits for a store to the same place of another
  // page, so that slots begin as far from there as they can.
  static constexpr std::align_val_t kPage{4096};
  static constexpr int64_t kOffset = 2048 + 64;
  std::byte* block_ = nullptr;
  int64_t bytes_ = 0;
};

// Where the memories besides UB begin, one behind the other and before UB, seen from its begin.
struct SpaceLayout {
  std::array<int64_t, vm::kSpaceCount> begin{};
  int64_t end = 0;
};
constexpr SpaceLayout kSpaces = [] {
  SpaceLayout layout;
  for (size_t space = 0; space < vm::kSpaceCount; ++space) {
    layout.begin[space] = layout.end;
    layout.end += vm::memories::cpu[space].bytes;
  }
  for (int64_t& begin : layout.begin) begin -= layout.end;
  layout.begin[static_cast<size_t>(vm::Space::ub)] = 0;
  return layout;
}();

// Chains pay only where they run in registers.
const vm::TargetTraits& cpu_traits() {
  static const vm::TargetTraits with_chains = [] {
    vm::TargetTraits row = *vm::find_target("cpu");
    row.matrix_tiles = has_matrix_tiles(simd_level());
    row.threads = thread_count();
    return row;
  }();
  static const vm::TargetTraits without_chains = [] {
    vm::TargetTraits row = with_chains;
    row.chains = nullptr;
    return row;
  }();
  return has_chain_registers() ? with_chains : without_chains;
}

struct CpuCore {
  static constexpr bool kFlags = false;
  const vm::KernelTable& kernels;
  std::byte* memory;  // UB
  bool stored = false, tied = false;
  vm::Fault fault = vm::Fault::none;  // that a kernel found

  std::byte* scratch() const { return memory + cpu_traits().local_bytes; }
  std::byte* local(vm::Space space, uint32_t offset) const {
    if (space == vm::Space::ub) [[likely]]
      return memory + offset;
    return memory + kSpaces.begin[static_cast<size_t>(space)] + offset;
  }
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
  std::span<const vm::Launch> launches;
  const vm::KernelTable& kernels;
  vm::Watch* const watch;  // of who makes the call; as a rule nobody's
  // What its threads have found.
  std::atomic<core::FpFlags> flags{0};
  // The least of all: launch << 8 | Fault, or that a thread had no memory to compute its tiles in.
  std::atomic<uint32_t> failure{kNone};

  static constexpr uint32_t kNoMemory = 0, kNone = UINT32_MAX;

  void fail(uint32_t mine) {
    uint32_t least = failure.load(std::memory_order_relaxed);
    while (mine < least && !failure.compare_exchange_weak(least, mine, std::memory_order_relaxed)) {
    }
  }
  void fail(const vm::Launch& launch, vm::Fault fault) {
    fail(static_cast<uint32_t>(&launch - launches.data()) << 8 | static_cast<uint32_t>(fault));
  }

  vm::RunStatus status() const {
    const uint32_t least = failure.load(std::memory_order_relaxed);
    const core::FpFlags raised = flags.load(std::memory_order_relaxed);
    return least == kNone ? vm::RunStatus{raised} : failed(raised, least);
  }

  // Apart, so that a status made of flags alone stays in a register.
  [[gnu::noinline, gnu::cold]] static vm::RunStatus failed(core::FpFlags raised, uint32_t least) {
    if (least == kNoMemory) throw std::bad_alloc();
    return {raised, static_cast<vm::Fault>(least & 0xff), static_cast<uint16_t>(least >> 8)};
  }
};

// Tiles of one launch. The team publishes what its threads wrote before the job counts as done.
void run_range(Job& job, const vm::Launch& launch, int64_t begin, int64_t end) noexcept {
  const core::WatchFpFlags watch;
  thread_local LocalMemory memory, handed_over;
  std::byte* const local =
      memory.data(kSpaces.end + cpu_traits().local_bytes + kMatmulScratchBytes);
  const bool is_followed = !launch.followers.empty();
  std::byte* const places = is_followed ? handed_over.data(launch.place_bytes()) : nullptr;
  if (local == nullptr || (is_followed && places == nullptr)) {
    return job.fail(Job::kNoMemory);
  }
  CpuCore core{job.kernels, local + kSpaces.end};
  const int64_t since = job.watch != nullptr ? vm::Watch::now() : 0;
  if (is_followed) {
    vm::run_followed_tiles(launch, places, begin, end, core);
  } else {
    vm::run_tiles(launch.program, launch.globals, begin, end, core);
  }
  if (job.watch != nullptr) [[unlikely]] {
    const int32_t label = launch.label >= 0 ? launch.label : job.watch->label();
    job.watch->add(vm::Watch::What::tiles, label, since, end - begin);
  }
  const core::FpFlags tied = core.tied ? core::kTiedZeros : core::FpFlags{0};
  if (const auto raised = static_cast<core::FpFlags>(watch.raised() | tied)) {
    job.flags.fetch_or(raised, std::memory_order_relaxed);
  }
  if (core.fault != vm::Fault::none) [[unlikely]]
    job.fail(launch, core.fault);
}

void run_all_tiles(Job& job, const vm::Launch& launch) {
  run_range(job, launch, 0, launch.program.header().tile_count);
}

// The items of a job of one launch are its tiles.
void run_tiles_of_one(void* context, int64_t begin, int64_t end) noexcept {
  Job& job = *static_cast<Job*>(context);
  run_range(job, job.launches[0], begin, end);
}

struct ListJob {
  Job& job;
  const ThreadTeam& team;
  Tasks tasks;
  std::atomic<uint32_t> left[vm::kMaxLaunches];  // items of each task that have not ended
};

void run_items(void* context, int64_t begin, int64_t end) noexcept {
  ListJob& list = *static_cast<ListJob*>(context);
  const Tasks& tasks = list.tasks;
  int k = 0;
  for (int64_t item = begin; item < end; ++item) {
    while (tasks.end(k) <= item) ++k;
    const Task& task = tasks.list[k];
    for (uint32_t waits = task.waits_for; waits != 0; waits &= waits - 1) {
      list.team.wait_until_zero(list.left[std::countr_zero(waits)]);
    }
    const auto launch = [&](int l) -> const vm::Launch& {
      return list.job.launches[tasks.order[task.first + l]];
    };
    if (task.count == 1) {
      const int64_t tiles = launch(0).program.header().tile_count;
      const int64_t first = (item - task.first_item) * task.chunk;
      run_range(list.job, launch(0), first, std::min(first + task.chunk, tiles));
    } else {
      for (int l = 0; l < task.count; ++l) run_all_tiles(list.job, launch(l));
    }
    std::atomic<uint32_t>& left = list.left[k];
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) left.notify_all();
  }
}

class CpuTarget final : public vm::Target {
 public:
  explicit CpuTarget(Threads threads) : alone_(threads == Threads::one) {
    simd_level();  // an unknown DVM_SIMD fails here
  }
  const vm::TargetTraits& traits() const override { return cpu_traits(); }

  const vm::KernelTable* kernels() const override { return &kernel_table(simd_level()); }
  const vm::FindTable* finds() const override { return &find_table(simd_level()); }

  vm::RunStatus run(std::span<const vm::Launch> launches) override {
    Job job{launches, kernel_table(simd_level()), vm::Watch::current()};
    if (job.watch != nullptr) [[unlikely]]
      return run_watched(job);
    run(job);
    return job.status();
  }
  // As long as an addition takes that moves as many bytes; few bytes may be read by many tiles.
  int64_t work(const Program& program) const override {
    int64_t bytes = 0;
    for (const vm::Global& global : program.globals()) bytes += global.high - global.low;
    return std::max(bytes * 5 / 32, int64_t{program.header().tile_count} * 640);
  }
  void share(int64_t count, double item_ns, Work task, void* context) override {
    if (alone_ || count > INT32_MAX) return task(context, 0, count);
    ThreadTeam& team = thread_team();
    team.run(count, team.chunk_of(count, item_ns), task, context);
  }
  int64_t packed_column(const vm::RightMatrix& matrix) const override {
    const int64_t bytes = packing(matrix).column_bytes(matrix.rows);
    return bytes <= UINT32_MAX ? bytes : 0;
  }
  void pack(const vm::RightMatrix& matrix, std::byte* to) const override {
    packing(matrix).pack_b({matrix.data, matrix.row_stride, matrix.column_stride}, matrix.rows,
                           matrix.columns, to);
  }
  bool side_by_side() const override { return !alone_ && thread_team().threads() > 1; }

 private:
  static const MatmulKernels& packing(const vm::RightMatrix& matrix) {
    return matmul_kernels(simd_level(), matrix.sums, matrix.source, matrix.precision);
  }

  vm::RunStatus run_watched(Job& job) const {
    job.watch->ran(job.launches);
    const int64_t begin = vm::Watch::now();
    run(job);
    job.watch->add(vm::Watch::What::launch, job.watch->label(), begin);
    return job.status();
  }

  void run(Job& job) const {
    if (job.launches.size() == 1) [[likely]] {
      run_one(job);
    } else {
      run_list(job);
    }
  }

  void run_one(Job& job) const {
    const vm::Launch& launch = job.launches[0];
    const Program& program = launch.program;
    const int64_t tiles = program.header().tile_count;
    if (tiles == 1 || alone_) return run_range(job, launch, 0, tiles);
    ThreadTeam& team = thread_team();
    const bool shared = team.threads() > 1;
    const int64_t chunk = shared ? team.chunk_of(tiles, shared_tile_cost(launch)) : tiles;
    team.run(tiles, chunk, run_tiles_of_one, &job);
  }

  void run_list(Job& job) const {
    DVM_CHECK(job.launches.size() <= vm::kMaxLaunches, "a list has too many launches");
    if (side_by_side()) {
      LaunchCost costs[vm::kMaxLaunches];
      for (size_t k = 0; k < job.launches.size(); ++k) {
        const Program& program = job.launches[k].program;
        costs[k] = {program.header().tile_count, shared_tile_cost(job.launches[k])};
      }
      ThreadTeam& team = thread_team();
      ListJob list{job, team, cut_into_tasks(job.launches, {costs, job.launches.size()}, team), {}};
      if (list.tasks.items != 0) {
        for (int k = 0; k < list.tasks.count; ++k) {
          list.left[k].store(static_cast<uint32_t>(list.tasks.list[k].items),
                             std::memory_order_relaxed);
        }
        return team.run(list.tasks.items, 1, run_items, &list);
      }
    }
    for (const vm::Launch& launch : job.launches) run_all_tiles(job, launch);
  }

  const bool alone_;
};

}  // namespace

std::unique_ptr<vm::Target> make_cpu_target(Threads threads) {
  return std::make_unique<CpuTarget>(threads);
}

void set_thread_count(int threads) { thread_team().set_threads(threads); }
int thread_count() { return thread_team().threads(); }

}  // namespace dvm::cpu
