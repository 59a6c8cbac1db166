// Chains over rows: operands with one element for each row or for each column, and sums of rows, in
// registers against the plain kernels, and those against a loop. Same bits and same status flags.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "chain_case.h"
#include "chain_levels.h"
#include "core/ops/scalar_ops.h"
#include "core/ops/sum_order.h"

namespace dvm::testing {
namespace {

template <typename T>
std::vector<T> numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> uniform(T{-2}, T{2});
  std::vector<T> result(static_cast<size_t>(count));
  for (T& x : result) x = uniform(random);
  return result;
}

template <typename T>
const std::byte* bytes_of(const std::vector<T>& data) {
  return reinterpret_cast<const std::byte*>(data.data());
}

template <typename T>
std::vector<T> tensor(const Chain::Result& result, uint8_t place, int64_t count, size_t offset) {
  std::vector<T> values(static_cast<size_t>(count));
  std::memcpy(values.data(), result.tensors[place - kFirstOperand].data() + offset,
              values.size() * sizeof(T));
  return values;
}

// y = (x - row) * column + one, and the sums of y; y is stored where `stores`.
template <typename T>
struct RowCase {
  RowCase(int64_t row_count, int64_t column_count, bool stores, const std::vector<T>& elements)
      : rows(row_count),
        columns(column_count),
        x(elements),
        of_rows(numbers<T>(rows, 2)),
        of_columns(numbers<T>(columns, 3)),
        chain(rows, columns, sizeof(T)) {
    constexpr DType kT = kDType<T>;
    const uint8_t a = kFirstBank, b = kFirstBank + 1;
    const auto operand = [&](const std::vector<T>& data, Reach reach) {
      return chain.input(kT, bytes_of(data), reach);
    };
    chain.step(Insn::copy, kT, 0, a, {operand(x, Reach::each)});
    chain.step(Insn::copy, kT, 0, b, {operand(of_rows, Reach::per_row)});
    chain.step(Insn::sub, kT, 0, a, {a, b});
    chain.step(Insn::copy, kT, 0, b, {operand(of_columns, Reach::per_column)});
    chain.step(Insn::mul, kT, 0, a, {a, b});
    chain.step(Insn::add, kT, 0, b, {a, chain.one(kOne)});
    if (stores) {
      y = chain.output(kT);
      chain.step(Insn::copy, kT, 0, y, {b});
    }
    total = chain.output(kT, Reach::per_row);
    chain.step(Insn::sum, kT, 0, total, {b});
  }

  T value(int64_t row, int64_t column) const {
    const T d = x[static_cast<size_t>(row * columns + column)] - of_rows[static_cast<size_t>(row)];
    const T p = d * of_columns[static_cast<size_t>(column)];
    return p + kOne;
  }
  T sum(int64_t row) const {
    return core::reduce_canonical<T>(
               columns, true, [&](int64_t i) { return value(row, i); },
               [](T p, T q) { return p + q; }) +
           T{0};
  }

  static constexpr T kOne = T{0.25};
  int64_t rows, columns;
  std::vector<T> x, of_rows, of_columns;
  Chain chain;
  uint8_t y = 0, total = 0;
};

using ChainRows = AtEachLevel;

template <typename T>
void check(int64_t rows, int64_t columns, bool stores, const std::vector<T>& x, bool in_registers) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
  const RowCase<T> it(rows, columns, stores, x);
  const Chain::Result want = it.chain.plain(), got = it.chain.in_registers();
  EXPECT_EQ(got.ran, in_registers);
  EXPECT_EQ(int{got.flags}, int{want.flags});
  EXPECT_TRUE(got.tensors == want.tensors);
  const std::vector<T> totals = tensor<T>(got, it.total, rows, sizeof(T));
  for (int64_t row = 0; row < rows; ++row) {
    const T wanted = it.sum(row), total = totals[static_cast<size_t>(row)];
    ASSERT_TRUE(total == wanted || (std::isnan(total) && std::isnan(wanted))) << row;
  }
  if (!stores) return;
  const std::vector<T> y = tensor<T>(got, it.y, rows * columns, sizeof(T));
  for (int64_t i = 0; i < rows * columns; ++i) {
    const T wanted = it.value(i / columns, i % columns), found = y[static_cast<size_t>(i)];
    ASSERT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted))) << i;
  }
}

template <typename T>
void check_all() {
  const bool chains = cpu::has_chain_registers();
  for (const int64_t columns :
       {1,    63,   64,   65,   128,  192,  200,  512,  513,   575,   576,  768,
        1000, 1024, 1088, 1100, 4096, 4100, 8192, 8256, 16384, 66000, 66560}) {
    for (const int64_t rows : {1, 2, 3, 31, 32, 33, 70}) {
      if (rows * columns > 300000) continue;
      check<T>(rows, columns, rows % 2 == 1, numbers<T>(rows * columns, 1), chains);
    }
  }
}

TEST_P(ChainRows, MatchPlainKernels) {
  check_all<float>();
  check_all<double>();
}

// What sums in registers make one step of: loads, squares, both.
template <typename T>
void check_sums(int64_t rows, int64_t columns, bool subtracts, bool squares) {
  constexpr DType kT = kDType<T>;
  const uint8_t a = kFirstBank;
  const std::vector<T> x = numbers<T>(rows * columns, 4), of_rows = numbers<T>(rows, 5);
  Chain chain(rows, columns, sizeof(T));
  if (subtracts)
    chain.step(Insn::copy, kT, 0, a, {chain.input(kT, bytes_of(of_rows), Reach::per_row)});
  const uint8_t elements = chain.input(kT, bytes_of(x), Reach::each);
  if (subtracts) {
    chain.step(Insn::sub, kT, 0, a, {elements, a});
  } else {
    chain.step(Insn::copy, kT, 0, a, {elements});
  }
  if (squares) chain.step(Insn::mul, kT, 0, a, {a, a});
  const uint8_t total = chain.output(kT, Reach::per_row);
  chain.step(Insn::sum, kT, 0, total, {a});
  const Chain::Result want = chain.plain(), got = chain.in_registers();
  EXPECT_EQ(int{got.flags}, int{want.flags});
  EXPECT_TRUE(got.tensors == want.tensors);
  const std::vector<T> totals = tensor<T>(got, total, rows, sizeof(T));
  for (int64_t row = 0; row < rows; ++row) {
    const auto element = [&](int64_t i) {
      T e = x[static_cast<size_t>(row * columns + i)];
      if (subtracts) e -= of_rows[static_cast<size_t>(row)];
      return squares ? e * e : e;
    };
    const T wanted =
        core::reduce_canonical<T>(columns, true, element, [](T p, T q) { return p + q; });
    ASSERT_EQ(totals[static_cast<size_t>(row)], wanted + T{0}) << row << " of " << columns;
  }
}

TEST_P(ChainRows, Sums) {
  for (const int64_t columns : {64, 192, 512, 768, 1000, 1088, 4100, 8192}) {
    for (const int64_t rows : {1, 2, 3, 9}) {
      for (const bool subtracts : {false, true}) {
        for (const bool squares : {false, true}) {
          check_sums<float>(rows, columns, subtracts, squares);
          check_sums<double>(rows, columns, subtracts, squares);
        }
      }
    }
  }
}

// A bank that an operation and, folded into one step, the sum read: w for each row or column.
// x * w is stored, w * w or w summed.
void check_bank_read_twice(int64_t rows, int64_t columns, Reach reach, bool squares) {
  constexpr DType kT = DType::f32;
  const uint8_t a = kFirstBank, b = kFirstBank + 1;
  const int64_t count = reach == Reach::per_row ? rows : columns;
  const std::vector<float> x = numbers<float>(rows * columns, 6), w = numbers<float>(count, 7);
  Chain chain(rows, columns, sizeof(float));
  chain.step(Insn::copy, kT, 0, a, {chain.input(kT, bytes_of(w), reach)});
  chain.step(Insn::mul, kT, 0, b, {chain.input(kT, bytes_of(x), Reach::each), a});
  const uint8_t y = chain.output(kT);
  chain.step(Insn::copy, kT, 0, y, {b});
  if (squares) chain.step(Insn::square, kT, 0, a, {a});
  const uint8_t total = chain.output(kT, Reach::per_row);
  chain.step(Insn::sum, kT, 0, total, {a});
  const Chain::Result want = chain.plain(), got = chain.in_registers();
  EXPECT_EQ(int{got.flags}, int{want.flags});
  EXPECT_TRUE(got.tensors == want.tensors) << rows << " x " << columns << " " << squares;
}

TEST_P(ChainRows, BanksReadTwice) {
  for (const int64_t rows : {2, 3, 8}) {
    for (const int64_t columns : {128, 576, 1000, 1024, 1088, 2048}) {
      for (const Reach reach : {Reach::per_row, Reach::per_column}) {
        for (const bool squares : {false, true}) {
          check_bank_read_twice(rows, columns, reach, squares);
        }
      }
    }
  }
}

// y = x * z + x, and where `sums` the sums of y: the rows of x lie apart, or over one another.
template <typename T>
void check_rows_apart(int64_t rows, int64_t columns, int64_t stride, bool sums) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " by " +
               std::to_string(stride));
  constexpr DType kT = kDType<T>;
  const uint8_t a = kFirstBank, b = kFirstBank + 1;
  const std::vector<T> x = numbers<T>((rows - 1) * stride + columns, 8);
  const std::vector<T> z = numbers<T>(rows * columns, 9);
  Chain chain(rows, columns, sizeof(T));
  chain.step(Insn::copy, kT, 0, a, {chain.rows_apart(kT, bytes_of(x), stride)});
  chain.step(Insn::mul, kT, 0, b, {a, chain.input(kT, bytes_of(z))});
  chain.step(Insn::add, kT, 0, b, {b, a});
  const uint8_t y = chain.output(kT);
  chain.step(Insn::copy, kT, 0, y, {b});
  const uint8_t total = sums ? chain.output(kT, Reach::per_row) : uint8_t{0};
  if (sums) chain.step(Insn::sum, kT, 0, total, {b});
  const Chain::Result want = chain.plain(), got = chain.in_registers();
  EXPECT_EQ(got.ran, cpu::has_chain_registers());
  EXPECT_EQ(int{got.flags}, int{want.flags});
  EXPECT_TRUE(got.tensors == want.tensors);
  const std::vector<T> found = tensor<T>(got, y, rows * columns, sizeof(T));
  for (int64_t i = 0; i < rows * columns; ++i) {
    const T e = x[static_cast<size_t>(i / columns * stride + i % columns)];
    const T product = e * z[static_cast<size_t>(i)];
    ASSERT_EQ(found[static_cast<size_t>(i)], product + e) << i;
  }
}

TEST_P(ChainRows, MayLieApart) {
  for (const int64_t columns : {1, 5, 63, 64, 65, 128, 200, 512, 1000, 1024, 1100, 66000}) {
    for (const int64_t rows : {1, 2, 3, 33}) {
      if (rows * columns > 300000) continue;
      for (const int64_t stride : {columns + 1, columns + 64, 3 * columns, columns, int64_t{1}}) {
        for (const bool sums : {false, true}) {
          check_rows_apart<float>(rows, columns, stride, sums);
          check_rows_apart<double>(rows, columns, stride, sums);
        }
      }
    }
  }
}

// y = T(x) * z, and where `sums` the sums of y: x is narrower than the chain, and its rows lie
// apart. Integers are nonnegative and so true in any byte of them, as bools are; of halves, some
// are NaNs.
template <typename T>
void check_narrow_rows_apart(DType from, int64_t rows, int64_t columns, int64_t stride, bool sums) {
  SCOPED_TRACE(std::string(core::to_string(from)) + " " + std::to_string(rows) + " x " +
               std::to_string(columns) + " by " + std::to_string(stride));
  constexpr DType kT = kDType<T>;
  const uint8_t a = kFirstBank;
  const int64_t elements = (rows - 1) * stride + columns;
  std::vector<std::byte> x(static_cast<size_t>(elements * core::byte_size(from)));
  std::mt19937 random(10);
  for (std::byte& byte : x)
    byte = static_cast<std::byte>(random() % (from == DType::boolean ? 2 : 256));
  core::dispatch(from, [&]<DType From>() {
    if constexpr (!core::is_half(From) && core::is_floating(From)) {
      for (int64_t i = 0; i < elements; ++i) {
        const auto value =
            core::scalar::cast<core::Storage<From>>(static_cast<double>(i % 257) - 99);
        std::memcpy(x.data() + i * core::byte_size(From), &value, sizeof(value));
      }
    }
  });
  const std::vector<T> z = numbers<T>(rows * columns, 9);
  Chain chain(rows, columns, sizeof(T));
  chain.step(Insn::copy, from, 0, a, {chain.rows_apart(from, x.data(), stride)});
  chain.step(Insn::cast, kT, static_cast<uint8_t>(from), a, {a});
  chain.step(Insn::mul, kT, 0, a, {a, chain.input(kT, bytes_of(z))});
  const uint8_t y = chain.output(kT);
  chain.step(Insn::copy, kT, 0, y, {a});
  if (sums) chain.step(Insn::sum, kT, 0, chain.output(kT, Reach::per_row), {a});
  const Chain::Result want = chain.plain(), got = chain.in_registers();
  EXPECT_EQ(int{got.flags}, int{want.flags});
  EXPECT_TRUE(got.tensors == want.tensors);
  EXPECT_TRUE(core::is_half(from) || got.ran == cpu::has_chain_registers());
  const std::vector<T> found = tensor<T>(got, y, rows * columns, sizeof(T));
  core::dispatch(from, [&]<DType From>() {
    for (int64_t i = 0; i < rows * columns; ++i) {
      core::Storage<From> element;
      const int64_t at = i / columns * stride + i % columns;
      std::memcpy(&element, x.data() + at * core::byte_size(From), sizeof(element));
      const T wanted = core::scalar::cast<T>(element) * z[static_cast<size_t>(i)];
      const T is = found[static_cast<size_t>(i)];
      ASSERT_TRUE(is == wanted || (std::isnan(is) && std::isnan(wanted))) << i;
    }
  });
}

TEST_P(ChainRows, MayLieApartAndBeNarrow) {
  for (const int64_t columns : {1, 5, 63, 64, 128, 192, 200, 512, 1024, 1100}) {
    for (const int64_t rows : {1, 2, 3, 33}) {
      for (const int64_t stride : {columns + 1, 3 * columns, columns, int64_t{1}}) {
        for (const DType from : {DType::boolean, DType::u8, DType::f16, DType::bf16}) {
          check_narrow_rows_apart<float>(from, rows, columns, stride, rows == 3);
        }
        for (const DType from : {DType::boolean, DType::u8, DType::i32, DType::f32}) {
          check_narrow_rows_apart<double>(from, rows, columns, stride, rows == 3);
        }
      }
    }
  }
}

// Of all kinds of places that a row may have: y = max(x, w) * c + z and y < w, of which rows of x,
// y and the bools lie apart; w has a number for each row, that is 0 or no number for some, c one
// for each column. Nothing between rows is written.
template <typename T>
void check_written_apart(int64_t rows, int64_t columns, int64_t apart) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " by " +
               std::to_string(apart));
  constexpr DType kT = kDType<T>;
  const uint8_t a = kFirstBank, b = kFirstBank + 1, c = kFirstBank + 2;
  std::mt19937 random(11);
  const auto some = [&](int64_t count) {
    std::vector<T> result(static_cast<size_t>(count));
    for (T& x : result) x = static_cast<T>(static_cast<int>(random() % 41) - 20);
    return result;
  };
  const int64_t x_apart = columns + 3, bools_apart = columns + apart;
  const std::vector<T> x = some((rows - 1) * x_apart + columns), z = some(rows * columns),
                       of_columns = some(columns);
  std::vector<T> of_rows = some(rows);
  if constexpr (std::is_floating_point_v<T>) {
    for (size_t i = 1; i < of_rows.size(); i += 3) of_rows[i] = std::nan("");
  }
  for (size_t i = 2; i < of_rows.size(); i += 3) of_rows[i] = T{0};
  Chain chain(rows, columns, sizeof(T));
  chain.step(Insn::copy, kT, 0, a, {chain.rows_apart(kT, bytes_of(x), x_apart)});
  chain.step(Insn::copy, kT, 0, b, {chain.input(kT, bytes_of(of_rows), Reach::per_row)});
  chain.step(Insn::maximum, kT, 0, a, {a, b});
  chain.step(Insn::copy, kT, 0, c, {chain.input(kT, bytes_of(of_columns), Reach::per_column)});
  chain.step(Insn::mul, kT, 0, a, {a, c});
  chain.step(Insn::add, kT, 0, a, {a, chain.input(kT, bytes_of(z))});
  const uint8_t y = chain.output_apart(kT, columns + apart);
  chain.step(Insn::copy, kT, 0, y, {a});
  chain.step(Insn::cmp, kT, static_cast<uint8_t>(vm::Compare::lt), a, {a, b});
  const uint8_t less = chain.output_apart(DType::boolean, bools_apart);
  chain.step(Insn::copy, DType::boolean, 0, less, {a});
  const Chain::Result want = chain.plain(), got = chain.in_registers();
  EXPECT_EQ(int{got.flags}, int{want.flags});
  EXPECT_TRUE(got.tensors == want.tensors);
  const int64_t extent = (rows - 1) * (columns + apart) + columns;
  const std::vector<T> found = tensor<T>(got, y, extent, sizeof(T));
  const std::vector<uint8_t> bools = tensor<uint8_t>(got, less, extent, sizeof(T));
  T untouched;
  std::memset(&untouched, 0x5a, sizeof(untouched));
  for (int64_t i = 0; i < extent; ++i) {
    const int64_t row = i / (columns + apart), column = i % (columns + apart);
    if (column >= columns) {
      ASSERT_EQ(found[static_cast<size_t>(i)], untouched) << row << ", " << column;
      ASSERT_EQ(bools[static_cast<size_t>(i)], 0x5a) << row << ", " << column;
      continue;
    }
    const T e = x[static_cast<size_t>(row * x_apart + column)];
    const T w = of_rows[static_cast<size_t>(row)];
    const T most = w != w ? w : std::max(e, w);
    const T wanted = static_cast<T>(most * of_columns[static_cast<size_t>(column)]) +
                     z[static_cast<size_t>(row * columns + column)];
    const T is = found[static_cast<size_t>(i)];
    ASSERT_TRUE(is == wanted || (is != is && wanted != wanted)) << row << ", " << column;
    ASSERT_EQ(bools[static_cast<size_t>(i)], wanted < w ? 1 : 0) << row << ", " << column;
  }
}

TEST_P(ChainRows, MayBeWrittenApart) {
  for (const int64_t columns : {1,  2,  3,  7,  8,  9,   15,  16,  17,  31,  32,   33,  63,
                                64, 65, 97, 98, 99, 100, 127, 128, 129, 130, 1000, 1024}) {
    for (const int64_t rows : {1, 2, 3, 33}) {
      for (const int64_t apart : {0, 1, 5, 64}) {
        check_written_apart<float>(rows, columns, apart);
        check_written_apart<double>(rows, columns, apart);
        check_written_apart<int32_t>(rows, columns, apart);
        check_written_apart<int64_t>(rows, columns, apart);
      }
    }
  }
}

// x = x * 2 - w, where w has a number for each row: no element may be computed twice.
template <typename T>
void check_over_itself(int64_t rows, int64_t columns, int64_t stride) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " by " +
               std::to_string(stride));
  constexpr DType kT = kDType<T>;
  const uint8_t a = kFirstBank, b = kFirstBank + 1;
  const std::vector<T> x = numbers<T>((rows - 1) * stride + columns, 12);
  const std::vector<T> of_rows = numbers<T>(rows, 13);
  Chain chain(rows, columns, sizeof(T));
  const uint8_t from = chain.rows_apart(kT, bytes_of(x), stride);
  const uint8_t to = chain.output_apart(kT, stride);
  chain.step(Insn::copy, kT, 0, b, {chain.input(kT, bytes_of(of_rows), Reach::per_row)});
  chain.step(Insn::mul, kT, 0, a, {from, chain.one(T{2})});
  chain.step(Insn::sub, kT, 0, a, {a, b});
  chain.step(Insn::copy, kT, 0, to, {a});
  const std::vector<T> found = tensor<T>(chain.over_itself(), from, std::ssize(x), sizeof(T));
  for (size_t i = 0; i < x.size(); ++i) {
    const auto row = static_cast<int64_t>(i) / stride, column = static_cast<int64_t>(i) % stride;
    const T once = x[i] * 2 - of_rows[static_cast<size_t>(row)];
    ASSERT_EQ(found[i], column < columns ? once : x[i]) << row << ", " << column;
  }
}

TEST_P(ChainRows, MayBeWrittenOverThemselves) {
  for (const int64_t columns : {1, 5, 17, 63, 64, 98, 130, 200, 1000, 1100}) {
    for (const int64_t rows : {2, 3, 33}) {
      for (const int64_t apart : {0, 1, 70}) {
        check_over_itself<float>(rows, columns, columns + apart);
        check_over_itself<double>(rows, columns, columns + apart);
      }
    }
  }
}

// A NaN has its flags found out by the plain kernels.
TEST_P(ChainRows, RaiseWhatSumsRaise) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const auto& specials : std::vector<std::vector<float>>{
           {kInf}, {kInf, -kInf}, {std::nanf("")}, {std::nanf(""), kInf, -kInf}, {3e38f, 3e38f}}) {
    for (const int64_t columns : {64, 512, 1600}) {
      constexpr int64_t kRows = 5;
      std::vector<float> x = numbers<float>(kRows * columns, 1);
      for (size_t i = 0; i < specials.size(); ++i) {
        x[static_cast<size_t>(2 * columns + 7) + 17 * i] = specials[i];
      }
      const RowCase<float> it(kRows, columns, true, x);
      const Chain::Result want = it.chain.plain(), got = it.chain.in_registers();
      EXPECT_EQ(int{got.flags}, int{want.flags});
      EXPECT_TRUE(got.tensors == want.tensors);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ChainRows, ::testing::ValuesIn(levels_of_chains()),
                         [](const auto& level) { return std::string(to_string(level.param)); });

}  // namespace
}  // namespace dvm::testing
