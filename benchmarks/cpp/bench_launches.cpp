// Two Regions that wait for nothing of each other, which the cpu gets as one list of Launches:
// chains of exp, tanh and neg on f32, whose sizes have two names, so that no Region takes both.
// All variants of a row in turns, medians; in microseconds of a whole call.
//
//   one        one chain on the calling thread alone; `of 2`: on two threads
//   in turns   both chains, one Program after the other, each on two threads if that pays
//   at once    both chains as one list on two threads, and the ratio to `one`
//
// Each call behind another one of its kind; `awake`: right behind a large job of the team, so that
// the other thread still looks for work; `asleep`: behind a pause in which it went to sleep.
//
//   bench_launches [steps]     of a chain
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cpu/cpu_target.h"
#include "driver/compile.h"
#include "runtime/plain_host.h"

namespace dvm {
namespace {

using runtime::BufferView;

// Takes Programs one by one, as if nothing could run beside anything.
class InTurns final : public vm::Target {
 public:
  explicit InTurns(vm::Target& target) : target_(target) {}
  const vm::TargetTraits& traits() const override { return target_.traits(); }
  vm::RunStatus run(std::span<const vm::Launch> launches) override { return target_.run(launches); }
  int64_t work(const vm::Program& program) const override { return target_.work(program); }
  bool side_by_side() const override { return false; }

 private:
  vm::Target& target_;
};

std::string chains(int count, int steps) {
  std::string text = "graph v1 {\n", results;
  for (int k = 0; k < count; ++k) {
    text += "  %" + std::to_string(k) + " = input f32[s" + std::to_string(k) + "]\n";
  }
  int next = count;
  for (int k = 0; k < count; ++k) {
    int value = k;
    for (int step = 0; step < steps; ++step, value = next++) {
      static constexpr const char* kOps[] = {"tanh", "neg", "exp"};
      text += "  %" + std::to_string(next) + " = " + kOps[step % 3] + "(%" + std::to_string(value) +
              ") f32[s" + std::to_string(k) + "]\n";
    }
    results += (k == 0 ? "%" : ", %") + std::to_string(value);
  }
  return text + "  return " + results + "\n}\n";
}

class Calls {
 public:
  Calls(int chain_count, int steps, int64_t elements, vm::Target& target)
      : graph_(driver::compile(core::parse_graph(chains(chain_count, steps)), {}).graph.plan(),
               target),
        inputs_(static_cast<size_t>(chain_count)),
        results_(static_cast<size_t>(chain_count)) {
    for (BufferView& input : inputs_) {
      host_.allocate(core::DType::f32, {&elements, 1}, input);
      auto* const x = reinterpret_cast<float*>(input.data);
      for (int64_t i = 0; i < elements; ++i) x[i] = static_cast<float>(i % 100) * 0.01F;
    }
  }
  void operator()() {
    runtime::BorrowedContext context;
    if (graph_.run(host_, inputs_, {}, results_, *context) != runtime::Outcome::done) std::abort();
    for (const BufferView& result : results_) host_.release(result.owner);
  }

 private:
  runtime::CompiledGraph graph_;
  runtime::PlainHost host_;
  std::vector<BufferView> inputs_, results_;
};

double time_of(Calls& calls, int count) {
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < count; ++k) calls();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count() / count;
}

enum class Before : uint8_t { calls, job, pause };
constexpr const char* kNames[] = {"", " awake", " asleep"};

void print_row(int64_t elements, int steps, vm::Target& team, vm::Target& alone, Before before) {
  InTurns turns(team);
  Calls variants[] = {{1, steps, elements, alone},
                      {1, steps, elements, team},
                      {2, steps, elements, turns},
                      {2, steps, elements, team}};
  std::vector<double> times[std::size(variants)];
  for (Calls& calls : variants) time_of(calls, 3);
  Calls large(1, steps, 200000, team);
  const int count =
      before != Before::calls ? 1 : 1 + static_cast<int>(2e3 / time_of(variants[0], 3));
  for (int round = 0; round < 201; ++round) {
    for (size_t k = 0; k < std::size(variants); ++k) {
      if (before == Before::job) large();
      if (before == Before::pause) std::this_thread::sleep_for(std::chrono::microseconds(500));
      times[k].push_back(time_of(variants[k], count));
    }
  }
  double medians[std::size(variants)];
  for (size_t k = 0; k < std::size(variants); ++k) {
    std::ranges::nth_element(times[k], times[k].begin() + 100);
    medians[k] = times[k][100];
  }
  std::printf("%6ld elements%-7s one %7.1f  of 2 %7.1f  in turns %7.1f  at once %7.1f  x%.2f\n",
              static_cast<long>(elements), kNames[static_cast<int>(before)], medians[0], medians[1],
              medians[2], medians[3], medians[3] / medians[0]);
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  using namespace dvm;
  const int steps = argc > 1 ? std::atoi(argv[1]) : 24;
  cpu::set_thread_count(2);
  const auto team = cpu::make_cpu_target(), alone = cpu::make_cpu_target(cpu::Threads::one);
  for (const Before before : {Before::calls, Before::job, Before::pause}) {
    for (const int64_t elements : {500, 1000, 2000, 5000, 10000, 20000, 50000}) {
      print_row(elements, steps, *team, *alone, before);
    }
  }
}
