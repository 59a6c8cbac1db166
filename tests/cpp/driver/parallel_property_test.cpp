// Random Plans on the cpu with four threads that share the tiles of every Region they can, called
// by several threads at once: the reference's bits, and under ThreadSanitizer no data race.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "cpu/calibrate.h"
#include "cpu/cpu_target.h"
#include "driver/execute_case.h"
#include "runtime/memory/buffer_pool.h"
#include "vm/target/cost.h"

namespace dvm::driver {
namespace {

using core::Array;
using test::FakeHost;
using test::GraphCase;

constexpr int kTeam = 4, kCallers = 3;
// The child of a process with threads may wait for locks of the sanitizer's own for ever: those of
// ThreadSanitizer, and of AddressSanitizer's allocator.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kChildrenMayHang = true;
#else
constexpr bool kChildrenMayHang = false;
#endif
constexpr int kLayouts[kCallers] = {0, 1, 3};  // test::to_buffer

// Forking costs nothing, and each tile is a chunk.
vm::CostTable eager_to_share() {
  vm::CostTable table;
  table.fork_spinning_ns = table.fork_asleep_ns = table.chunk_ns = 0;
  table.chunks_per_thread = 1024;
  return table;
}

// The cpu with so little local memory that a few hundred elements make several tiles. It counts the
// Programs that have them.
class SharedCpu final : public vm::Target {
 public:
  explicit SharedCpu(vm::Target& cpu) : cpu_(cpu), traits_(cpu.traits()) {
    traits_.local_bytes = 2304;  // a chunk of halves that are summed in f32, and its sum
  }
  const vm::TargetTraits& traits() const override { return traits_; }
  vm::RunStatus run(std::span<const vm::Launch> launches) override {
    for (const vm::Launch& launch : launches) {
      if (launch.program.header().tile_count > 1) shared_.fetch_add(1, std::memory_order_relaxed);
    }
    return cpu_.run(launches);
  }
  int shared() const { return shared_; }

 private:
  vm::Target& cpu_;
  vm::TargetTraits traits_;
  std::atomic<int> shared_{0};
};

class ParallelPlans : public testing::Test {
 protected:
  ParallelPlans() {
    vm::set_cost_table(eager_to_share());
    cpu::set_thread_count(kTeam);
  }
  ~ParallelPlans() override {
    cpu::set_thread_count(team_size);
    vm::set_cost_table(costs);
  }

  static GraphCase generate(uint64_t seed) {
    test::GeneratorOptions generator;
    generator.nodes = 4 + static_cast<int>(seed % 12);
    generator.max_elements = 20000;
    generator.symbols = {0, 1, 1, 3, 7, 16, 40, 130, 600, 3000};
    return test::generate_graph(seed, generator);
  }
  static Options options(uint64_t seed) {
    return {.numerics = seed % 2 ? Numerics::strict : Numerics::widened};
  }
  static std::vector<Array> reference(const GraphCase& test_case, uint64_t seed) {
    return core::evaluate(meaning_of(test_case.graph, options(seed)), test_case.inputs,
                          test::generated_host, test_case.symbols);
  }
  // The host lays out each of several results in another way, which a view may not be able to
  // follow.
  static bool has_results(const GraphCase& test_case) {
    for (core::Value v = 0; v < test_case.graph.size(); ++v) {
      if (test_case.graph.node(v).op == core::Op::result) return true;
    }
    return false;
  }
  // Whether a call computes just that. References of the host are counted, so each has its own.
  bool computes(const runtime::Plan& plan, const GraphCase& test_case,
                const std::vector<Array>& expected, int layout) {
    FakeHost host;
    const Executed done = run({plan, shared_cpu}, test_case, host, layout);
    const bool given_up =
        (layout != 0 || has_results(test_case)) && done.outcome == runtime::Outcome::check_failed;
    return given_up ||
           (done.outcome == runtime::Outcome::done && test::same_values(done.results, expected));
  }
  static void at_once(const std::function<void(int)>& call) {
    std::vector<std::thread> callers;
    callers.reserve(kCallers);
    for (int caller = 0; caller < kCallers; ++caller) callers.emplace_back(call, caller);
    for (std::thread& caller : callers) caller.join();
  }

  const vm::CostTable costs = vm::cost_table();
  const int team_size = cpu::thread_count();
  SharedCpu shared_cpu{target("cpu")};
};

// One Plan and three callers. Each begins with its own layout of the arguments, and ends with a
// call whose Program it remembers.
TEST_F(ParallelPlans, CallersOfOnePlan) {
  for (uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    const GraphCase test_case = generate(seed);
    const Compilation compilation = compile(test_case.graph, options(seed));
    const std::vector<Array> expected = reference(test_case, seed);
    std::atomic<int> wrong{0};
    at_once([&](int caller) {
      for (const int layout : {kLayouts[caller], 0, 0}) {
        if (!computes(compilation.graph.plan(), test_case, expected, layout)) ++wrong;
      }
    });
    ASSERT_EQ(wrong, 0) << "seed " << seed << "\n"
                        << core::print(test_case.graph) << runtime::print(compilation.graph.plan());
  }
  EXPECT_GT(shared_cpu.shared(), 1000);
}

// Three callers that compile and call Plans of their own, while the team changes its size.
TEST_F(ParallelPlans, PlansSideBySide) {
  std::atomic<uint64_t> next{1000};
  std::atomic<uint64_t> wrong{0};
  at_once([&](int caller) {
    for (uint64_t seed; (seed = next++) < 1300 && wrong == 0;) {
      if (caller == 0) cpu::set_thread_count(2 + static_cast<int>(seed % kTeam));
      const GraphCase test_case = generate(seed);
      const Compilation compilation = compile(test_case.graph, options(seed));
      if (!computes(compilation.graph.plan(), test_case, reference(test_case, seed), 0))
        wrong = seed;
    }
  });
  EXPECT_EQ(wrong, 0U) << "a seed";
  EXPECT_GT(shared_cpu.shared(), 100);
}

// Two callers that compile and call, while others measure what work costs, give memory back and
// take it again, change the team, and fork children that compile and call once more.
TEST_F(ParallelPlans, WhileOthersCalibrateForkAndTrim) {
  constexpr int kChildren = 8;
  std::atomic<uint64_t> next{2000}, wrong{0};
  std::atomic<int> children{0}, calibrations{0};
  const auto compiles_and_computes = [&](uint64_t seed) {
    const GraphCase test_case = generate(seed);
    const Compilation compilation = compile(test_case.graph, options(seed));
    return computes(compilation.graph.plan(), test_case, reference(test_case, seed), 0);
  };
  const auto over = [&] { return wrong != 0 || (children >= kChildren && calibrations >= 1); };
  ASSERT_TRUE(compiles_and_computes(1999));  // what is made once is there, also in the children
  std::vector<std::thread> threads;
  for (int caller = 0; caller < 2; ++caller) {
    threads.emplace_back([&] {
      while (!over()) {
        const uint64_t seed = next++;
        if (!compiles_and_computes(seed)) wrong = seed;
      }
    });
  }
  threads.emplace_back([&] {
    while (!over()) {
      vm::set_cost_table(cpu::calibrate().table);
      vm::set_cost_table(eager_to_share());
      ++calibrations;
    }
  });
  threads.emplace_back([&] {
    for (int round = 0; !over(); ++round) {
      runtime::BufferPool& pool = runtime::buffer_pool();
      std::byte* const block = pool.take(runtime::kLeastPooled << round % 4);
      if (block != nullptr) pool.give(block);
      pool.trim(0);
      cpu::set_thread_count(1 + round % kTeam);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  threads.emplace_back([&] {  // not for as long as the others: under sanitizers forks take long
    while (!over() && children < kChildren) {
      const pid_t child = fork();
      if (child == 0) {
        if (kChildrenMayHang) _exit(0);
        alarm(100);  // one that hangs must not hang the tests
        _exit(compiles_and_computes(next) ? 0 : 1);
      }
      int status = 0;
      if (waitpid(child, &status, 0) != child || status != 0) {
        ADD_FAILURE() << "a child ended with status " << status;
        wrong = next.load();
      }
      ++children;
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U) << "a seed";
}

}  // namespace
}  // namespace dvm::driver
