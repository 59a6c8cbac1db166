// Prints the largest error, in units of the last place, of the cpu's functions by dtype and SIMD
// level: for f32 over all floats (or every STEP-th, `ulp_table STEP [NAME [LEVEL]]`), for f64 and
// for functions of two arguments over a sample of the range in which they are neither constant nor
// linear. The exact values are the library's in the next wider format.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
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
#define DVM_FUNCTION(name, library) \
  { #name, Insn::name, std::library, std::library }
constexpr Function kFunctions[] = {
    DVM_FUNCTION(exp, exp),       DVM_FUNCTION(exp2, exp2),     DVM_FUNCTION(expm1, expm1),
    DVM_FUNCTION(log, log),       DVM_FUNCTION(log2, log2),     DVM_FUNCTION(log10, log10),
    DVM_FUNCTION(log1p, log1p),   DVM_FUNCTION(sin, sin),       DVM_FUNCTION(cos, cos),
    DVM_FUNCTION(tan, tan),       DVM_FUNCTION(arcsin, asin),   DVM_FUNCTION(arccos, acos),
    DVM_FUNCTION(arctan, atan),   DVM_FUNCTION(sinh, sinh),     DVM_FUNCTION(cosh, cosh),
    DVM_FUNCTION(tanh, tanh),     DVM_FUNCTION(arcsinh, asinh), DVM_FUNCTION(arccosh, acosh),
    DVM_FUNCTION(arctanh, atanh), DVM_FUNCTION(cbrt, cbrt),     DVM_FUNCTION(erf, erf)};
#undef DVM_FUNCTION

struct PairFunction {
  const char* name;
  Insn insn;
  long double (*wide)(long double, long double);
};
constexpr PairFunction kPairFunctions[] = {{"power", Insn::power, std::pow},
                                           {"arctan2", Insn::arctan2, std::atan2},
                                           {"hypot", Insn::hypot, std::hypot},
                                           {"fmod", Insn::fmod, std::fmod}};

constexpr int64_t kBlock = 1024;

struct Wanted {
  uint64_t step = 1;
  std::string name, level;  // empty: all
  bool has(const char* of) const { return name.empty() || name == of; }
  bool has(cpu::SimdLevel of) const { return level.empty() || level == cpu::to_string(of); }
} wanted;

std::vector<cpu::SimdLevel> levels() {
  std::vector<cpu::SimdLevel> found;
  for (const cpu::SimdLevel level : cpu::simd_levels()) {
    if (wanted.has(level)) found.push_back(level);
  }
  return found;
}

template <typename T>
void apply(vm::TileKernel kernel, const T* x, const T* second, T* y) {
  vm::TileArgs args{};
  args.dst = reinterpret_cast<std::byte*>(y);
  args.src[0] = reinterpret_cast<const std::byte*>(x);
  args.src[1] = reinterpret_cast<const std::byte*>(second);
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

// The worst error of each level, and the exact values of a block computed once for all of them.
template <typename T>
class Errors {
 public:
  Errors(Insn insn, DType dtype) {
    for (const cpu::SimdLevel level : levels()) {
      kernels_.push_back(
          cpu::kernel_table(level).at[static_cast<int>(insn)][static_cast<int>(dtype)]);
    }
    worst_.resize(kernels_.size());
  }

  template <typename W>
  void add(const T* x, const T* second, const W* exact) {
    T y[kBlock];
    for (size_t level = 0; level < kernels_.size(); ++level) {
      apply(kernels_[level], x, second, y);
      for (int i = 0; i < kBlock; ++i)
        worst_[level] = std::max(worst_[level], ulps(y[i], exact[i]));
    }
  }

  void print(const char* name, const char* dtype) const {
    std::printf("| %s | %s |", name, dtype);
    for (const double worst : worst_) std::printf(" %.2f |", worst);
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  std::vector<vm::TileKernel> kernels_;
  std::vector<double> worst_;
};

void of_floats(const Function& function) {
  const uint64_t step = wanted.step;
  Errors<float> errors(function.insn, DType::f32);
  float x[kBlock];
  double exact[kBlock];
  for (uint64_t begin = 0; begin < uint64_t{1} << 32; begin += kBlock * step) {
    for (uint64_t i = 0; i < kBlock; ++i) {
      const auto bits = static_cast<uint32_t>(begin + i * step);
      std::memcpy(&x[i], &bits, sizeof(bits));
      exact[i] = function.wide(double{x[i]});
    }
    errors.add(x, x, exact);
  }
  errors.print(function.name, "f32");
}

template <typename T>
T sample(std::mt19937_64& random) {
  const double fraction = 1 + static_cast<double>(random() >> 11) * 0x1p-53;
  const double x = std::ldexp(fraction, static_cast<int>(random() % 24) - 12);
  return static_cast<T>(random() & 1 ? -x : x);
}

void of_doubles(const Function& function) {
  std::mt19937_64 random(5);
  Errors<double> errors(function.insn, DType::f64);
  double x[kBlock];
  long double exact[kBlock];
  for (int block = 0; block < 1000; ++block) {
    for (int i = 0; i < kBlock; ++i) {
      x[i] = sample<double>(random);
      exact[i] = function.wider(static_cast<long double>(x[i]));
    }
    errors.add(x, x, exact);
  }
  errors.print(function.name, "f64");
}

template <typename T>
void of_pairs(const PairFunction& function, DType dtype) {
  std::mt19937_64 random(6);
  Errors<T> errors(function.insn, dtype);
  T x[kBlock], second[kBlock];
  long double exact[kBlock];
  for (int block = 0; block < 1000; ++block) {
    for (int i = 0; i < kBlock; ++i) {
      x[i] = sample<T>(random), second[i] = sample<T>(random);
      exact[i] = function.wide(x[i], second[i]);
    }
    errors.add(x, second, exact);
  }
  errors.print(function.name, sizeof(T) == 4 ? "f32" : "f64");
}

void print_table() {
  std::printf("| function | dtype |");
  for (const cpu::SimdLevel level : levels()) {
    std::printf(" %s |", std::string(cpu::to_string(level)).c_str());
  }
  std::printf("\n");
  for (const Function& function : kFunctions) {
    if (!wanted.has(function.name)) continue;
    of_floats(function);
    of_doubles(function);
  }
  for (const PairFunction& function : kPairFunctions) {
    if (!wanted.has(function.name)) continue;
    of_pairs<float>(function, DType::f32);
    of_pairs<double>(function, DType::f64);
  }
}

}  // namespace
}  // namespace dvm

int main(int count, char** arguments) {
  using dvm::wanted;
  if (count > 1) wanted.step = std::max<uint64_t>(std::strtoull(arguments[1], nullptr, 10), 1);
  if (count > 2) wanted.name = arguments[2];
  if (count > 3) wanted.level = arguments[3];
  dvm::print_table();
}
