// What is computed row by row (softmax, layer norm, rms norm, variance) through the encoder and the
// cpu target, against the best of several hand-written fused loops of the same SIMD level
// (DVM_SIMD), which sum in an order of their own; on one thread, 2**20 elements. The variants of a
// cell are interleaved in one process; medians. Prints nanoseconds per element of the best loop,
// the ratio to it, and how the Programs cut the work.
//
//   bench_norms [name [n]]     norms whose name begins like that, of rows of n
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cpu/chain/chain.h"
#include "cpu/cpu_target.h"
#include "cpu/simd_level.h"
#include "vm/encode/encode.h"

namespace dvm {
namespace {

using Loop = void (*)(float*, const float* const*, size_t rows, size_t n);

// Lambdas are inlined, whatever a call of them would be.
#pragma GCC diagnostic ignored "-Wpsabi"
#define INLINE_LAMBDA __attribute__((always_inline))
#define DVM_LOOPS "norm_loops-inl.h"
#include "simd_layers-inl.h"

constexpr const char* kNames[] = {"softmax", "layer_norm", "rms_norm", "variance"};
constexpr int kInputs[] = {1, 3, 2, 1};

core::Region region_of(int norm, int64_t n) {
  using core::Op;
  core::Region region{"r0", core::Graph()};
  core::Graph& g = region.body;
  const core::Dim columns = g.dims().constant(n);
  const core::Shape shape = {g.dims().symbol("s0"), columns};
  const core::Value x = g.input({core::DType::f32, shape});
  const auto of = [&](Op op, core::Value a, core::Value b) {
    return g.elementwise(op, std::vector{g.broadcast(a, shape), g.broadcast(b, shape)});
  };
  const auto per_row = [&](Op op, core::Value a, double scalar) {
    const core::Value c = g.constant(core::DType::f32, core::Scalar::of_float(scalar));
    return g.elementwise(op, std::vector{a, g.broadcast(c, g.type(a).shape)});
  };
  const auto mean = [&](core::Value v) {
    return per_row(Op::div, g.reduce(Op::sum, v, {1}), static_cast<double>(n));
  };
  const auto root = [&](core::Value v) {
    return g.elementwise(Op::sqrt, std::vector{per_row(Op::add, v, 1e-5f)});
  };
  if (norm == 0) {
    const core::Value shifted = of(Op::sub, x, g.reduce(Op::max, x, {1}));
    const core::Value e = g.elementwise(Op::exp, std::vector{shifted});
    g.outputs = {of(Op::div, e, g.reduce(Op::sum, e, {1}))};
  } else if (norm == 2) {
    const core::Value weight = g.input({core::DType::f32, {columns}});
    g.outputs = {of(Op::mul, of(Op::div, x, root(mean(of(Op::mul, x, x)))), weight)};
  } else {
    const core::Value centered = of(Op::sub, x, mean(x));
    const core::Value variance = mean(of(Op::mul, centered, centered));
    g.outputs = {variance};
    if (norm == 1) {
      const core::Value weight = g.input({core::DType::f32, {columns}});
      const core::Value bias = g.input({core::DType::f32, {columns}});
      g.outputs = {of(Op::add, of(Op::mul, of(Op::div, centered, root(variance)), weight), bias)};
    }
  }
  return region;
}

double nanoseconds(const std::function<void()>& run, int times) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) run();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
             .count() /
         times;
}

// Medians of interleaved repeats.
std::vector<double> interleave(const std::vector<std::function<void()>>& variants) {
  constexpr int kRepeats = 21;
  std::vector<std::vector<double>> times(variants.size());
  for (const auto& run : variants) run();
  for (int r = 0; r < kRepeats; ++r) {
    for (size_t v = 0; v < variants.size(); ++v) times[v].push_back(nanoseconds(variants[v], 3));
  }
  std::vector<double> medians;
  for (std::vector<double>& all : times) {
    std::nth_element(all.begin(), all.begin() + kRepeats / 2, all.end());
    medians.push_back(all[kRepeats / 2]);
  }
  return medians;
}

void run_case(int norm, int64_t n, vm::Target& target) {
  const int64_t elements = 1 << 20, rows = elements / n;
  std::vector<std::vector<float>> tensors(4, std::vector<float>(static_cast<size_t>(elements)));
  for (size_t t = 0; t < tensors.size(); ++t) {
    for (size_t i = 0; i < tensors[t].size(); ++i) {
      tensors[t][i] = 0.3f + 0.1f * static_cast<float>((i * 37 + t) % 61) / 7;
    }
  }
  const float* in[] = {tensors[0].data(), tensors[1].data(), tensors[2].data()};
  float* const out = tensors[3].data();

  const vm::Kernel kernel = vm::prepare(region_of(norm, n));
  int64_t strides[4][core::kMaxRank] = {{4 * n, 4}, {0, 4}, {0, 4}, {0, 4}};
  const bool shrinks = norm == 3;
  strides[kInputs[norm]][0] = shrinks ? 4 : 4 * n;
  std::vector<int64_t> dims;
  for (const core::Dim dim : kernel.dims) dims.push_back(dim.as_constant().value_or(rows));
  vm::Arena arena;
  const vm::Binding binding{dims.data(), nullptr, strides};
  const vm::Compiled compiled = vm::encode(kernel, binding, target.traits(), arena);
  std::vector<std::byte*> globals;
  for (int k = 0; k < kInputs[norm]; ++k) {
    globals.push_back(reinterpret_cast<std::byte*>(tensors[static_cast<size_t>(k)].data()));
  }
  globals.push_back(reinterpret_cast<std::byte*>(out));
  std::vector<std::vector<std::byte>> workspaces;
  for (int k = 0; k < compiled.workspace_count; ++k) {
    workspaces.emplace_back(static_cast<size_t>(compiled.workspace_bytes[k]));
    globals.push_back(workspaces.back().data());
  }

  std::vector<std::function<void()>> variants;
  const bool wide = cpu::simd_level() <= cpu::SimdLevel::avx512;
  for (const Loop loop : wide ? avx512::norm_loops(norm) : avx2::norm_loops(norm)) {
    variants.emplace_back(
        [=, &in] { loop(out, in, static_cast<size_t>(rows), static_cast<size_t>(n)); });
  }
  variants.emplace_back([&] {
    for (int s = 0; s < compiled.stage_count; ++s) target.run(compiled.stages[s], globals);
  });
  variants.front()();
  const size_t results = static_cast<size_t>(shrinks ? rows : elements);
  const std::vector<float> want(out, out + results);
  variants.back()();
  for (size_t i = 0; i < results; ++i) {
    if (!(std::fabs(out[i] - want[i]) <= 1e-4f * std::fabs(want[i]) + 1e-5f)) {
      std::printf("DIFFERENT RESULTS ");
      break;
    }
  }
  const std::vector<double> times = interleave(variants);
  const double best = *std::min_element(times.begin(), times.end() - 1);
  const auto each = static_cast<double>(elements);
  std::printf("%-10s n=%6ld  loop %.4f ns/el  dvm %.4f  ratio %.2f  programs %d, tiles %u\n",
              kNames[norm], static_cast<long>(n), best / each, times.back() / each,
              times.back() / best, compiled.stage_count, compiled.stages[0].header().tile_count);
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  using namespace dvm;
  if (!cpu::has_chain_registers()) {
    std::printf("this SIMD level has no loops to compare with\n");
    return 0;
  }
  cpu::set_thread_count(1);
  const auto target = cpu::make_cpu_target();
  for (int norm = 0; norm < 4; ++norm) {
    if (argc > 1 && std::strncmp(kNames[norm], argv[1], std::strlen(argv[1])) != 0) continue;
    for (const int64_t n : {64, 256, 1024, 4096, 16384}) {
      if (argc > 2 && std::atoi(argv[2]) != n) continue;
      run_case(norm, n, *target);
    }
  }
}
