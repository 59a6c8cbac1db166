// Lists of launches: what waits for what, and results as if they ran one after the other, for any
// number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "cpu/cpu_target.h"
#include "sim/sim_target.h"
#include "tile_program.h"
#include "vm/target/cost.h"

namespace dvm::testing {
namespace {

using vm::Launch;

// f(a, b) over `count` numbers, in tiles.
std::vector<uint64_t> binary(const TargetTraits& target, Insn insn, int64_t count, int64_t tile) {
  const std::optional<uint64_t> no_scalars[] = {std::nullopt, std::nullopt};
  TileCase test = linear_case(insn, DType::i32, 0, count, tile, no_scalars);
  test.streams = target.streams;
  const std::vector<std::byte> operand(static_cast<size_t>(count) * 4);
  return build(target, test, {operand, operand, operand});
}

// Launches of such Programs on one array of numbers.
class List {
 public:
  List(const TargetTraits& target, size_t size) : target_(target), memory_(size) {
    for (size_t k = 0; k < size; ++k) memory_[k] = static_cast<int32_t>(k * 0x9E3779B9U);
  }

  // Of a and b into c, which are offsets.
  uint32_t add(Insn insn, int64_t count, int64_t tile, size_t a, size_t b, size_t c) {
    Entry& entry = entries_.emplace_back();
    entry.words = binary(target_, insn, count, tile);
    entry.offsets = {a, b, c};
    std::vector<Launch> launches = bind(memory_);
    const Launch last = launches.back();
    launches.pop_back();
    entry.waits_for = vm::find_waits(launches, last);
    return entry.waits_for;
  }
  size_t size() const { return entries_.size(); }

  std::vector<int32_t> run(vm::Target& target, bool at_once) {
    std::vector<int32_t> memory = memory_;
    const std::vector<Launch> launches = bind(memory);
    if (at_once) {
      const vm::RunStatus status = target.run(launches);
      EXPECT_EQ(status.fault, vm::Fault::none);
    } else {
      for (const Launch& launch : launches) target.run(launch.program, launch.globals);
    }
    return memory;
  }

  // What the target says to a list of which one launch waits for less than it has to.
  std::string run_without_wait(vm::Target& target, size_t launch, uint32_t wait) {
    std::vector<int32_t> memory = memory_;
    std::vector<Launch> launches = bind(memory);
    launches[launch].waits_for &= ~wait;
    try {
      target.run(launches);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::sim_fault);
      return error.message();
    }
    return "";
  }

 private:
  struct Entry {
    std::vector<uint64_t> words;
    std::array<size_t, 3> offsets;
    std::array<std::byte*, 3> globals = {};
    uint32_t waits_for = 0;
  };

  std::vector<Launch> bind(std::vector<int32_t>& memory) {
    std::vector<Launch> launches;
    for (Entry& entry : entries_) {
      std::ranges::transform(entry.offsets, entry.globals.begin(), [&](size_t offset) {
        return reinterpret_cast<std::byte*>(memory.data() + offset);
      });
      launches.push_back({vm::Program(entry.words), entry.globals, entry.waits_for});
    }
    return launches;
  }

  const TargetTraits& target_;
  std::vector<int32_t> memory_;
  std::deque<Entry> entries_;
};

const TargetTraits& cpu_row() { return *vm::find_target("cpu"); }

TEST(Launches, WaitForWhatTouchesTheirMemory) {
  List list(cpu_row(), 1000);
  EXPECT_EQ(list.add(Insn::add, 100, 64, 0, 100, 200), 0U);
  EXPECT_EQ(list.add(Insn::add, 100, 64, 0, 100, 300), 0U) << "both only read";
  EXPECT_EQ(list.add(Insn::add, 100, 64, 200, 100, 400), 1U) << "reads what was written";
  EXPECT_EQ(list.add(Insn::add, 100, 64, 500, 600, 0), 0b11U) << "writes what others read";
  EXPECT_EQ(list.add(Insn::add, 100, 64, 500, 600, 300), 0b10U) << "writes what was written";
  EXPECT_EQ(list.add(Insn::add, 1, 1, 699, 699, 499), 0b100U) << "one element in common";
  EXPECT_EQ(list.add(Insn::add, 100, 64, 700, 799, 899), 0U) << "neighbours";
  EXPECT_EQ(list.add(Insn::add, 300, 64, 0, 200, 0), 0b111000U) << "the rest has ended with these";
}

// Costs by which each tile is an item of its own, or for which nothing is worth a second thread.
class ListCosts : public ::testing::TestWithParam<bool> {
 protected:
  ListCosts() {
    vm::CostTable table;
    const double fork_ns = GetParam() ? 0 : 1e9;
    table.fork_spinning_ns = table.fork_asleep_ns = fork_ns;
    table.chunk_ns = 0;
    table.chunks_per_thread = 1024;
    vm::set_cost_table(table);
  }
  ~ListCosts() override {
    vm::set_cost_table(before_);
    cpu::set_thread_count(threads_);
  }

 private:
  const vm::CostTable before_ = vm::cost_table();
  const int threads_ = cpu::thread_count();
};

// Operands anywhere, also on top of each other; a result lies apart from its operands or in the
// very place of one.
void add_random(List& list, std::mt19937& random, size_t size) {
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  static constexpr Insn kInsns[] = {Insn::add, Insn::sub, Insn::bitwise_xor};
  static constexpr int64_t kOfLaunches[] = {1, 7, 63, 64, 65, 200, 700};
  const int64_t count = kOfLaunches[below(std::size(kOfLaunches))];
  const auto length = static_cast<size_t>(count);
  const size_t a = below(size - length), b = below(size - length);
  const auto apart = [&](size_t x, size_t y) {
    return x == y || x + length <= y || y + length <= x;
  };
  size_t c = below(4) == 0 ? a : below(size - length);
  while (!apart(c, a) || !apart(c, b)) c = below(size - length);
  list.add(kInsns[below(3)], count, 64, a, b, c);
}

TEST_P(ListCosts, RandomListsOnOneArray) {
  const auto cpu = cpu::make_cpu_target(), alone = cpu::make_cpu_target(cpu::Threads::one);
  const auto sim = sim::make_sim_target(*vm::find_target("ascend910b1"));
  for (unsigned seed = 0; seed < 400 && !HasFailure(); ++seed) {
    std::mt19937 random(seed), again(seed);
    const size_t size = seed % 3 == 0 ? 3000 : 40000;  // much in common, or little
    List list(cpu->traits(), size), simulated(sim->traits(), size);
    const size_t launches = 1 + seed % vm::kMaxLaunches;
    while (list.size() < launches) {
      add_random(list, random, size);
      add_random(simulated, again, size);
    }
    const std::vector<int32_t> expected = list.run(*alone, false);
    EXPECT_EQ(list.run(*alone, true), expected) << "seed " << seed;
    for (const int threads : {1, 2, 4}) {
      cpu::set_thread_count(threads);
      for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(list.run(*cpu, true), expected) << "seed " << seed << ", threads " << threads;
      }
    }
    if (seed % 4 == 0) {
      EXPECT_EQ(simulated.run(*sim, true), expected) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SharedOrNot, ListCosts, ::testing::Values(true, false));

TEST(Launches, SimulatedTargetsFindAWaitThatLacks) {
  const auto sim = sim::make_sim_target(*vm::find_target("ascend910b1"));
  List list(sim->traits(), 1000);
  list.add(Insn::add, 100, 64, 0, 100, 200);
  list.add(Insn::add, 100, 64, 200, 100, 300);
  list.add(Insn::add, 100, 64, 300, 200, 400);
  EXPECT_EQ(list.run_without_wait(*sim, 0, 0), "");
  EXPECT_EQ(list.run_without_wait(*sim, 1, 1),
            "launch 1 does not wait for launch 0, whose memory it uses");
  EXPECT_EQ(list.run_without_wait(*sim, 2, 2),
            "launch 2 does not wait for launch 1, whose memory it uses");
}

TEST(Launches, OfSeveralTilesGiveTheFlagsOfAll) {
  const auto cpu = cpu::make_cpu_target();
  const std::optional<uint64_t> no_scalars[] = {std::nullopt, std::nullopt};
  constexpr int64_t kCount = 50000;
  TileCase test = linear_case(Insn::div, DType::f32, 0, kCount, 1024, no_scalars);
  test.streams = true;
  std::vector<float> ones(kCount, 1), zeros(kCount, 0), huge(kCount, 3e38F), tiny(kCount, 1e-3F);
  std::vector<float> results[2] = {ones, ones};
  const std::vector<std::byte> operand(static_cast<size_t>(kCount) * 4);
  const std::vector<uint64_t> words = build(cpu->traits(), test, {operand, operand, operand});
  const auto bytes = [](std::vector<float>& x) { return reinterpret_cast<std::byte*>(x.data()); };
  std::byte* const first[] = {bytes(ones), bytes(zeros), bytes(results[0])};
  std::byte* const second[] = {bytes(huge), bytes(tiny), bytes(results[1])};
  const Launch launches[] = {{vm::Program(words), first}, {vm::Program(words), second}};
  EXPECT_EQ(vm::find_waits({launches, 1}, launches[1]), 0U);
  const vm::RunStatus status = cpu->run(launches);
  EXPECT_EQ(status.flags, core::kDivideByZero | core::kOverflow);
}

}  // namespace
}  // namespace dvm::testing
