// Reductions and broadcasts: the cpu's fast paths and the simulated target agree bit by bit with
// the canonical order, walked here element by element, and sums agree with long double.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "core/ops/sum_order.h"
#include "cpu/cpu_target.h"
#include "every_target.h"
#include "reduce_case.h"
#include "tile_program.h"
#include "vm/isa/reduce_source.h"

namespace dvm::testing {
namespace {

using vm::ReduceOrder;

// Below, at and above the lanes (64), the chunk (512), the blocks of columns (4 to 64), two levels
// of chunks, and rows that are long (2 to 16 KiB).
const Shape kShapes[] = {
    {1, 1, 1},    {3, 1, 5},    {1, 2, 1},     {7, 63, 1},    {2, 64, 1},  {1, 65, 1},  {3, 127, 1},
    {2, 512, 1},  {2, 513, 1},  {1, 600, 1},   {1, 5000, 1},  {2, 8, 3},   {3, 70, 4},  {2, 33, 16},
    {1, 100, 17}, {2, 515, 64}, {1, 40, 67},   {1, 1030, 7},  {40, 5, 1},  {5, 3, 130}, {3, 129, 1},
    {2, 1000, 1}, {1, 511, 1},  {1, 37, 1030}, {1, 512, 259}, {1, 5, 4201}};

// The documented tree, in the type that a row says it accumulates in.
template <typename T>
T reduce_oracle(Insn insn, const std::vector<T>& values, const Shape& s, int64_t m, int64_t n,
                bool adjacent) {
  const auto at = [&](int64_t i) {
    return values[static_cast<size_t>((m * s.size + i) * s.n + n)];
  };
  if constexpr (std::is_integral_v<T>) {
    uint64_t sum = 0, product = 1;
    T largest = at(0), least = at(0);
    for (int64_t i = 0; i < s.size; ++i) {
      sum += static_cast<uint64_t>(at(i));
      product *= static_cast<uint64_t>(at(i));
      largest = std::max(largest, at(i));
      least = std::min(least, at(i));
    }
    if (insn == Insn::sum || insn == Insn::prod)
      return static_cast<T>(insn == Insn::sum ? sum : product);
    return insn == Insn::max ? largest : least;
  } else {
    using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto load = [&](int64_t i) { return static_cast<A>(widen(at(i))); };
    const A total = core::reduce_canonical<A>(s.size, adjacent, load, [insn](A x, A y) {
      if (insn == Insn::sum) return x + y;
      if (insn == Insn::prod) return x * y;
      if (insn == Insn::nanmax || insn == Insn::nanmin) {
        if (x != x || y != y) return x != x ? y : x;
      }
      if (x != x || y != y) return A(NAN);
      return insn == Insn::max || insn == Insn::nanmax ? (y > x ? y : x) : (y < x ? y : x);
    });
    return narrow<T>(static_cast<double>(total));
  }
}

constexpr Insn kReductions[] = {Insn::sum, Insn::prod,   Insn::max,
                                Insn::min, Insn::nanmax, Insn::nanmin};

template <DType D>
class ReduceCase {
  using T = Storage<D>;

 public:
  ReduceCase(const Shape& shape, bool special)
      : s_(shape),
        rows_(2 * s_.m + (s_.m + 1) / 2),
        values_(random_values<T>(rows_ * s_.size * s_.n, s_.size * 31 + s_.n, special)) {}

  void test(Insn insn, ReduceOrder order) const {
    std::vector<T> expected;
    for (int64_t m = 0; m < rows_; ++m) {
      for (int64_t n = 0; n < s_.n; ++n) {
        expected.push_back(reduce_oracle(insn, values_, s_, m, n, order == ReduceOrder::lanes));
      }
    }
    on_every_target([&](vm::Target& target) {
      // Beyond a local memory there is nothing to simulate.
      const bool large = int64_t{s_.m} * s_.size * s_.n > 20000;
      if (large && target.traits().flags) return;
      const std::vector<T> result = run_on(target, insn, order);
      if (to_bytes(result) == to_bytes(expected)) return;
      for (size_t i = 0; i < result.size(); ++i) {
        ASSERT_TRUE(same(result[i], expected[i]))
            << vm::info(insn).name << "." << core::to_string(D) << " " << to_string(order) << " ["
            << s_.m << "," << s_.size << "," << s_.n << "] at " << i / s_.n << "," << i % s_.n
            << " on " << target.traits().name << ": " << double(widen(result[i])) << ", expected "
            << double(widen(expected[i]));
      }
    });
  }

 private:
  // In three tiles along m, the last one shorter: the tail replaces m.
  std::vector<T> run_on(vm::Target& target, Insn insn, ReduceOrder order) const {
    TileCase test{.fixed = {.insn = insn, .dtype = D, .aux = static_cast<uint8_t>(order)}};
    test.fixed.m = s_.m;
    test.fixed.size = s_.size;
    test.fixed.n = s_.n;
    test.fixed.split = static_cast<uint8_t>(vm::Split::m);
    test.fixed.tail = (s_.m + 1) / 2;
    test.grid = {3};
    const int64_t row_bytes = int64_t{s_.m} * s_.n * static_cast<int64_t>(sizeof(T));
    test.sources = {{.strides = {row_bytes * s_.size}}};
    test.dst_strides = {row_bytes};
    test.streams = target.traits().streams;
    std::vector<T> result(static_cast<size_t>(rows_ * s_.n));
    Buffers buffers{to_bytes(values_), to_bytes(result)};
    run(target, test, buffers);
    std::memcpy(static_cast<void*>(result.data()), buffers.back().data(), buffers.back().size());
    return result;
  }

  Shape s_;
  int64_t rows_;
  std::vector<T> values_;
};

TEST(Reduce, HasTheBitsOfTheCanonicalOrderOnAllTargets) {
  for (const Shape& shape : kShapes) {
    for (int d = 0; d < core::kDTypeCount; ++d) {
      core::dispatch(static_cast<DType>(d), [&]<DType D>() {
        for (const bool special : {false, true}) {
          const ReduceCase<D> test(shape, special);
          for (const Insn insn : kReductions) {
            if (!vm::contains(vm::info(insn).dtypes, D)) continue;
            for (const ReduceOrder order : {ReduceOrder::lanes, ReduceOrder::sequential}) {
              test.test(insn, order);
            }
          }
        }
      });
      if (HasFailure()) return;
    }
  }
}

// A reduction that casts what it reads, against the scalar meaning of both.
template <DType From, DType To>
void test_casting(Insn insn, const Shape& s) {
  using R = Storage<To>;
  auto values = random_values<Storage<From>>(int64_t{s.m} * s.size * s.n, s.size * 7 + s.n, true);
  if (insn == Insn::max) {  // where a single one decides
    for (size_t i = 0; i < values.size(); ++i) {
      if (i % 2039 != 0) values[i] = {};
    }
  }
  TileCase test{.fixed = {.insn = insn, .dtype = To}};
  test.fixed.aux = vm::reduce_aux(ReduceOrder::sequential, To, From);
  test.fixed.m = s.m;
  test.fixed.size = s.size;
  test.fixed.n = s.n;
  test.sources = {{}};
  test.streams = true;
  std::vector<R> expected(static_cast<size_t>(int64_t{s.m} * s.n));
  for (size_t o = 0; o < expected.size(); ++o) {
    const auto load = [&](int64_t i) {
      const size_t row = o / s.n * s.size + static_cast<size_t>(i);
      return core::scalar::cast<R>(values[row * s.n + o % s.n]);
    };
    expected[o] = scalar_reduction<R>(insn, s.size, load);
  }
  on_every_target([&](vm::Target& target) {
    if (!target.traits().streams) return;
    Buffers buffers{to_bytes(values), std::vector<std::byte>(expected.size() * sizeof(R))};
    run(target, test, buffers);
    if (buffers.back() == to_bytes(expected)) return;
    const auto* result = reinterpret_cast<const R*>(buffers.back().data());
    for (size_t o = 0; o < expected.size(); ++o) {
      ASSERT_EQ(bits_of(result[o]), bits_of(expected[o]))
          << vm::info(insn).name << "." << core::to_string(To) << " of " << core::to_string(From)
          << " [" << s.m << "," << s.size << "," << s.n << "] at " << o << " on "
          << target.traits().name;
    }
  });
}

TEST(Reduce, CastsWhatItReads) {
  std::vector<Shape> shapes(std::begin(kShapes), std::end(kShapes));
  // Around what the cpu casts at a time: 2,048 words, and 256 columns of one row; of bytes eight
  // times as many.
  for (const uint32_t size : {2047u, 2048u, 2049u, 4096u, 16383u, 16385u}) {
    shapes.push_back({1, size, 1});
  }
  for (const uint32_t n : {3u, 255u, 256u, 257u, 3000u}) shapes.push_back({2, 37, n});
  shapes.push_back({700, 3, 1});
  shapes.push_back({1, 1300, 30});
  for (const Shape& shape : shapes) {
    for (const Insn insn : {Insn::sum, Insn::prod, Insn::max, Insn::min}) {
      for (int from = 0; from < core::kDTypeCount; ++from) {
        core::dispatch(static_cast<DType>(from), [&]<DType From>() {
          const auto test = [&]<DType To>() {
            if (!vm::reads(insn, To, ReduceOrder::sequential, From)) return;
            test_casting<From, To>(insn, shape);
          };
          test.template operator()<DType::boolean>();
          test.template operator()<DType::i64>();
          test.template operator()<DType::u64>();
          test.template operator()<DType::f64>();
        });
        if (HasFailure()) return;
      }
    }
  }
}

// The k-th of elements that decide, or that do not. Of true ones any bit may be the one that is
// set.
template <DType From>
Storage<From> nth_element(bool is_true, size_t k) {
  constexpr bool kFloat = core::is_floating(From);
  constexpr size_t kBits = 8 * sizeof(Storage<From>);
  const size_t bit = k % (kFloat ? kBits - 1 : kBits);
  const uint64_t bits = is_true           ? uint64_t{1} << bit
                        : kFloat && k % 2 ? uint64_t{1} << (kBits - 1)
                                          : uint64_t{0};
  Storage<From> result;
  std::memcpy(static_cast<void*>(&result), &bits, sizeof(result));
  return result;
}

template <DType From>
std::vector<Storage<From>> undecided(Insn insn, size_t count) {
  std::vector<Storage<From>> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = nth_element<From>(insn != Insn::max, i);
  return values;
}

// Rows of values that do not decide but for one in each of the first, at `hits`.
template <DType From>
void test_deciding(vm::Target& target, Insn insn, uint32_t size, std::vector<Storage<From>> values,
                   const std::vector<uint32_t>& hits) {
  const bool any = insn == Insn::max;
  const auto rows = static_cast<uint32_t>(values.size() / size);
  for (size_t k = 0; k < hits.size(); ++k) values[k * size + hits[k]] = nth_element<From>(any, k);
  TileCase test{.fixed = {.insn = insn, .dtype = DType::boolean}};
  test.fixed.aux = vm::reduce_aux(ReduceOrder::lanes, DType::boolean, From);
  test.fixed.m = rows;
  test.fixed.size = size;
  test.sources = {{}};
  test.streams = true;
  Buffers buffers{to_bytes(values), std::vector<std::byte>(rows)};
  run(target, test, buffers);
  for (uint32_t row = 0; row < rows; ++row) {
    ASSERT_EQ(static_cast<int>(buffers[1][row]), (row < hits.size()) == any ? 1 : 0)
        << vm::info(insn).name << " of " << core::to_string(From) << " [" << rows << "," << size
        << "], hit at " << (row < hits.size() ? static_cast<int64_t>(hits[row]) : -1);
  }
}

TEST(Reduce, FindsTheOneElementThatDecides) {
  const auto cpu = cpu::make_cpu_target();
  for (const Insn insn : {Insn::max, Insn::min}) {
    for (int from = 0; from < core::kDTypeCount; ++from) {
      core::dispatch(static_cast<DType>(from), [&]<DType From>() {
        // And a row more where there is none.
        const auto test = [&](uint32_t size, const std::vector<uint32_t>& hits) {
          test_deciding<From>(*cpu, insn, size, undecided<From>(insn, (hits.size() + 1) * size),
                              hits);
        };
        // Every place in rows around vectors, and in longer ones those around blocks of them.
        for (const uint32_t size : {1u, 2u, 3u, 7u, 8u, 15u, 16u, 17u, 31u, 33u, 63u, 64u, 65u,
                                    127u, 129u, 255u, 257u, 300u}) {
          std::vector<uint32_t> hits(size);
          std::iota(hits.begin(), hits.end(), 0u);
          test(size, hits);
        }
        for (const uint32_t size : {511u, 513u, 2047u, 2048u, 2049u, 2111u, 2113u, 5000u}) {
          std::vector<uint32_t> hits;
          for (uint32_t at = 0; at < size; at += at % 64 < 2 || at % 64 == 63 ? 1 : 31) {
            hits.push_back(at);
          }
          hits.push_back(size - 1);
          test(size, hits);
        }
      });
    }
  }
}

// The threads of the team share a row that is long enough, and all know what one has found.
TEST(Reduce, FindsItWithSeveralThreads) {
  const auto cpu = cpu::make_cpu_target();
  const int threads = cpu::thread_count();
  for (const int count : {1, 2, 3}) {
    cpu::set_thread_count(count);
    for (const Insn insn : {Insn::max, Insn::min}) {
      const auto test = [&]<DType From>() {
        const auto least = static_cast<uint32_t>(131072 / sizeof(Storage<From>));
        for (const uint32_t size : {least - 1, least, least + 1, 20 * least + 5}) {
          const auto values = undecided<From>(insn, size);
          test_deciding<From>(*cpu, insn, size, values, {});
          for (const uint32_t at : {0u, 1u, 16383u, 16384u, 20000u, size / 2, size - 2, size - 1}) {
            test_deciding<From>(*cpu, insn, size, values, {std::min(at, size - 1)});
          }
        }
      };
      test.template operator()<DType::boolean>();
      test.template operator()<DType::i16>();
      test.template operator()<DType::f64>();
    }
  }
  cpu::set_thread_count(threads);
}

// `stuck` + 1 in steps of H would stay what it is for ever.
template <DType D>
void sum_ones_onto(double stuck, double expected) {
  using H = Storage<D>;
  const auto cpu = cpu::make_cpu_target();
  std::vector<H> values(513, encode_half<H>(1));
  values[0] = encode_half<H>(stuck);
  for (const ReduceOrder order : {ReduceOrder::lanes, ReduceOrder::sequential}) {
    TileCase test{.fixed = {.insn = Insn::sum, .dtype = D, .aux = uint8_t(order)}};
    test.fixed.size = 513;
    test.sources = {{}};
    test.streams = true;
    Buffers buffers{to_bytes(values), std::vector<std::byte>(2)};
    run(*cpu, test, buffers);
    H sum;
    std::memcpy(&sum, buffers[1].data(), 2);
    EXPECT_EQ(decode_half(sum), expected);
  }
}

TEST(Reduce, SumsOfHalvesRoundOnce) {
  sum_ones_onto<DType::f16>(2048, 2560);
  sum_ones_onto<DType::bf16>(256, 768);
}
template <DType D>
void test_broadcast(vm::Target& target, const Shape& s, bool literal) {
  using T = Storage<D>;
  const auto values = random_values<T>(int64_t{s.m} * s.n * 2, 5, true);
  TileCase test{.fixed = {.insn = Insn::broadcast, .dtype = D}};
  test.fixed.m = s.m;
  test.fixed.size = s.size;
  test.fixed.n = s.n;
  test.grid = {2};
  const auto bytes = static_cast<int64_t>(sizeof(T));
  test.sources = {{.strides = {int64_t{s.m} * s.n * bytes}}};
  test.dst_strides = {int64_t{s.m} * s.size * s.n * bytes};
  test.streams = target.traits().streams;
  const size_t outputs = size_t{2} * s.m * s.size * s.n;
  Buffers buffers{to_bytes(values), std::vector<std::byte>(outputs * sizeof(T))};
  if (literal) {
    uint64_t bits = 0;
    std::memcpy(&bits, &values[0], sizeof(T));
    test.sources[0] = {.scalar = bits};
    buffers.erase(buffers.begin());
  }
  run(target, test, buffers);
  const auto* result = reinterpret_cast<const T*>(buffers.back().data());
  for (size_t i = 0; i < outputs; ++i) {
    const size_t row = i / (size_t{s.size} * s.n), column = i % s.n;
    const T expected = literal ? values[0] : values[row * s.n + column];
    ASSERT_EQ(bits_of(result[i]), bits_of(expected)) << "element " << i;
  }
}

TEST(Broadcast, RepeatsRowsOnAllTargets) {
  for (const Shape& shape :
       {Shape{1, 1, 1}, {1, 9, 1}, {7, 33, 1}, {1, 5, 70}, {3, 4, 5}, {1, 1, 64}}) {
    for (int d = 0; d < core::kDTypeCount; ++d) {
      core::dispatch(static_cast<DType>(d), [&]<DType D>() {
        for (const bool literal : {false, true}) {
          on_every_target([&](vm::Target& target) { test_broadcast<D>(target, shape, literal); });
        }
      });
    }
  }
}

}  // namespace
}  // namespace dvm::testing
