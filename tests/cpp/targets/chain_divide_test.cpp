// Chains that divide many elements by one number, which they do by its reciprocal, against the
// plain kernels, which divide: same bits and same status flags, whatever is divided by whatever.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "chain_case.h"
#include "chain_levels.h"

namespace dvm::testing {
namespace {

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Numbers around the bounds within which reciprocals serve, and far from them.
template <typename T>
std::vector<T> divisors() {
  using Limits = std::numeric_limits<T>;
  const T bound = sizeof(T) == 4 ? T(0x1p25) : T(0x1p100);
  std::vector<T> all = {1, 2, 3, T(1) / 3, 7, 1000, T(0.1), T(1.5)};
  for (const T x : {T(1), T(2), T(4), bound, 1 / bound, T(std::sqrt(T(2)))}) {
    all.insert(all.end(), {std::nextafter(x, T(0)), x, std::nextafter(x, Limits::max())});
  }
  all.insert(all.end(), {0, Limits::infinity(), Limits::quiet_NaN(), Limits::min(), Limits::max(),
                         Limits::denorm_min()});
  std::mt19937_64 random(3);
  for (int i = 0; i < 40; ++i) all.push_back(T(1) + static_cast<T>(random() % 1000003) / 1000003);
  for (size_t i = 0, count = all.size(); i < count; ++i) all.push_back(-all[i]);
  return all;
}

enum class Dividends { ordinary, with_zeros, at_bounds, any };

template <typename T>
std::vector<T> dividends(Dividends kind, int64_t count) {
  std::mt19937_64 random(static_cast<unsigned>(count));
  const T least = sizeof(T) == 4 ? T(0x1p-70) : T(0x1p-800);
  const T most = sizeof(T) == 4 ? T(0x1p100) : T(0x1p800);
  std::vector<T> result(static_cast<size_t>(count));
  for (T& x : result) {
    const uint64_t choice = random();
    x = static_cast<T>(static_cast<int64_t>(random() >> 20)) / T(0x1p40);
    if (kind == Dividends::with_zeros && choice % 3 == 0) x = 0;
    if (kind == Dividends::at_bounds && choice % 3 == 0) x = choice % 2 == 0 ? least : most;
    if (kind == Dividends::at_bounds && choice % 97 == 0) x = std::nextafter(least, T(0));
    if (kind == Dividends::any) x = std::bit_cast<T>(static_cast<BitsOf<T>>(random()));
    if (choice & 64) x = -x;
  }
  return result;
}

// What the plain kernels give, and that it was the bodies that gave it.
template <typename T>
void expect_quotients(const Chain& chain, const std::string& what) {
  const Chain::Result want = chain.plain(), got = chain.in_registers();
  EXPECT_TRUE(got.ran) << what;
  EXPECT_EQ(int{got.flags}, int{want.flags}) << what;
  for (size_t k = 0; k < got.tensors.size(); ++k) {
    if (got.tensors[k] == want.tensors[k]) continue;
    for (size_t i = 0; i + sizeof(T) <= got.tensors[k].size(); i += sizeof(T)) {
      T x, y;
      std::memcpy(&x, got.tensors[k].data() + i, sizeof(T));
      std::memcpy(&y, want.tensors[k].data() + i, sizeof(T));
      ASSERT_TRUE(std::bit_cast<BitsOf<T>>(x) == std::bit_cast<BitsOf<T>>(y) ||
                  (std::isnan(x) && std::isnan(y)))
          << what << ", operand " << k << ", element " << i / sizeof(T) << ": " << x << " for "
          << y;
    }
  }
}

// Divides `x` from memory or from bank `from` into bank `to`; the divisor is a scalar, or one for
// each row, which goes through a bank.
template <typename T>
void check(int64_t rows, int64_t columns, const std::vector<T>& x, const std::vector<T>& by,
           bool is_scalar, int from, int to) {
  constexpr DType kT = kDType<T>;
  Chain chain(rows, columns, sizeof(T));
  const uint8_t elements = chain.input(kT, reinterpret_cast<const std::byte*>(x.data()));
  const auto bank = [](int k) { return static_cast<uint8_t>(kFirstBank + k); };
  uint8_t dividend = elements;
  if (from < vm::kBanks) {
    dividend = bank(from);
    chain.step(Insn::copy, kT, 0, dividend, {elements});
  }
  uint8_t divisor = bank(to == from ? (to + 1) % vm::kBanks : to);
  if (is_scalar) {
    divisor = chain.scalar(by[0]);
  } else {
    const auto* data = reinterpret_cast<const std::byte*>(by.data());
    chain.step(Insn::copy, kT, 0, divisor, {chain.input(kT, data, Reach::per_row)});
  }
  chain.step(Insn::div, kT, 0, bank(to), {dividend, divisor});
  chain.step(Insn::copy, kT, 0, chain.output(kT), {bank(to)});
  if (from < vm::kBanks && from != to) {  // as it was
    chain.step(Insn::copy, kT, 0, chain.output(kT), {dividend});
  }
  expect_quotients<T>(chain, std::to_string(rows) + " x " + std::to_string(columns) + " from " +
                                 std::to_string(from) + " to " + std::to_string(to) +
                                 (is_scalar ? " by " + std::to_string(by[0]) : " by rows"));
}

using ChainDivision = AtEachLevel;

constexpr Dividends kKinds[] = {Dividends::ordinary, Dividends::with_zeros, Dividends::at_bounds,
                                Dividends::any};

template <typename T>
void check_scalars() {
  for (const Dividends kind : kKinds) {
    const std::vector<T> x = dividends<T>(kind, 2000);
    for (const T by : divisors<T>()) {
      for (int from = 0; from <= vm::kBanks; ++from) {
        for (int to = 0; to < vm::kBanks; ++to) check<T>(1, 2000, x, {by}, true, from, to);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(ChainDivision, ByScalars) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  check_scalars<float>();
  check_scalars<double>();
}

template <typename T>
void check_rows() {
  const std::vector<T> by = divisors<T>();
  const auto rows = static_cast<int64_t>(by.size());
  for (const int64_t columns : {64, 128, 192, 320, 1000, 1024, 1088}) {
    for (const Dividends kind : kKinds) {
      const std::vector<T> x = dividends<T>(kind, rows * columns);
      for (int from = 0; from <= vm::kBanks; ++from) {
        for (int to = 0; to < vm::kBanks; ++to) check<T>(rows, columns, x, by, false, from, to);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(ChainDivision, ByRows) {
  if (!cpu::has_chain_registers()) GTEST_SKIP() << "this level has no chains";
  check_rows<float>();
  check_rows<double>();
}

INSTANTIATE_TEST_SUITE_P(Levels, ChainDivision, ::testing::ValuesIn(levels_of_chains()),
                         [](const auto& level) { return std::string(to_string(level.param)); });

}  // namespace
}  // namespace dvm::testing
