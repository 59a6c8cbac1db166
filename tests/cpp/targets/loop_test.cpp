// Loops that carry values, tails along several axes, and memories besides UB: every sample on a
// simulated AI Core, whose checks say that flags order all pipes, and on the cpu, against plain
// loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>
#include <utility>
#include <vector>

#include "core/error.h"
#include "cpu/cpu_target.h"
#include "sim/sim_target.h"
#include "vm/isa/program.h"
#include "vm/loop_programs.h"

namespace dvm::testing {
namespace {

using vm::Program;

// Runs a listing on both kinds of targets; f(target, words) each.
template <typename F>
void on_both(std::string_view listing, bool cpu, F run) {
  const auto words = vm::assemble(listing);
  const auto sim = sim::make_sim_target(*vm::find_target("ascend910b3"));
  run(*sim, words);
  if (!cpu) return;
  const auto of_cpu = vm::assemble(vm::for_cpu(listing));
  const auto target = cpu::make_cpu_target();
  run(*target, of_cpu);
}

std::vector<float> random_floats(size_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> uniform(-4, 4);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(rng);
  return values;
}

std::byte* bytes(auto& values) { return reinterpret_cast<std::byte*>(values.data()); }

TEST(Loops, MatmulAddsTheStepsOfALoop) {
  constexpr size_t kM = 100, kK = 50, kN = 70;
  auto a = random_floats(kM * kK, 1), b = random_floats(kK * kN, 2);
  for (auto* factor : {&a, &b}) {  // whose sums are exact, in any order and however rounded
    for (float& x : *factor) x = std::round(x);
  }
  std::vector<float> expected(kM * kN);
  for (size_t i = 0; i < kM; ++i) {
    for (size_t j = 0; j < kN; ++j) {
      float sum = a[i * kK] * b[j];
      for (size_t k = 1; k < kK; ++k) sum = sum + a[i * kK + k] * b[k * kN + j];
      expected[i * kN + j] = sum;
    }
  }
  on_both(vm::kMatmulExample, true, [&](vm::Target& target, const std::vector<uint64_t>& words) {
    std::vector<float> c(kM * kN, NAN);
    std::byte* globals[] = {bytes(a), bytes(b), bytes(c)};
    target.run(Program(words), globals);
    for (size_t i = 0; i < c.size(); ++i) {
      EXPECT_EQ(c[i], expected[i])
          << target.traits().name << ", row " << i / kN << ", column " << i % kN;
    }
  });
}

TEST(Loops, NestedLoopsFeedTheCube) {
  std::vector<core::Half> a(3 * 512), b(3 * 512);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = core::to_half<core::Half>(static_cast<float>(i % 7) - 3);
    b[i] = core::to_half<core::Half>(static_cast<float>(i % 5) - 2);
  }
  // Each step of the outer loop is added twice, but for the first one: a step of the inner loop
  // writes anew while the outer one stands at its first.
  std::vector<float> expected(256);
  for (size_t step = 0; step < 3; ++step) {
    for (size_t m = 0; m < 16; ++m) {
      for (size_t n = 0; n < 16; ++n) {
        for (size_t k = 0; k < 32; ++k) {
          const float product = core::to_float(a[step * 512 + m * 32 + k]) *
                                core::to_float(b[step * 512 + k * 16 + n]);
          expected[m * 16 + n] += static_cast<float>(step == 0 ? 1 : 2) * product;
        }
      }
    }
  }
  on_both(vm::kNestedExample, false, [&](vm::Target& target, const std::vector<uint64_t>& words) {
    std::vector<float> c(256, NAN);
    std::byte* globals[] = {bytes(a), bytes(b), bytes(c)};
    target.run(Program(words), globals);
    EXPECT_EQ(c, expected);
  });
}

TEST(Loops, SlotsCarryValuesFromStepToStep) {
  auto x = random_floats(140, 3);
  on_both(vm::kCarriedExample, true, [&](vm::Target& target, const std::vector<uint64_t>& words) {
    std::vector<float> result(7, NAN), expected;
    for (size_t row = 0; row < 7; ++row) {
      const auto begin = x.begin() + static_cast<ptrdiff_t>(row * 20);
      expected.push_back(*std::max_element(begin, begin + 20));
    }
    std::byte* globals[] = {bytes(x), bytes(result)};
    target.run(Program(words), globals);
    EXPECT_EQ(result, expected) << target.traits().name;
  });
}

TEST(Loops, OneTileReducesBothAxes) {
  std::vector<float> x(48);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 31);  // exact sums
  std::vector<float> rows(6), columns(8);
  for (size_t i = 0; i < x.size(); ++i) rows[i / 8] += x[i], columns[i % 8] += x[i];
  on_both(vm::kTwoAxesExample, true, [&](vm::Target& target, const std::vector<uint64_t>& words) {
    std::vector<float> by_row(6, NAN), by_column(8, NAN);
    std::byte* globals[] = {bytes(x), bytes(by_row), bytes(by_column)};
    target.run(Program(words), globals);
    EXPECT_EQ(by_row, rows) << target.traits().name;
    EXPECT_EQ(by_column, columns) << target.traits().name;
  });
}

TEST(Loops, GathersFollowIndicesAndSayWhichAreNotThere) {
  auto table = random_floats(63, 4);
  std::vector<int64_t> rows = {8, 0, -1, 3, -9}, picks = {0, 8, -9, 4, 4, -1, 2};
  const auto run = [&](vm::Target& target, const std::vector<uint64_t>& words,
                       std::vector<float>& chosen, std::vector<float>& picked) {
    std::byte* globals[] = {bytes(rows), bytes(table), bytes(picks), bytes(chosen), bytes(picked)};
    const vm::Launch launch{Program(words), globals};
    return target.run({&launch, 1});
  };
  const auto row_of = [](int64_t index) {
    return static_cast<size_t>(index < 0 ? index + 9 : index);
  };
  on_both(vm::kGatherExample, true, [&](vm::Target& target, const std::vector<uint64_t>& words) {
    std::vector<float> chosen(35, NAN), picked(7, NAN);
    EXPECT_EQ(run(target, words, chosen, picked).fault, vm::Fault::none);
    for (size_t i = 0; i < 35; ++i) EXPECT_EQ(chosen[i], table[row_of(rows[i / 7]) * 7 + i % 7]);
    for (size_t i = 0; i < 7; ++i) EXPECT_EQ(picked[i], table[row_of(picks[i]) * 7 + i]);
  });
  for (const int64_t stray : {int64_t{9}, int64_t{-10}, INT64_MAX, INT64_MIN}) {
    for (std::vector<int64_t>* indices : {&rows, &picks}) {
      const int64_t kept = std::exchange(indices->back(), stray);
      on_both(vm::kGatherExample, true, [&](vm::Target& target, const auto& words) {
        std::vector<float> chosen(35, NAN), picked(7, NAN);
        EXPECT_EQ(run(target, words, chosen, picked).fault, vm::Fault::index_out_of_range) << stray;
      });
      indices->back() = kept;
    }
  }
}

// Without one of its flags, a pipe may overtake another: the simulated core says which and where.
TEST(Loops, MissingFlagsAreFound) {
  const auto fault_without = [](const std::string& pair) {
    const std::string text = std::regex_replace(
        std::string(vm::kMatmulExample), std::regex(", " + pair + "_sync\\([a-z]*, [0-9]\\)"), "");
    const auto words = vm::assemble(
        std::regex_replace(text, std::regex("loop_flags=\\[" + pair + "\\]"), "loop_flags=[]"));
    auto a = random_floats(5000, 1), b = random_floats(3500, 2);
    std::vector<float> c(7000);
    std::byte* globals[] = {bytes(a), bytes(b), bytes(c)};
    const auto sim = sim::make_sim_target(*vm::find_target("ascend910b3"));
    try {
      sim->run(Program(words), globals);
    } catch (const core::Error& error) {
      return error.message();
    }
    return std::string("none");
  };
  EXPECT_EQ(fault_without("none of these"), "none");
  // Within a step, from step to step, behind the loop, and from tile to tile.
  for (const char* pair : {"load_cube", "cube_load", "cube_fix"}) {
    const std::string fault = fault_without(pair);
    EXPECT_NE(fault.find("no flag orders them"), std::string::npos) << pair << ": " << fault;
  }
}

}  // namespace
}  // namespace dvm::testing
