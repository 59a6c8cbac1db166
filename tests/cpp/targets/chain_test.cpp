// Chains in registers against the plain kernels, micro-op by micro-op: the same bits and the same
// status flags for every operation, destination, choice of sources and length, at every SIMD level
// that has chains and for both widths of elements.
#include "cpu/chain/chain.h"

#include <gtest/gtest.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "chain_case.h"
#include "chain_levels.h"
#include "core/ops/fp_flags.h"
#include "cpu/chain/bodies.h"
#include "cpu/kernels.h"
#include "cpu/simd_level.h"
#include "oracle.h"

namespace dvm::testing {
namespace {

using vm::Access;
using vm::Insn;
using vm::Instruction;
using vm::kBanks;
using vm::kFirstBank;
using vm::kFirstOperand;
using vm::MicroOp;
using vm::Operand;

struct Op {
  Insn insn;
  uint8_t aux = 0;
  bool any_nan = false;  // of two NaNs it may give either
  bool quiet = false;    // raises nothing, whatever its instructions do
};

void add_comparisons(std::vector<Op>& ops, bool quiet) {
  for (int order = 0; order < vm::kCompareCount; ++order) {
    ops.push_back({Insn::cmp, static_cast<uint8_t>(order), false, quiet});
  }
}

std::vector<Op> integer_ops() {
  std::vector<Op> ops;
  for (const Insn insn : {Insn::add, Insn::sub, Insn::mul, Insn::maximum, Insn::minimum, Insn::neg,
                          Insn::abs, Insn::positive, Insn::square, Insn::copy, Insn::select,
                          Insn::bitwise_and, Insn::bitwise_or, Insn::bitwise_xor, Insn::invert,
                          Insn::fmax, Insn::fmin, Insn::left_shift, Insn::right_shift}) {
    ops.push_back({insn});
  }
  add_comparisons(ops, false);
  return ops;
}

template <typename T>
std::vector<Op> tested_ops() {
  if constexpr (std::is_integral_v<T>) return integer_ops();
  std::vector<Op> ops = {{Insn::add, 0, true},
                         {Insn::sub, 0, true},
                         {Insn::mul, 0, true},
                         {Insn::div, 0, true},
                         {Insn::maximum, 0, false, true},
                         {Insn::minimum, 0, false, true},
                         {Insn::copy},
                         {Insn::neg},
                         {Insn::abs},
                         {Insn::fabs},
                         {Insn::positive},
                         {Insn::square},
                         {Insn::reciprocal},
                         {Insn::sqrt, 0, true},
                         {Insn::floor, 0, false, true},
                         {Insn::ceil, 0, false, true},
                         {Insn::trunc, 0, false, true},
                         {Insn::rint, 0, false, true},
                         {Insn::exp, 0, true, true},
                         {Insn::tanh, 0, true, true},
                         {Insn::expm1, 0, true, true},
                         {Insn::log, 0, true, true},
                         {Insn::log1p, 0, true, true},
                         {Insn::log2, 0, true, true},
                         {Insn::log10, 0, true, true},
                         {Insn::exp2, 0, true, true},
                         {Insn::sin, 0, true, true},
                         {Insn::cos, 0, true, true},
                         {Insn::erf, 0, true, true},
                         {Insn::fmax, 0, true, true},
                         {Insn::fmin, 0, true, true},
                         {Insn::sign, 0, true, true},
                         {Insn::copysign},
                         {Insn::deg2rad, 0, true},
                         {Insn::rad2deg, 0, true},
                         {Insn::isnan, 0, false, true},
                         {Insn::isfinite, 0, false, true},
                         {Insn::isinf, 0, false, true},
                         {Insn::signbit},
                         {Insn::select}};
  add_comparisons(ops, true);
  return ops;
}

// The values of a case: every pair of interesting ones occurs where there is room for all.
template <typename T>
struct Values {
  std::vector<T> a, b, c;
  std::vector<uint8_t> conditions;
  bool finite;

  Values(int64_t size, uint64_t seed, bool only_finite) : finite(only_finite) {
    std::mt19937_64 random(seed);
    std::vector<T> all = interesting<T>(random);
    if constexpr (!std::is_integral_v<T>) {
      all.push_back(-std::numeric_limits<T>::quiet_NaN());
      if (finite) std::erase_if(all, [](T x) { return !(x == x) || std::fabs(x) > 100; });
    }
    if (finite) std::erase(all, T{0});
    const size_t n = all.size();
    for (size_t i = 0; i < static_cast<size_t>(size); ++i) {
      const size_t at = seed % 2 == 0 ? i : random();
      a.push_back(all[at % n]);
      b.push_back(all[at / n % n]);
      c.push_back(all[random() % n]);
      conditions.push_back(static_cast<uint8_t>(random() % 3));
    }
  }
};

template <typename T>
void expect_same(const Chain::Result& got, const Chain::Result& want, bool any_nan,
                 bool may_decline, const std::string& what) {
  ASSERT_TRUE(got.ran || may_decline) << what;
  EXPECT_EQ(int{got.flags}, int{want.flags}) << what;
  for (size_t k = 0; k < got.tensors.size(); ++k) {
    if (got.tensors[k] == want.tensors[k]) continue;
    ASSERT_TRUE(any_nan && !std::is_integral_v<T>) << what << ", operand " << k;
    for (size_t i = 0; i + sizeof(T) <= got.tensors[k].size(); i += sizeof(T)) {
      T x, y;
      std::memcpy(&x, got.tensors[k].data() + i, sizeof(T));
      std::memcpy(&y, want.tensors[k].data() + i, sizeof(T));
      if constexpr (!std::is_integral_v<T>) {
        ASSERT_TRUE(same(x, y)) << what << ", operand " << k << ", element " << i / sizeof(T);
      }
    }
  }
}

// What a level may lack, beside what it raises too much for.
bool has_body(Insn insn, DType dtype) {
  return insn != Insn::right_shift || dtype != DType::i64 || !lacks_wide_integers();
}
// Functions whose blocks of other than ordinary arguments are left to the plain kernel, flags and
// all.
bool raises_by_itself(Insn insn) {
  switch (insn) {
    case Insn::expm1:
    case Insn::exp2:
    case Insn::log:
    case Insn::log1p:
    case Insn::log2:
    case Insn::log10:
    case Insn::sin:
    case Insn::cos:
      return true;
    default:
      return false;
  }
}

// Loads three banks, does the operation, and stores all banks: two of them must be as they were.
template <typename T>
void check(const Op& op, int dst, const int (&sources)[3], const Values<T>& values, int64_t size,
           size_t offset, T scalar) {
  const vm::InsnInfo& row = vm::info(op.insn);
  Chain chain(size, offset);
  const std::vector<T>* data[] = {&values.a, &values.b, &values.c};
  uint8_t memory[3];
  for (int k = 0; k < 3; ++k) {
    memory[k] = chain.input(kDType<T>, reinterpret_cast<const std::byte*>(data[k]->data()));
    const auto bank = static_cast<uint8_t>(kFirstBank + k);
    chain.step(Insn::copy, kDType<T>, 0, bank, {memory[k]});
  }
  const bool chooses = op.insn == Insn::select;
  if (chooses) {
    const auto* conditions = reinterpret_cast<const std::byte*>(values.conditions.data());
    const uint8_t condition = chain.input(DType::boolean, conditions);
    chain.step(Insn::copy, DType::boolean, 0, static_cast<uint8_t>(kFirstBank + sources[2]),
               {condition});
  }
  const auto place = [&](int k) {
    if (sources[k] < kBanks) return static_cast<uint8_t>(kFirstBank + sources[k]);
    if (sources[k] == kBanks) return memory[k];
    return dst == 1 ? chain.one(scalar) : chain.scalar(scalar);
  };
  const auto to = static_cast<uint8_t>(kFirstBank + dst);
  if (chooses) {
    const auto condition = static_cast<uint8_t>(kFirstBank + sources[2]);
    chain.step(op.insn, kDType<T>, op.aux, to, {condition, place(0), place(1)});
  } else if (row.operands == 2) {
    chain.step(op.insn, kDType<T>, op.aux, to, {place(0)});
  } else {
    chain.step(op.insn, kDType<T>, op.aux, to, {place(0), place(1)});
  }
  for (int k = 0; k < 3; ++k) {
    // A bool that came from memory is stored as 1, whatever byte it was.
    if (chooses && k == sources[2] && k != dst) continue;
    const bool is_bool = k == dst && row.boolean_result;
    const DType dtype = is_bool ? DType::boolean : kDType<T>;
    chain.step(Insn::copy, dtype, 0, chain.output(dtype), {static_cast<uint8_t>(kFirstBank + k)});
  }
  const std::string what = std::string(to_string(cpu::simd_level())) + " " + std::string(row.name) +
                           "." + std::to_string(op.aux) + " to bank " + std::to_string(dst) +
                           " from " + std::to_string(sources[0]) + ", " +
                           std::to_string(sources[1]) + ", " + std::to_string(sources[2]) +
                           ", size " + std::to_string(size) + ", offset " + std::to_string(offset) +
                           ", scalar " + std::to_string(scalar);
  // Functions that underflow on the way, and NaNs in the rest.
  const bool raises = cpu::chain_bodies(cpu::simd_level(), sizeof(T))->raise_too_much;
  const bool may_decline =
      !has_body(op.insn, kDType<T>) ||
      (raises && (raises_by_itself(op.insn) || (op.quiet && (op.any_nan || !values.finite))));
  expect_same<T>(chain.in_registers(), chain.plain(), op.any_nan, may_decline, what);
}

// Sources 0, 1, 2 are banks, 3 memory, 4 a scalar.
template <typename Check>
void for_each_pattern(const Op& op, Check check_one) {
  const bool chooses = op.insn == Insn::select;
  const int operands = vm::info(op.insn).operands - 1 - (chooses ? 1 : 0);
  for (int dst = 0; dst < kBanks; ++dst) {
    for (int a = 0; a < kBanks + 2; ++a) {
      for (int b = 0; b < (operands == 2 ? kBanks + 2 : 1); ++b) {
        if (a == kBanks + 1 && (operands == 1 || b == kBanks + 1)) continue;
        for (int c = 0; c < (chooses ? kBanks : 1); ++c) {
          if (chooses && (a == c || b == c)) continue;  // that bank holds the condition
          check_one(dst, {a, b, c});
        }
      }
    }
  }
}

template <typename T>
void check_lengths() {
  for (const int64_t size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 127, 128, 129, 300, 1000}) {
    for (const bool finite : {false, true}) {
      const Values<T> values(size, 3, finite);
      for (const Op& op : tested_ops<T>()) {
        for_each_pattern(op, [&](int dst, const int(&sources)[3]) {
          check(op, dst, sources, values, size, sizeof(T) * (size % 5), T(0.5));
        });
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

template <typename T>
void check_pairs() {
  const Values<T> values(4000, 2, false);
  for (const Op& op : tested_ops<T>()) {
    std::vector<T> scalars = {T{0}, T{1}, std::numeric_limits<T>::lowest()};
    if constexpr (!std::is_integral_v<T>)
      scalars.insert(scalars.end(), {-T{0}, -T(INFINITY), T(NAN)});
    for (const T scalar : scalars) {
      for_each_pattern(op, [&](int dst, const int(&sources)[3]) {
        if (dst != 0 || (scalar != 0 && sources[0] < 4 && sources[1] < 4)) return;
        check(op, dst, sources, values, 4000, 0, scalar);
      });
    }
  }
}

using Chains = AtEachLevel;

TEST_P(Chains, EveryOperationPatternAndLength) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  check_lengths<float>();
  check_lengths<double>();
  check_lengths<int32_t>();
  check_lengths<int64_t>();
}

// Zeros and NaNs have an order in extremes; every pair of values, and scalars that matter.
TEST_P(Chains, EveryPairOfValues) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  check_pairs<float>();
  check_pairs<double>();
  check_pairs<int32_t>();
  check_pairs<int64_t>();
}

// The same chain again and again, with scalars of which each asks for another body.
TEST_P(Chains, AgainWithOtherScalars) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  const Values<float> values(1000, 2, false);
  for (const Insn insn : {Insn::maximum, Insn::minimum}) {
    for (const float scalar : {1.0f, 0.0f, 2.0f, NAN, -0.0f, -1.0f}) {
      check<float>({insn, 0, false, true}, 0, {0, kBanks + 1, 0}, values, 1000, 0, scalar);
    }
  }
}

// Bools of any bytes, combined from banks into banks.
TEST_P(Chains, Logic) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  for (const int64_t size : {1, 5, 8, 33, 128, 300}) {
    std::vector<std::byte> data(static_cast<size_t>(size) * 2);
    for (size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i * 7 % 5 / 2 * (i % 3));
    for (const Insn insn : {Insn::add, Insn::mul, Insn::maximum, Insn::minimum, Insn::logical_and,
                            Insn::logical_or, Insn::logical_xor, Insn::logical_not,
                            Insn::bitwise_and, Insn::bitwise_or, Insn::bitwise_xor, Insn::invert}) {
      for (uint8_t bank = 0; bank < kBanks; ++bank) {
        Chain chain(size, static_cast<size_t>(size % 3));
        const auto dst = static_cast<uint8_t>(kFirstBank + bank);
        const uint8_t a = chain.input(DType::boolean, data.data());
        const uint8_t b = chain.input(DType::boolean, data.data() + size);
        chain.step(Insn::copy, DType::boolean, 0, kFirstBank, {a});
        chain.step(Insn::copy, DType::boolean, 0, kFirstBank + 1, {b});
        if (vm::info(insn).operands == 2) {
          chain.step(insn, DType::boolean, 0, dst, {kFirstBank});
        } else {
          chain.step(insn, DType::boolean, 0, dst, {kFirstBank, kFirstBank + 1});
        }
        chain.step(Insn::copy, DType::boolean, 0, chain.output(DType::boolean), {dst});
        expect_same<int32_t>(chain.in_registers(), chain.plain(), false, false,
                             std::string(vm::info(insn).name) + ", size " + std::to_string(size));
      }
    }
  }
}

// Arguments that functions have a body for, all of them.
template <typename T>
void check_plain_arguments() {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr bool kWide = sizeof(T) == 8;
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  constexpr T kFar = kWide ? 0x1p20 - 1 : 65535;
  struct Ordinary {
    Insn insn;
    T low, high;
  };
  std::mt19937_64 random(1);
  for (const auto& [insn, low, high] :
       {Ordinary{Insn::log, kLeast, kMost}, Ordinary{Insn::log2, kLeast, kMost},
        Ordinary{Insn::log10, kLeast, kMost},
        Ordinary{Insn::log1p, T(-0x1.fffffep-1), T(0x1.fffffep29)}, Ordinary{Insn::expm1, -85, 85},
        Ordinary{Insn::exp2, -124, 124}, Ordinary{Insn::sin, -kFar, kFar},
        Ordinary{Insn::cos, -kFar, kFar}, Ordinary{Insn::erf, -10, 10}}) {
    for (const int64_t size : {1, 3, 7, 8, 31, 100, 128, 1000, 4000}) {
      std::vector<T> x;
      while (x.size() < static_cast<size_t>(size)) {
        const auto value = std::bit_cast<T>(static_cast<Word>(random()));
        // Tiny ones raise on the way where the level is not quiet.
        const T magnitude = std::fabs(value);
        if (value >= low && value <= high && (magnitude > T(0x1p-30) || low > 0)) {
          x.push_back(x.size() % 3 == 0 || low > 0 ? value : std::remainder(value, T(1.99)));
          if (std::fabs(x.back()) < T(0x1p-30) && low <= 0) x.back() = T(0.5);
        }
      }
      for (uint8_t bank = 0; bank < kBanks; ++bank) {
        Chain chain(size, sizeof(T));
        const auto dst = static_cast<uint8_t>(kFirstBank + bank);
        const uint8_t in = chain.input(kDType<T>, reinterpret_cast<const std::byte*>(x.data()));
        chain.step(Insn::copy, kDType<T>, 0, kFirstBank + 1, {in});
        chain.step(insn, kDType<T>, 0, dst, {kFirstBank + 1});
        chain.step(Insn::copy, kDType<T>, 0, chain.output(kDType<T>), {dst});
        expect_same<T>(chain.in_registers(), chain.plain(), false, false,
                       std::string(vm::info(insn).name) + ", size " + std::to_string(size));
      }
    }
  }
}
TEST_P(Chains, PlainArguments) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  check_plain_arguments<float>();
  check_plain_arguments<double>();
}

// From memory or from a bank, into each bank, and stored as what it has become.
void check_cast(DType to, DType from, int64_t size) {
  std::vector<std::byte> data;
  core::dispatch(from, [&]<DType D>() {
    std::mt19937_64 random(1);
    const auto all = interesting<core::Storage<D>>(random);
    const auto* bytes = reinterpret_cast<const std::byte*>(all.data());
    const size_t count = all.size() * sizeof(core::Storage<D>);
    while (data.size() < static_cast<size_t>(size) * sizeof(core::Storage<D>)) {
      data.insert(data.end(), bytes, bytes + count);
    }
  });
  for (uint8_t bank = 0; bank < kBanks; ++bank) {
    for (const bool loaded : {false, true}) {
      Chain chain(size, static_cast<size_t>(core::byte_size(from)));
      uint8_t source = chain.input(from, data.data());
      if (loaded || from == DType::boolean) {
        chain.step(Insn::copy, from, 0, kFirstBank + 1, {source});
        source = kFirstBank + 1;
      }
      const auto dst = static_cast<uint8_t>(kFirstBank + bank);
      chain.step(Insn::cast, to, static_cast<uint8_t>(from), dst, {source});
      chain.step(Insn::copy, to, 0, chain.output(to), {dst});
      // 64-bit integers of floats, and of integers that wrap; NaNs that signal.
      const bool lacks = core::byte_size(from) == 8 && core::info(to).kind == core::Kind::integer;
      const bool may_decline =
          lacks_wide_integers() && (lacks || core::is_half(from) || to == DType::boolean);
      expect_same<int32_t>(chain.in_registers(), chain.plain(), false, may_decline,
                           std::string(core::to_string(to)) + " of " +
                               std::string(core::to_string(from)) + ", size " +
                               std::to_string(size) + ", bank " + std::to_string(bank));
    }
  }
}

TEST_P(Chains, Casts) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  using enum DType;
  constexpr std::pair<DType, DType> kCasts[] = {
      {f32, f16}, {f16, f32},     {f32, u8},      {u8, f32},      {f32, i32},
      {i32, f32}, {f32, boolean}, {boolean, f32}, {i32, boolean}, {boolean, i32},
      {u8, i32},  {i32, u8},      {f64, f32},     {f32, f64},     {f64, i64},
      {i64, f64}, {f64, i32},     {i64, i32},     {i32, i64},     {f64, u8},
      {i64, u8},  {boolean, f64}, {f64, boolean}, {i64, boolean}, {boolean, i64},
      {u8, i64},  {i32, f16},     {f32, f32},     {f32, bf16},    {bf16, f32}};
  for (const int64_t size : {1, 3, 4, 7, 16, 31, 64, 130, 1000}) {
    for (const auto& [to, from] : kCasts) check_cast(to, from, size);
  }
}

// In place: what is left of a tile may not be computed twice.
TEST_P(Chains, WorkInPlace) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  for (const int64_t size : {1, 100, 128, 200, 1000}) {
    std::vector<float> data(static_cast<size_t>(size) + 32, 1.0f);
    uint64_t words[3 + 2 + 3];
    Instruction fixed{.insn = Insn::chain, .dtype = DType{}, .aux = 2, .steps = 3};
    std::memcpy(words, &fixed, sizeof(fixed));
    const Operand operands[] = {{.access = Access::of(DType::f32, false)},
                                {.access = Access::of(DType::f32, true)}};
    std::memcpy(words + 3, operands, sizeof(operands));
    const MicroOp steps[] = {
        {.insn = Insn::copy, .dst = kFirstBank, .src = {kFirstOperand}},
        {.insn = Insn::add, .dst = kFirstBank, .src = {kFirstBank, kFirstBank}},
        {.insn = Insn::copy, .dst = kFirstOperand + 1, .src = {kFirstBank}}};
    std::memcpy(words + 5, steps, sizeof(steps));
    vm::ChainArgs args;
    args.insn = reinterpret_cast<const Instruction*>(words);
    args.rows = 1;
    args.columns = size;
    args.operands[0] = args.operands[1] = reinterpret_cast<std::byte*>(data.data());
    cpu::begin_chains();
    ASSERT_TRUE(cpu::run_chain_in_registers(args));
    for (size_t i = 0; i < data.size(); ++i) {
      EXPECT_EQ(data[i], i < static_cast<size_t>(size) ? 2.0f : 1.0f) << i << " of " << size;
    }
  }
}

// And may then not be computed again, whatever it raised or gave up for, unless it is put back.
TEST_P(Chains, PutBackWhatTheyWroteOver) {
  std::mt19937_64 random(1);
  std::vector<float> all = interesting<float>(random);
  all.resize(3000, 1.5f);
  std::ranges::shuffle(all, random);
  for (const Insn insn : {Insn::exp, Insn::log, Insn::tanh, Insn::rint, Insn::square}) {
    for (const size_t size : {size_t{1}, size_t{100}, size_t{1000}, size_t{3000}}) {
      Chain apart(static_cast<int64_t>(size), 0);
      const auto* bytes = reinterpret_cast<const std::byte*>(all.data());
      apart.step(Insn::copy, DType::f32, 0, kFirstBank, {apart.input(DType::f32, bytes)});
      apart.step(insn, DType::f32, 0, kFirstBank, {kFirstBank});
      apart.step(Insn::copy, DType::f32, 0, apart.output(DType::f32), {kFirstBank});
      const Chain::Result want = apart.plain(), got = apart.over_itself();
      EXPECT_EQ(int{got.flags}, int{want.flags}) << vm::info(insn).name;
      for (size_t i = 0; i < size; ++i) {
        float x, y;
        std::memcpy(&x, got.tensors[0].data() + 4 * i, 4);
        std::memcpy(&y, want.tensors[1].data() + 4 * i, 4);
        ASSERT_TRUE(same(x, y)) << vm::info(insn).name << " of " << all[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Chains, ::testing::ValuesIn(levels_of_chains()),
                         [](const auto& level) { return std::string(to_string(level.param)); });

}  // namespace
}  // namespace dvm::testing
