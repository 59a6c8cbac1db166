// Chains through the encoder and the cpu target, against the best of several hand-written fused
// loops and against plain instructions, on one thread. All variants of a cell are interleaved in
// one process; medians. Prints nanoseconds per element of the best loop, and ratios to it.
//
//   bench_chain [name]     cases whose name begins like that
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cpu/cpu_target.h"
#include "vm/encode.h"

namespace dvm {
namespace {

// The intrinsics of GCC 12 begin with an undefined vector.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,fma")

using Vector = __m512;
constexpr int kLanes = 16;

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

// NumPy's maximum: the first of two NaNs, the second of two zeros. One instruction does where b is
// a number and not 0.
template <bool kNumber>
[[gnu::always_inline]] inline Vector maximum(Vector a, Vector b) {
  if constexpr (kNumber) return _mm512_max_ps(b, a);
  const __mmask16 less = _mm512_cmp_round_ps_mask(a, b, _CMP_NGT_UQ, _MM_FROUND_NO_EXC);
  const __mmask16 other = _mm512_mask_cmp_round_ps_mask(less, a, a, _CMP_ORD_Q, _MM_FROUND_NO_EXC);
  return _mm512_mask_blend_ps(other, a, b);
}

// As core/math_exp.h writes them.
template <typename... Floats>
[[gnu::always_inline]] inline Vector horner(Vector x, float last, Floats... rest) {
  Vector sum = _mm512_set1_ps(last);
  ((sum = _mm512_fmadd_ps(sum, x, _mm512_set1_ps(rest))), ...);
  return sum;
}
// Returns e**r - 1; t is a number whose low bits count the powers of two.
[[gnu::always_inline]] inline Vector reduce(Vector c, Vector& t) {
  const Vector round = _mm512_set1_ps(0x1.8p23f);
  t = _mm512_fmadd_ps(c, _mm512_set1_ps(0x1.715476p0f), round);
  const Vector n = _mm512_sub_ps(t, round);
  Vector r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.62e4p-1f), c);
  r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0x1.7f7d1cp-20f), r);
  const Vector q = horner(r, 0x1.6d98dap-10f, 0x1.1227fep-7f, 0x1.555488p-5f, 0x1.5554b0p-3f, 0.5f);
  return _mm512_fmadd_ps(q, _mm512_mul_ps(r, r), r);
}
[[gnu::always_inline]] inline Vector scale(Vector y, Vector t) {
  return _mm512_castsi512_ps(
      _mm512_add_epi32(_mm512_castps_si512(y), _mm512_slli_epi32(_mm512_castps_si512(t), 23)));
}
[[gnu::always_inline]] inline Vector exponential(Vector x) {
  const Vector one = _mm512_set1_ps(1);
  Vector t;
  const Vector p = reduce(_mm512_max_ps(_mm512_set1_ps(-104), x), t);
  const __mmask16 small = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-86), _CMP_LT_OQ);
  t = _mm512_mask_add_ps(t, small, t, _mm512_set1_ps(64));
  Vector y = scale(_mm512_add_ps(one, p), t);
  y = _mm512_mask_mul_ps(y, small, y, _mm512_set1_ps(0x1p-64f));
  const __mmask16 finite = _mm512_cmp_ps_mask(x, _mm512_set1_ps(0x1.62e42ep6f), _CMP_LE_OQ);
  return _mm512_mask_blend_ps(finite, _mm512_add_ps(x, _mm512_set1_ps(INFINITY)), y);
}
[[gnu::always_inline]] inline Vector tangent(Vector x) {
  const Vector one = _mm512_set1_ps(1), a = _mm512_abs_ps(x);
  const Vector c = _mm512_min_ps(_mm512_set1_ps(9.5f), a);
  Vector t;
  const Vector p = reduce(_mm512_add_ps(c, c), t);
  const Vector s = scale(one, t);
  const Vector e = _mm512_fmadd_ps(s, p, _mm512_sub_ps(s, one));
  const Vector y = _mm512_div_ps(e, _mm512_add_ps(e, _mm512_set1_ps(2)));
  const Vector z = _mm512_mul_ps(a, a);
  const Vector q = horner(z, 0x1.1abd1ap-6f, -0x1.b29c1cp-5f, 0x1.10ea8ep-3f, -0x1.5554dap-2f);
  const Vector near_zero = _mm512_fmadd_ps(_mm512_mul_ps(a, z), q, a);
  const __mmask16 small = _mm512_cmp_ps_mask(a, _mm512_set1_ps(0.5f), _CMP_LT_OQ);
  const Vector magnitude = _mm512_mask_blend_ps(small, y, near_zero);
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
      _mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(x), _mm512_castps_si512(magnitude), 0xca));
}

template <Step kStep>
[[gnu::always_inline]] inline Vector apply(Vector a, Vector b) {
  switch (kStep.op) {
    case Do::add:
      return _mm512_add_ps(a, b);
    case Do::sub:
      return _mm512_sub_ps(a, b);
    case Do::mul:
      return _mm512_mul_ps(a, b);
    case Do::max: {
      constexpr bool kNumber = kStep.tensor == -1 && kStep.scalar != 0;
      return maximum<kNumber>(a, b);
    }
    case Do::exp:
      return exponential(a);
    case Do::tanh:
      return tangent(a);
  }
  __builtin_unreachable();
}

// Step after step on kWidth vectors; tensors from registers, or read again by each step.
template <int kChain, int kSteps, int kWidth, bool kAgain, int kStep = 0>
[[gnu::always_inline]] inline void steps(Vector (&acc)[kWidth], const Vector (*held)[kWidth],
                                         const float* const* in, size_t at, __mmask16 mask) {
  if constexpr (kStep < kSteps) {
    constexpr Step kDo = kChains[kChain].cycle[kStep % kChains[kChain].period];
#pragma GCC unroll 8
    for (int i = 0; i < kWidth; ++i) {
      Vector b;
      if constexpr (kDo.tensor < 0) {
        b = _mm512_set1_ps(kDo.scalar);
      } else if constexpr (kAgain) {
        b = _mm512_maskz_loadu_ps(mask, in[kDo.tensor] + at + kLanes * i);
      } else {
        b = held[kDo.tensor][i];
      }
      acc[i] = apply<kDo>(acc[i], b);
    }
    steps<kChain, kSteps, kWidth, kAgain, kStep + 1>(acc, held, in, at, mask);
  }
}

template <int kChain, int kSteps, int kWidth, bool kAgain, bool kTail>
[[gnu::always_inline]] inline void block(float* out, const float* const* in, size_t at,
                                         __mmask16 mask) {
  constexpr int kTensors = kAgain ? 1 : kChains[kChain].tensors;
  Vector held[kTensors][kWidth], acc[kWidth];
#pragma GCC unroll 8
  for (int i = 0; i < kWidth; ++i) {
#pragma GCC unroll 8
    for (int t = 0; t < kTensors; ++t) {
      const float* from = in[t] + at + kLanes * i;
      held[t][i] = kTail ? _mm512_maskz_loadu_ps(mask, from) : _mm512_loadu_ps(from);
    }
    acc[i] = held[0][i];
  }
  steps<kChain, kSteps, kWidth, kAgain>(acc, held, in, at, kTail ? mask : __mmask16{0xffff});
#pragma GCC unroll 8
  for (int i = 0; i < kWidth; ++i) {
    float* to = out + at + kLanes * i;
    if (kTail) {
      _mm512_mask_storeu_ps(to, mask, acc[i]);
    } else {
      _mm512_storeu_ps(to, acc[i]);
    }
  }
}

template <int kChain, int kSteps, int kWidth, bool kAgain>
void fused(float* out, const float* const* in, size_t n) {
  size_t i = 0;
  for (; i + kLanes * kWidth <= n; i += kLanes * kWidth) {
    block<kChain, kSteps, kWidth, kAgain, false>(out, in, i, 0xffff);
  }
  for (; i + kLanes <= n; i += kLanes) block<kChain, kSteps, 1, kAgain, false>(out, in, i, 0xffff);
  if (i < n) {
    const auto mask = static_cast<__mmask16>((1u << (n - i)) - 1);
    block<kChain, kSteps, 1, kAgain, true>(out, in, i, mask);
  }
}

#pragma GCC pop_options

using Loop = void (*)(float*, const float* const*, size_t);
template <int kChain, int kSteps>
std::vector<Loop> loops() {
  return {fused<kChain, kSteps, 1, false>, fused<kChain, kSteps, 4, false>,
          fused<kChain, kSteps, 4, true>, fused<kChain, kSteps, 8, false>,
          fused<kChain, kSteps, 8, true>};
}

struct Case {
  int chain, steps;
  std::vector<Loop> fused;
};
template <int kChain>
void add_cases(std::vector<Case>& cases) {
  cases.push_back({kChain, 2, loops<kChain, 2>()});
  cases.push_back({kChain, 4, loops<kChain, 4>()});
  cases.push_back({kChain, 8, loops<kChain, 8>()});
  cases.push_back({kChain, 16, loops<kChain, 16>()});
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

// Medians of interleaved repeats, in nanoseconds per run.
std::vector<double> interleave(const std::vector<std::function<void()>>& variants) {
  constexpr int kRepeats = 15;
  constexpr double kBudget = 1e6;
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
  std::vector<double> medians;
  for (std::vector<double>& all : times) {
    std::nth_element(all.begin(), all.begin() + kRepeats / 2, all.end());
    medians.push_back(all[kRepeats / 2]);
  }
  return medians;
}

void run_case(const Case& test, int64_t n, vm::Target& target) {
  static std::vector<std::vector<float>> tensors = [] {
    std::vector<std::vector<float>> made(6, std::vector<float>(10000000));
    for (size_t t = 0; t < made.size(); ++t) {
      for (size_t i = 0; i < made[t].size(); ++i) {
        made[t][i] = 0.3f + 0.02f * static_cast<float>(t) + 0.05f * static_cast<float>(i % (7 + t));
      }
    }
    return made;
  }();
  const float* in[5];
  std::vector<std::byte*> globals;
  const int count = kChains[test.chain].tensors;
  for (int t = 0; t < count; ++t) {
    in[t] = tensors[static_cast<size_t>(t)].data();
    globals.push_back(reinterpret_cast<std::byte*>(tensors[static_cast<size_t>(t)].data()));
  }
  float* out = tensors[5].data();
  globals.push_back(reinterpret_cast<std::byte*>(out));

  vm::TargetTraits plain_traits = target.traits();
  plain_traits.chains = false;
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
  if (!__builtin_cpu_supports("avx512dq")) {
    std::printf("this machine has no AVX-512: no chains to measure\n");
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
  for (const Case& test : cases) {
    if (argc > 1 && std::strncmp(kChains[test.chain].name, argv[1], std::strlen(argv[1])) != 0) {
      continue;
    }
    for (const int64_t n : {1000, 10000, 100000, 1000000, 10000000}) run_case(test, n, *target);
  }
}
