// Chains through the encoder and the cpu target, against the best of several hand-written fused
// loops of the same SIMD level (DVM_SIMD) and against plain instructions, on one thread. All
// variants of a cell are interleaved in one process; minima. Prints nanoseconds per element of the
// best loop, and ratios to it.
//
//   bench_chain [name [k]]     cases whose name begins like that, of k steps
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cpu/chain/chain.h"
#include "cpu/cpu_target.h"
#include "cpu/simd_level.h"
#include "vm/encode/encode.h"

namespace dvm {
namespace {

// acc = acc <op> operand, a tensor by its number or a scalar; or a function of acc.
enum class Do { add, sub, mul, max, exp, tanh };
struct Step {
  Do op;
  int tensor;  // -1: the scalar
  float scalar = 0;
};
struct Chain {
  const char* name;
  int tensors;
  Step cycle[8];
  int period;
};

constexpr Chain kChains[] = {
    {"two", 2, {{Do::add, 1}, {Do::mul, 0}, {Do::max, 1}}, 3},
    {"scalars",
     2,
     {{Do::add, 1}, {Do::mul, -1, 0.75f}, {Do::max, 0}, {Do::sub, 1}, {Do::add, -1, 0.3f}},
     5},
    {"relu", 1, {{Do::mul, -1, 0.75f}, {Do::add, -1, 0.1f}, {Do::max, -1, 0}, {Do::sub, 0}}, 4},
    {"math",
     2,
     {{Do::add, 1},
      {Do::mul, -1, 0.5f},
      {Do::exp, -1},
      {Do::mul, 0},
      {Do::tanh, -1},
      {Do::sub, 1},
      {Do::tanh, -1},
      {Do::max, -1, -0.05f}},
     8},
    {"five", 5, {{Do::add, 1}, {Do::mul, 2}, {Do::max, 3}, {Do::sub, 4}}, 4},
};

using Loop = void (*)(float*, const float* const*, size_t);

#define DVM_LOOPS "fused_loops-inl.h"
#include "simd_layers-inl.h"

struct Case {
  int chain, steps;
  std::vector<Loop> fused;
};
template <int kChain, int kSteps>
void add_case(std::vector<Case>& cases) {
  const bool wide = cpu::simd_level() <= cpu::SimdLevel::avx512;
  cases.push_back(
      {kChain, kSteps, wide ? avx512::loops<kChain, kSteps>() : avx2::loops<kChain, kSteps>()});
}
template <int kChain>
void add_cases(std::vector<Case>& cases) {
  add_case<kChain, 2>(cases);
  add_case<kChain, 4>(cases);
  add_case<kChain, 8>(cases);
  add_case<kChain, 16>(cases);
}

core::Region region_of(const Case& test) {
  const Chain& chain = kChains[test.chain];
  core::Region region{"r0", core::Graph()};
  core::Graph& g = region.body;
  const core::Shape shape = {g.dims().symbol("s0")};
  std::vector<core::Value> tensors;
  for (int t = 0; t < chain.tensors; ++t) tensors.push_back(g.input({core::DType::f32, shape}));
  core::Value acc = tensors[0];
  for (int k = 0; k < test.steps; ++k) {
    const Step& step = chain.cycle[k % chain.period];
    constexpr core::Op kOps[] = {core::Op::add,     core::Op::sub, core::Op::mul,
                                 core::Op::maximum, core::Op::exp, core::Op::tanh};
    if (step.op == Do::exp || step.op == Do::tanh) {
      acc = g.elementwise(kOps[static_cast<int>(step.op)], std::vector{acc});
      continue;
    }
    const core::Value other =
        step.tensor >= 0
            ? tensors[static_cast<size_t>(step.tensor)]
            : g.broadcast(g.constant(core::DType::f32, core::Scalar::of_float(step.scalar)), shape);
    acc = g.elementwise(kOps[static_cast<int>(step.op)], std::vector{acc, other});
  }
  g.outputs = {acc};
  return region;
}

// A Program of the case for n elements.
struct Encoded {
  vm::Kernel kernel;
  vm::Arena arena;
  vm::Compiled compiled;
  double encode_ns = 0;

  Encoded(const Case& test, int64_t n, const vm::TargetTraits& traits)
      : kernel(vm::prepare(region_of(test))) {
    const int64_t strides[6][core::kMaxRank] = {{4}, {4}, {4}, {4}, {4}, {4}};
    const vm::Binding binding{&n, nullptr, strides};
    constexpr int kTimes = 1000;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimes; ++i) {
      arena.reset();
      compiled = vm::encode(kernel, binding, traits, arena);
    }
    encode_ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
        kTimes;
  }
};

// Minima of interleaved repeats, in nanoseconds per run: what others do to the machine only adds.
std::vector<double> interleave(const std::vector<std::function<void()>>& variants) {
  constexpr int kRepeats = 15;
  constexpr double kBudget = 3e5;
  std::vector<std::vector<double>> times(variants.size());
  std::vector<int64_t> runs(variants.size());
  const auto time = [&](size_t v, int64_t count) {
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < count; ++i) variants[v]();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
               .count() /
           static_cast<double>(count);
  };
  for (size_t v = 0; v < variants.size(); ++v) {
    variants[v]();
    runs[v] = std::max<int64_t>(1, static_cast<int64_t>(kBudget / std::max(1.0, time(v, 3))));
  }
  for (int r = 0; r < kRepeats; ++r) {
    for (size_t v = 0; v < variants.size(); ++v) times[v].push_back(time(v, runs[v]));
  }
  std::vector<double> minima;
  for (const std::vector<double>& all : times) minima.push_back(*std::ranges::min_element(all));
  return minima;
}

// On huge pages, as the arrays of the pool are; not at the same place of a small page.
struct Tensors {
  static constexpr size_t kCount = 6, kSize = 10000000, kApart = 132416 / sizeof(float);
  float* data[kCount];

  Tensors() {
    for (size_t t = 0; t < kCount; ++t) {
      constexpr size_t kPage = size_t{2} << 20, kBytes = kSize * sizeof(float) + 2 * kPage;
      void* memory =
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      madvise(memory, kBytes, MADV_HUGEPAGE);
      data[t] = static_cast<float*>(memory) + t * kApart;
      for (size_t i = 0; i < kSize; ++i) {
        data[t][i] = 0.3f + 0.02f * static_cast<float>(t) + 0.05f * static_cast<float>(i % (7 + t));
      }
    }
  }
};

void run_case(const Case& test, int64_t n, vm::Target& target) {
  static const Tensors tensors;
  const float* in[5];
  std::vector<std::byte*> globals;
  const int count = kChains[test.chain].tensors;
  for (int t = 0; t < count; ++t) {
    in[t] = tensors.data[t];
    globals.push_back(reinterpret_cast<std::byte*>(tensors.data[t]));
  }
  float* out = tensors.data[5];
  globals.push_back(reinterpret_cast<std::byte*>(out));

  vm::TargetTraits plain_traits = target.traits();
  plain_traits.chains = nullptr;
  const Encoded chain(test, n, target.traits()), plain(test, n, plain_traits);
  std::vector<std::function<void()>> variants;
  for (Loop loop : test.fused) {
    variants.emplace_back([=] { loop(out, in, static_cast<size_t>(n)); });
  }
  for (const Encoded* encoded : {&chain, &plain}) {
    variants.emplace_back([&, encoded] { target.run(encoded->compiled.stages[0], globals); });
  }
  // Different bits would make the comparison void.
  variants[0]();
  const std::vector<float> want(out, out + n);
  for (const auto& run : variants) {
    std::memset(out, 0, static_cast<size_t>(n) * sizeof(float));
    run();
    if (!std::equal(want.begin(), want.end(), out)) std::printf("DIFFERENT RESULTS ");
  }
  const std::vector<double> times = interleave(variants);
  const double best = *std::min_element(times.begin(), times.end() - 2);
  std::printf("%-8s k=%2d n=%8ld  fused %.4f ns/el  chain %.2f  plain %.2f  encode %.0f ns\n",
              kChains[test.chain].name, test.steps, static_cast<long>(n),
              best / static_cast<double>(n), times[times.size() - 2] / best, times.back() / best,
              chain.encode_ns);
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  using namespace dvm;
  if (!cpu::has_chain_registers()) {
    std::printf("this SIMD level has no chains to measure\n");
    return 0;
  }
  cpu::set_thread_count(1);
  const auto target = cpu::make_cpu_target();
  std::vector<Case> cases;
  add_cases<0>(cases);
  add_cases<1>(cases);
  add_cases<2>(cases);
  add_cases<3>(cases);
  add_cases<4>(cases);
  const size_t steps = argc > 2 ? static_cast<size_t>(std::atoi(argv[2])) : 0;
  for (const Case& test : cases) {
    if (steps != 0 && static_cast<size_t>(test.steps) != steps) continue;
    if (argc > 1 && std::strncmp(kChains[test.chain].name, argv[1], std::strlen(argv[1])) != 0) {
      continue;
    }
    for (const int64_t n : {1000, 10000, 100000, 1000000, 10000000}) run_case(test, n, *target);
  }
}
