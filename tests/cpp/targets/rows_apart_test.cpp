// Reductions whose rows lie apart in memory, or over one another, against the scalar meaning.
#include <gtest/gtest.h>

#include "every_target.h"
#include "reduce_case.h"
#include "tile_program.h"
#include "vm/isa/reduce_source.h"

namespace dvm::testing {
namespace {

using vm::ReduceOrder;

// Around vectors of columns, chunks of sums, rows that are long, and what casts take at a time.
const Shape kShapesApart[] = {{1, 7, 2},    {5, 3, 2},     {2, 8, 3},     {1, 100, 15},
                              {3, 70, 17},  {1, 515, 64},  {1, 1030, 37}, {2, 37, 256},
                              {1, 37, 600}, {1, 512, 259}, {1, 40, 1100}, {1, 5, 4201}};

// Two tiles side by side, of which the second has a column less. What comes of them is found out
// once for all targets.
template <DType From, DType To>
void test_rows_apart(Insn insn, const Shape& s, int64_t apart) {
  const bool casts = vm::reads(insn, To, ReduceOrder::sequential, From);
  if (!vm::contains(vm::info(insn).dtypes, To) || (From != To && !casts)) return;
  using R = Storage<To>;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Storage<From>));
  const int64_t rows = int64_t{s.m} * s.size, columns = 2 * s.n - 1;
  const auto values =
      random_values<Storage<From>>((rows - 1) * apart + columns, s.size + s.n, true);
  std::vector<R> wanted;
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t m = 0; m < s.m; ++m) {
      wanted.push_back(scalar_reduction<R>(insn, s.size, [&](int64_t i) {
        return core::scalar::cast<R>(
            values[static_cast<size_t>((m * s.size + i) * apart + column)]);
      }));
    }
  }
  TileCase test{.fixed = {.insn = insn, .dtype = To}};
  test.fixed.aux = vm::reduce_aux(ReduceOrder::sequential, To, From);
  test.fixed.m = s.m;
  test.fixed.size = s.size;
  test.fixed.n = s.n;
  test.fixed.split = static_cast<uint8_t>(vm::Split::n);
  test.fixed.tail = s.n - 1;
  test.grid = {2};
  test.streams = true;
  test.sources = {{.strides = {s.n * kBytes}, .row_stride = apart * kBytes}};
  const int64_t outputs = int64_t{s.m} * s.n;
  test.dst_strides = {outputs * int64_t{sizeof(R)}};
  const Buffers fresh{to_bytes(values),
                      std::vector<std::byte>(static_cast<size_t>(s.m * columns) * sizeof(R))};
  on_every_target([&](vm::Target& target) {
    if (!target.traits().streams) return;
    Buffers buffers = fresh;
    run(target, test, buffers);
    const auto* result = reinterpret_cast<const R*>(buffers.back().data());
    const R* want = wanted.data();
    for (int64_t column = 0; column < columns; ++column) {
      const bool second = column >= s.n;
      for (int64_t m = 0; m < s.m; ++m, ++want) {
        const R got =
            second ? result[outputs + m * (s.n - 1) + column - s.n] : result[m * s.n + column];
        ASSERT_TRUE(same(got, *want))
            << vm::info(insn).name << "." << core::to_string(To) << " of " << core::to_string(From)
            << " [" << s.m << "," << s.size << "," << s.n << "] by " << apart << " at " << m << ","
            << column << " on " << target.traits().name;
      }
    }
  });
}

TEST(RowsApart, AreReducedWhereTheyLie) {
  size_t turn = 0;
  for (const Shape& s : kShapesApart) {
    for (const Insn insn :
         {Insn::sum, Insn::prod, Insn::max, Insn::min, Insn::nanmax, Insn::nanmin}) {
      for (int from = 0; from < core::kDTypeCount; ++from) {
        const int64_t n = s.n, strides[] = {2 * n, 5 * n + 3, (n + 1) / 2};
        const int64_t apart = strides[turn++ % std::size(strides)];
        core::dispatch(static_cast<DType>(from), [&]<DType From>() {
          test_rows_apart<From, From>(insn, s, apart);
          if (From != DType::boolean) test_rows_apart<From, DType::boolean>(insn, s, apart);
          if (From != DType::i64) test_rows_apart<From, DType::i64>(insn, s, apart);
          if (From != DType::f64) test_rows_apart<From, DType::f64>(insn, s, apart);
        });
        if (HasFailure()) return;
      }
    }
  }
}

// Lines of adjacent elements, each reduced in the order of lanes where it lies.
template <DType D>
void test_lines_apart(vm::Target& target, Insn insn, const Shape& s, int64_t apart) {
  using T = Storage<D>;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  const auto values = random_values<T>((s.m - 1) * apart + s.size, s.size + s.m, true);
  TileCase test{.fixed = {.insn = insn, .dtype = D}};
  test.fixed.aux = vm::reduce_aux(ReduceOrder::lanes, D, D);
  test.fixed.m = s.m;
  test.fixed.size = s.size;
  test.fixed.n = 1;
  test.streams = true;
  test.grid = {1};
  test.sources = {{.strides = {0}, .row_stride = apart * kBytes}};
  test.dst_strides = {0};
  Buffers buffers{to_bytes(values), std::vector<std::byte>(size_t{s.m} * sizeof(T))};
  run(target, test, buffers);
  const auto* result = reinterpret_cast<const T*>(buffers.back().data());
  for (int64_t m = 0; m < s.m; ++m) {
    const T want = scalar_reduction<T>(
        insn, s.size, [&](int64_t i) { return values[static_cast<size_t>(m * apart + i)]; }, true);
    ASSERT_TRUE(same(result[m], want))
        << vm::info(insn).name << "." << core::to_string(D) << " [" << s.m << "," << s.size
        << ",1] by " << apart << " at " << m << " on " << target.traits().name;
  }
}

TEST(RowsApart, LinesAreReducedWhereTheyLie) {
  const Shape shapes[] = {{1, 63, 1},  {2, 64, 1},  {3, 65, 1},
                          {5, 290, 1}, {2, 512, 1}, {3, 1031, 1}};
  for (const Shape& s : shapes) {
    for (const Insn insn :
         {Insn::sum, Insn::prod, Insn::max, Insn::min, Insn::nanmax, Insn::nanmin}) {
      for (int dtype = 0; dtype < core::kDTypeCount; ++dtype) {
        core::dispatch(static_cast<DType>(dtype), [&]<DType D>() {
          if (!vm::contains(vm::info(insn).dtypes, D)) return;
          on_every_target([&](vm::Target& target) {
            if (target.traits().streams) test_lines_apart<D>(target, insn, s, 2 * s.size + 3);
          });
        });
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace dvm::testing
