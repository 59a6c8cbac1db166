// What tests of reductions share: shapes, elements, and the scalar meaning.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/ops/reductions.h"
#include "core/ops/scalar_ops.h"
#include "oracle.h"
#include "vm/isa/program.h"

namespace dvm::testing {

struct Shape {
  uint32_t m, size, n;
};

// The library's generator and distribution took two fifths of these tests, which are not optimised:
// bits by splitmix64, and of normal numbers as many as draws do not tell from any.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}

  uint64_t operator()() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  double normal() {
    static const std::vector<double> numbers = [] {
      std::mt19937_64 random(1);
      std::normal_distribution<double> normal(0, 1);
      std::vector<double> drawn(1 << 14);
      for (double& number : drawn) number = normal(random);
      return drawn;
    }();
    return numbers[(*this)() % numbers.size()];
  }

 private:
  uint64_t state_;
};

// Normal numbers, any integers, few trues; with `special` some of the interesting ones among them.
template <typename T>
std::vector<T> random_values(int64_t count, uint64_t seed, bool special) {
  std::mt19937_64 for_odd(seed);
  const std::vector<T> odd = interesting<T>(for_odd);
  Draws random(seed);
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) {
    if (special && random() % 97 == 0) {
      values.push_back(odd[random() % odd.size()]);
    } else if constexpr (std::is_same_v<T, uint8_t>) {
      values.push_back(random() % 13 == 0);
    } else if constexpr (std::is_integral_v<T>) {
      values.push_back(static_cast<T>(random()));
    } else {
      values.push_back(narrow<T>(random.normal()));
    }
  }
  return values;
}

// In sequential order, or in that of lanes.
template <typename R, typename Load>
R scalar_reduction(vm::Insn insn, int64_t size, Load load, bool lanes = false) {
#define DVM_REDUCE(name, reduction, ...) \
  if (insn == vm::Insn::reduction) return core::scalar::reduction<R>(size, lanes, load);
#include "core/ops/reduce.def"
#undef DVM_REDUCE
  core::fail(core::ErrorCode::internal, "no reduction");
}

}  // namespace dvm::testing
