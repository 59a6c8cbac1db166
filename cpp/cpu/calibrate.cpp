#include "cpu/calibrate.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "cpu/cost.h"
#include "cpu/cpu_target.h"
#include "cpu/simd_level.h"
#include "cpu/team/thread_team.h"
#include "cpu/team/usable_cores.h"
#include "vm/encode/encode.h"
#include "vm/isa/program_builder.h"
#include "vm/tile/tiler.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dvm::cpu {

namespace {

using vm::DType;
using vm::Insn;
using vm::Instruction;
using vm::Operand;
using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

constexpr int64_t kElements = 1024;   // per tile: all operands stay in the first cache
constexpr int64_t kFewElements = 16;  // per tile: next to nothing to compute
constexpr int64_t kBytes = 64 << 20;  // of each operand: more than second caches hold
constexpr int64_t kPage = 4096;
constexpr double kNever = 1e15;         // bytes
constexpr int64_t kBlockElements = 64;  // what strided accesses are measured on

class Calibrator {
 public:
  vm::Calibration run() {
    result_.machine = machine_name();
    measure_instructions();
    measure_classes();
    measure_chains();
    measure_products();
    measure_memory();
    measure_stores();
    measure_threads();
    vm::for_each_cost(table_, [](const vm::CostEntry& entry, double& value) {
      value = std::clamp(value, entry.least, entry.most);
    });
    return result_;
  }

 private:
  // The least of some runs: what else the machine does only ever adds.
  double time(const vm::Program& program, int repeats = 7) {
    constexpr int64_t kApart = kBytes + int64_t{21} * 64;
    std::byte* globals[] = {first_, first_ + kApart, first_ + 2 * kApart, nullptr, nullptr};
    constexpr double kBlockNs = 1e5;
    const auto block = [&](int64_t runs) {
      const auto begin = Clock::now();
      for (int64_t i = 0; i < runs; ++i) target_->run(program, globals);
      return nanoseconds_since(begin) / static_cast<double>(runs);
    };
    const auto runs = 1 + static_cast<int64_t>(kBlockNs / std::max(1.0, block(1)));
    double least = block(runs);
    for (int k = 1; k < repeats; ++k) least = std::min(least, block(runs));
    return least;
  }

  // `count` times the same instruction on `tiles` tiles of `size` elements that all lie in the same
  // place.
  double time_of(Insn insn, DType dtype, int64_t size, int count, int64_t tiles) {
    vm::ProgramBuilder builder(target_->traits(), words_, std::span(&tiles, 1));
    const DType from = insn == Insn::cast ? source_of_cast(dtype) : dtype;
    for (const uint8_t written : {uint8_t{0}, uint8_t{0}, uint8_t{1}}) {
      builder.add_global({.low = 0, .high = kBytes, .dtype = from, .written = written});
    }
    const int64_t stay = 0;
    const auto operand = [&](int global) { return builder.stream(global, 0, std::span(&stay, 1)); };
    for (int k = 0; k < count; ++k) {
      Instruction fixed{.insn = insn, .dtype = dtype};
      fixed.size = static_cast<uint32_t>(size);
      if (insn == Insn::cast) fixed.aux = static_cast<uint8_t>(from);
      std::vector<Operand> operands{operand(2), operand(0), operand(1), operand(1)};
      if (vm::info(insn).format == vm::Format::view_load) {
        operands = {vm::slot_operand(0), operand(0)};
        const vm::ViewDim way{size, int64_t{2} * core::byte_size(dtype)};
        builder.append(fixed, operands, {}, std::span(&way, 1));
        continue;
      }
      operands.resize(static_cast<size_t>(vm::info(insn).operands));
      builder.append(fixed, operands);
    }
    return time(builder.finish(32768));
  }
  static DType source_of_cast(DType dtype) { return dtype == DType::f32 ? DType::i32 : DType::f32; }

  void measure_instructions() {
    const double one = time_of(Insn::add, DType::f32, kFewElements, 1, 1);
    const double many = time_of(Insn::add, DType::f32, kFewElements, 11, 1);
    table_.instruction_ns = (many - one) / 10;
    const double tiles = time_of(Insn::add, DType::f32, kFewElements, 1, 101);
    table_.tile_ns = (tiles - one) / 100 - table_.instruction_ns;
    table_.run_ns = (time_of_runs(16) - time_of_runs(1)) / 15 / kBlockElements;
  }

  // A view of `runs` times 64 short runs.
  double time_of_runs(int64_t runs) {
    vm::ProgramBuilder builder(target_->traits(), words_, {});
    builder.add_global({.low = 0, .high = kBytes, .dtype = DType::f32, .written = 0});
    Instruction fixed{.insn = Insn::view_load, .dtype = DType::f32};
    fixed.size = static_cast<uint32_t>(runs * kBlockElements * 8);
    const vm::ViewDim way[] = {{runs * kBlockElements, 64}, {8, 4}};
    builder.append(fixed, std::vector{vm::slot_operand(0), builder.stream(0, 0, {})}, {}, way);
    return time(builder.finish(65536));
  }

  void measure_classes() {
    constexpr DType kColumns[] = {DType::i8,  DType::i16, DType::i32, DType::i64,
                                  DType::f16, DType::f32, DType::f64};
    for (int row = 0; row <= static_cast<int>(CostClass::reduce); ++row) {
      for (const DType dtype : kColumns) {
        const auto insn = representative(static_cast<CostClass>(row), dtype);
        if (!insn) continue;
        const double ns = time_of(*insn, dtype, kElements, 1, 1) - table_.tile_ns;
        table_.element_ns[row][vm::cost_column(dtype)] =
            std::max(0.0, ns - table_.instruction_ns) / kElements;
      }
    }
  }

  // The first instruction of the class that takes the dtype; copies and views stand for moves.
  static std::optional<Insn> representative(CostClass row, DType dtype) {
    if (row == CostClass::move) return Insn::copy;
    if (row == CostClass::strided) return Insn::view_load;
    if (row == CostClass::cast && source_of_cast(dtype) == dtype) return std::nullopt;
    for (int i = 0; i < vm::kInsnCount; ++i) {
      const auto insn = static_cast<Insn>(i);
      const bool fits = vm::contains(vm::info(insn).dtypes, dtype) && insn != Insn::chain;
      if (fits && cost_class(insn) == row) return insn;
    }
    return std::nullopt;
  }

  // x + y, then multiplied by y and x in turns, in tiles of `tile` elements.
  double time_of_chain(DType dtype, int steps, int64_t elements, int64_t tile) {
    core::Region region{"r0", core::Graph()};
    core::Graph& g = region.body;
    const core::Shape shape = {g.dims().symbol("n")};
    const core::Value x = g.input({dtype, shape}), y = g.input({dtype, shape});
    core::Value last = g.elementwise(core::Op::add, std::vector{x, y});
    for (int k = 1; k < steps; ++k) {
      last = g.elementwise(core::Op::mul, std::vector{last, k % 2 == 0 ? x : y});
    }
    g.outputs = {last};
    const vm::Kernel kernel = vm::prepare(region);
    int64_t strides[3][core::kMaxRank];
    for (auto& stride : strides) stride[0] = core::byte_size(dtype);
    const vm::TileRequest request{.tile = tile};
    arena_.reset();
    const vm::Compiled compiled = vm::encode(kernel, {&elements, nullptr, strides},
                                             target_->traits(), arena_, nullptr, &request);
    return time(compiled.stages[0], elements > 100 * kElements ? 3 : 7);
  }

  void measure_chains() {
    if (!target_->traits().chains) return;
    constexpr int kFew = 2, kMany = 12;
    constexpr int64_t kTiles = 64;
    const auto setup = [&](int steps) {
      return time_of_chain(DType::f32, steps, kTiles * kFewElements, kFewElements) / kTiles;
    };
    const double few = setup(kFew), many = setup(kMany);
    table_.micro_op_ns = (many - few) / (kMany - kFew);
    table_.chain_ns = few - kFew * table_.micro_op_ns - table_.tile_ns;
    const auto whole = [&](int steps) {
      return time_of_chain(DType::f32, steps, 2 * kElements, 2 * kElements);
    };
    const double per_element = (whole(kMany) - whole(kFew)) / (kMany - kFew) / (2 * kElements);
    const auto arithmetic = static_cast<size_t>(CostClass::arithmetic);
    table_.chain_share = per_element / table_.element_ns[arithmetic][vm::cost_column(DType::f32)];
  }

  struct Product {
    DType sums, source;
    core::Precision precision = core::Precision::highest;
  };

  // One tile of a product, whose factors and result lie row by row.
  double time_of_product(const Product& product, int64_t m, int64_t k, int64_t n) {
    vm::ProgramBuilder builder(target_->traits(), words_, {});
    const auto dtype = [&](int global) { return global == 2 ? product.sums : product.source; };
    for (const int global : {0, 1, 2}) {
      builder.add_global({.low = 0,
                          .high = kBytes,
                          .dtype = dtype(global),
                          .written = static_cast<uint8_t>(global == 2)});
    }
    const auto matrix = [&](int global, int64_t columns) {
      return vm::rows_operand(builder.stream(global, 0, {}),
                              static_cast<uint32_t>(columns * core::byte_size(dtype(global))));
    };
    Instruction fixed{.insn = Insn::matmul, .dtype = product.sums};
    fixed.aux =
        vm::MatrixAux{.loop = {}, .source = product.source, .precision = product.precision}.code(
            product.sums);
    fixed.m = static_cast<uint32_t>(m);
    fixed.size = static_cast<uint32_t>(k);
    fixed.n = static_cast<uint32_t>(n);
    builder.append(fixed, std::vector{matrix(2, n), matrix(0, k), matrix(1, n)});
    return time(builder.finish(0));
  }

  // Of a few rows most is packing.
  void measure_products() {
    constexpr int64_t kFew = 32, kMany = 320, kDepth = 512, kColumns = 256;
    const auto measure = [&](CostClass row, const Product& product, bool packs_a) {
      const auto per_step = [&](int64_t m) {
        return time_of_product(product, m, kDepth, kColumns) / kDepth;
      };
      const double few = per_step(kFew), many = per_step(kMany);
      const double packed = packs_a ? (kMany - kFew) * table_.pack_ns : 0;
      const double each = (many - few - packed) / ((kMany - kFew) * kColumns);
      table_.element_ns[static_cast<size_t>(row)][vm::cost_column(product.source)] =
          std::max(0.0, each);
      if (row == CostClass::product && product.source == DType::f32) {
        table_.pack_ns = (few - kFew * kColumns * each) / (kFew + kColumns);
      }
    };
    for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64}) {
      measure(CostClass::product, {dtype, dtype}, dtype != DType::f32);
    }
    if (!target_->traits().matrix_tiles) return;
    measure(CostClass::tiles, {DType::f32, DType::bf16}, false);
    measure(CostClass::tiles, {DType::i32, DType::i8}, false);
    measure(CostClass::tiles, {DType::f32, DType::f32, core::Precision::high}, true);
  }

  // i16 makes no chains: five instructions hand on their results through slots.
  void measure_memory() {
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    if (const long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0) {
      table_.near_bytes = static_cast<double>(bytes) * 5 / 6;
    }
    if (const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0) {
      table_.far_bytes = static_cast<double>(bytes) / 2;
    }
#endif
    constexpr int kSteps = 5;
    constexpr double kMoved = 2 * (2 * 4 + 4), kStreamed = 2 * 3;
    constexpr int64_t kNear = 2048, kBeyond = 32768, kShort = 256;
    // In the second cache, in tiles that fit the first one and in tiles that do not.
    const double near = time_of_chain(DType::i16, kSteps, kBeyond, kNear);
    const double beyond = time_of_chain(DType::i16, kSteps, kBeyond, kBeyond);
    const double setup = table_.tile_ns + kSteps * table_.instruction_ns;
    table_.spill_ns = (beyond - near + setup * kBeyond / kNear) / kBeyond / kMoved;
    // From memory: what long tiles lose against short ones, whose setup is mostly hidden.
    constexpr int64_t kMany = 8'000'000;
    const double brief = time_of_chain(DType::i16, kSteps, kMany, kShort);
    const double medium = time_of_chain(DType::i16, kSteps, kMany, kNear);
    const double share = double{kNear} / (kNear + 1024) - double{kShort} / (kShort + 1024);
    table_.stall_ns = (medium - brief) / kMany / kStreamed / share;
  }

  // An addition whose result is half of what there is room for, by way of a slot or straight.
  double time_of_large(bool far) {
    constexpr int64_t kTiles = kBytes / 2 / 4 / kElements, kStride = 4 * kElements;
    vm::ProgramBuilder builder(target_->traits(), words_, std::span(&kTiles, 1));
    for (const uint8_t written : {uint8_t{0}, uint8_t{0}, uint8_t{1}}) {
      builder.add_global({.low = 0, .high = kBytes, .dtype = DType::f32, .written = written});
    }
    const auto operand = [&](int g) { return builder.stream(g, 0, std::span(&kStride, 1)); };
    const Operand slot = vm::slot_operand(0);
    Instruction add{.insn = Insn::add, .dtype = DType::f32}, store{.insn = Insn::store};
    add.size = store.size = kElements;
    store.dtype = DType::f32;
    builder.append(add, std::vector{far ? slot : operand(2), operand(0), operand(1)});
    if (far) builder.append(store, std::vector{operand(2), slot});
    return time(builder.finish(32768), 3);
  }

  void measure_stores() {
    constexpr double kWorthIt = 0.97;
    const double near = time_of_large(false);
    if (time_of_large(true) > kWorthIt * near) table_.store_far_bytes = kNever;
    table_.far_ns = near / (1.5 * kBytes);
  }

  // A job of two chunks that wait for each other, by the caller and a worker.
  static double hand_over(ThreadTeam& team, std::chrono::microseconds pause) {
    constexpr int kRepeats = 50;
    std::vector<double> times;
    for (int k = 0; k < kRepeats; ++k) {
      std::this_thread::sleep_for(pause);
      std::atomic<int> arrived{0};
      const auto begin = Clock::now();
      team.run(
          2, 1,
          [](void* context, int64_t, int64_t) noexcept {
            auto& both = *static_cast<std::atomic<int>*>(context);
            const auto start = Clock::now();
            both.fetch_add(1);
            while (both.load() < 2 && nanoseconds_since(start) < 1e7) continue;
          },
          &arrived);
      times.push_back(nanoseconds_since(begin));
    }
    std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
    return times[kRepeats / 2];
  }

  // Sharing pays once the half that is saved exceeds what handing over costs, with some margin: the
  // other thread may have to fetch its operands from this one's cache.
  void measure_threads() {
    if (usable_cores() < 2) return;
    ThreadTeam team(2);
    hand_over(team, {});
    table_.fork_spinning_ns = 6 * hand_over(team, {});
    const auto asleep = std::chrono::nanoseconds(static_cast<int64_t>(3 * table_.spin_ns));
    table_.fork_asleep_ns =
        2 * hand_over(team, std::chrono::duration_cast<std::chrono::microseconds>(asleep));
  }

  vm::Calibration result_;
  vm::CostTable& table_ = result_.table;
  // Others may be running Programs meanwhile, on the threads of the process.
  const std::unique_ptr<vm::Target> target_ = make_cpu_target(Threads::one);
  vm::Arena arena_;
  std::vector<uint64_t> words_ = std::vector<uint64_t>(8192);
  // Two operands and a result on lines of the cache, at different places of their pages. The
  // operands are between 0.0004 and 2 for every floating type: no product overflows or is
  // subnormal.
  std::vector<std::byte> memory_ = std::vector<std::byte>(3 * (kBytes + kPage), std::byte{0x3f});
  std::byte* const first_ =
      memory_.data() + kPage - reinterpret_cast<uintptr_t>(memory_.data()) % kPage;
};

}  // namespace

std::string machine_name() {
  std::string name(to_string(simd_level()));
#if defined(__x86_64__)
  uint32_t r[4] = {};
  if (__get_cpuid(1, &r[0], &r[1], &r[2], &r[3])) name += " " + std::to_string(r[0]);
  char brand[49] = {};
  bool known = true;
  for (uint32_t k = 0; k < 3; ++k) {
    known = known && __get_cpuid(0x80000002 + k, &r[0], &r[1], &r[2], &r[3]);
    std::memcpy(brand + size_t{16} * k, r, sizeof(r));
  }
  if (known) name += " " + std::string(brand);
#endif
  while (name.back() == ' ') name.pop_back();
  return name;
}

vm::Calibration calibrate() { return Calibrator().run(); }

}  // namespace dvm::cpu
