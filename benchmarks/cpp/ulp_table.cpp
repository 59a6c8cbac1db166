// Prints the largest error, in units of the last place, of the cpu's functions by dtype and SIMD
// level: for f32 over all floats (or every STEP-th, `ulp_table STEP`), for f64 over a sample of the
// range in which the function is neither constant nor linear, against long double.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "cpu/kernels.h"

namespace dvm {
namespace {

using vm::DType;
using vm::Insn;

struct Function {
  const char* name;
  Insn insn;
  double (*wide)(double);
  long double (*wider)(long double);
};
#define DVM_FUNCTION(name) \
  { #name, Insn::name, std::name, std::name }
constexpr Function kFunctions[] = {DVM_FUNCTION(exp),   DVM_FUNCTION(exp2), DVM_FUNCTION(expm1),
                                   DVM_FUNCTION(log),   DVM_FUNCTION(log2), DVM_FUNCTION(log10),
                                   DVM_FUNCTION(log1p), DVM_FUNCTION(tanh), DVM_FUNCTION(sin),
                                   DVM_FUNCTION(cos)};
#undef DVM_FUNCTION

constexpr int64_t kBlock = 1024;

template <typename T>
void apply(vm::TileKernel kernel, const T* x, T* y) {
  vm::TileArgs args{};
  args.dst = reinterpret_cast<std::byte*>(y);
  args.src[0] = reinterpret_cast<const std::byte*>(x);
  args.m = args.n = 1;
  args.size = kBlock;
  kernel(args);
}

// NaN for NaN and infinity for infinity are right, anything else for them is not.
template <typename T, typename W>
double ulps(T got, W exact) {
  const T nearest = static_cast<T>(exact);
  if (got == nearest || (std::isnan(got) && std::isnan(nearest))) return 0;
  if (!std::isfinite(got) || !std::isfinite(nearest)) return INFINITY;
  using L = std::numeric_limits<T>;
  int exponent = 0;
  std::frexp(nearest, &exponent);
  exponent = std::max(exponent - L::digits, L::min_exponent - L::digits);
  return static_cast<double>(std::fabs(got - exact) / std::ldexp(W{1}, exponent));
}

double worst_f32(vm::TileKernel kernel, const Function& function, uint64_t step) {
  float x[kBlock], y[kBlock];
  double worst = 0;
  for (uint64_t begin = 0; begin < uint64_t{1} << 32; begin += kBlock * step) {
    for (uint64_t i = 0; i < kBlock; ++i) {
      const auto bits = static_cast<uint32_t>(begin + i * step);
      std::memcpy(&x[i], &bits, sizeof(bits));
    }
    apply(kernel, x, y);
    for (int i = 0; i < kBlock; ++i) {
      worst = std::max(worst, ulps(y[i], function.wide(double{x[i]})));
    }
  }
  return worst;
}

double worst_f64(vm::TileKernel kernel, const Function& function) {
  std::mt19937_64 random(5);
  double x[kBlock], y[kBlock];
  double worst = 0;
  for (int block = 0; block < 1000; ++block) {
    for (double& value : x) {
      const double fraction = 1 + static_cast<double>(random() >> 11) * 0x1p-53;
      value = std::ldexp(fraction, static_cast<int>(random() % 24) - 12);
      if (random() & 1) value = -value;
    }
    apply(kernel, x, y);
    for (int i = 0; i < kBlock; ++i) {
      worst = std::max(worst, ulps(y[i], function.wider(static_cast<long double>(x[i]))));
    }
  }
  return worst;
}

void print_table(uint64_t step) {
  std::printf("| function | dtype |");
  for (const cpu::SimdLevel level : cpu::simd_levels()) {
    std::printf(" %s |", std::string(cpu::to_string(level)).c_str());
  }
  std::printf("\n");
  for (const Function& function : kFunctions) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      std::printf("| %s | %s |", function.name, std::string(core::to_string(dtype)).c_str());
      for (const cpu::SimdLevel level : cpu::simd_levels()) {
        const auto kernel =
            cpu::kernel_table(level).at[static_cast<int>(function.insn)][static_cast<int>(dtype)];
        std::printf(" %.2f |", dtype == DType::f32 ? worst_f32(kernel, function, step)
                                                   : worst_f64(kernel, function));
        std::fflush(stdout);
      }
      std::printf("\n");
    }
  }
}

}  // namespace
}  // namespace dvm

int main(int count, char** arguments) {
  dvm::print_table(count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1);
}
