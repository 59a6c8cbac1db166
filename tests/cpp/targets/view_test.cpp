// View loads and stores, and the addressing of tiles: many grid dimensions, negative and zero
// strides, tails in any view dim, ranges of tiles that start anywhere.
#include <gtest/gtest.h>

#include <string>

#include "every_target.h"
#include "oracle.h"
#include "tile_program.h"

namespace dvm::testing {
namespace {

using vm::Instruction;
using vm::Pipe;
using vm::Sync;
using vm::ViewDim;

struct Random {
  std::mt19937_64 engine;
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
};

// d[coordinates] = a[coordinates . strides] for a tensor of `sizes`, whose last grid dimension cuts
// the dim `cut` into tiles and whose other grid dimensions take dims as a whole.
struct ViewCase {
  std::vector<int64_t> sizes, src_strides, dst_strides;  // strides in elements
  int outer = 0;                                         // leading dims that are grid dimensions
  int cut = -1;                                          // dim cut into tiles, or none
  int64_t tile = 0;
  int64_t src_low = 0, src_high = 0, dst_low = 0, dst_high = 0;  // in elements
};

void span_of(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t& low,
             int64_t& high) {
  low = 0, high = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    (strides[d] < 0 ? low : high) += (sizes[d] - 1) * strides[d];
  }
}

ViewCase random_case(Random& random) {
  ViewCase c;
  const auto rank = static_cast<size_t>(random.in(1, 4));
  for (size_t d = 0; d < rank; ++d) c.sizes.push_back(random.in(1, 7));
  c.outer = static_cast<int>(random.in(0, static_cast<int64_t>(rank) - 1));
  c.src_strides.resize(rank);
  c.dst_strides.resize(rank);
  // A permutation of a padded dense layout, some dims backwards; the source may also repeat.
  for (auto* strides : {&c.src_strides, &c.dst_strides}) {
    std::vector<size_t> order(rank);
    for (size_t d = 0; d < rank; ++d) order[d] = d;
    std::shuffle(order.begin(), order.end(), random.engine);
    int64_t step = random.in(1, 2);
    for (const size_t d : order) {
      (*strides)[d] = random.in(0, 3) == 0 ? -step : step;
      step *= c.sizes[d] + random.in(0, 1);
    }
  }
  if (random.in(0, 3) == 0)
    c.src_strides[static_cast<size_t>(random.in(0, static_cast<int64_t>(rank) - 1))] = 0;
  if (random.in(0, 2) != 0) {
    c.cut = static_cast<int>(random.in(c.outer, static_cast<int64_t>(rank) - 1));
    c.tile = random.in(1, c.sizes[static_cast<size_t>(c.cut)]);
  }
  span_of(c.sizes, c.src_strides, c.src_low, c.src_high);
  span_of(c.sizes, c.dst_strides, c.dst_low, c.dst_high);
  return c;
}

template <typename T>
void run_view(vm::Target& target, const ViewCase& c, DType dtype) {
  const auto bytes = static_cast<int64_t>(sizeof(T));
  std::vector<int64_t> grid(c.sizes.begin(), c.sizes.begin() + c.outer);
  std::vector<int64_t> src_grid, dst_grid;
  for (int d = 0; d < c.outer; ++d) {
    src_grid.push_back(c.src_strides[static_cast<size_t>(d)] * bytes);
    dst_grid.push_back(c.dst_strides[static_cast<size_t>(d)] * bytes);
  }
  Instruction load{.insn = Insn::view_load, .dtype = dtype};
  std::vector<ViewDim> src_dims, dst_dims;
  int64_t size = 1;
  for (size_t d = static_cast<size_t>(c.outer); d < c.sizes.size(); ++d) {
    int64_t extent = c.sizes[d];
    if (static_cast<int>(d) == c.cut) {
      const int64_t tiles = (extent + c.tile - 1) / c.tile;
      grid.push_back(tiles);
      src_grid.push_back(c.tile * c.src_strides[d] * bytes);
      dst_grid.push_back(c.tile * c.dst_strides[d] * bytes);
      load.split = static_cast<uint8_t>(d + 1 - static_cast<size_t>(c.outer));
      load.tail = static_cast<uint32_t>(extent - (tiles - 1) * c.tile);
      extent = c.tile;
    }
    src_dims.push_back({extent, c.src_strides[d] * bytes});
    dst_dims.push_back({extent, c.dst_strides[d] * bytes});
    size *= extent;
  }
  load.size = static_cast<uint32_t>(size);
  Instruction store = load;
  store.insn = Insn::view_store;

  std::vector<uint64_t> words(1024);
  const vm::TargetTraits& traits = target.traits();
  vm::ProgramBuilder builder(traits, words, grid);
  builder.add_global(
      {.low = c.src_low * bytes, .high = c.src_high * bytes, .dtype = dtype, .written = 0});
  builder.add_global(
      {.low = c.dst_low * bytes, .high = c.dst_high * bytes, .dtype = dtype, .written = 1});
  const vm::Operand slot = vm::slot_operand(static_cast<uint32_t>(traits.reserve_bytes));
  std::vector<Sync> load_syncs, store_syncs;
  if (traits.flags) {
    load_syncs = {{0, Pipe::store, Pipe::load, 0, 0}, {1, Pipe::load, Pipe::store, 0, 0}};
    store_syncs = {{0, Pipe::load, Pipe::store, 0, 0}, {1, Pipe::store, Pipe::load, 0, 0}};
  }
  builder.append(load, std::vector{slot, builder.stream(0, 0, src_grid)}, load_syncs, src_dims);
  builder.append(store, std::vector{builder.stream(1, 0, dst_grid), slot}, store_syncs, dst_dims);
  const vm::Program program =
      builder.finish(static_cast<uint32_t>(traits.reserve_bytes + (size * bytes + 63) / 64 * 64),
                     traits.flags ? vm::store_to_load : 0);
  vm::verify(program.words());

  std::vector<T> src(static_cast<size_t>(c.src_high - c.src_low));
  for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<T>(i * 7 + 1);
  std::vector<T> dst(static_cast<size_t>(c.dst_high - c.dst_low), T{99});
  std::vector<T> expected = dst;
  std::vector<int64_t> coord(c.sizes.size());
  for (;;) {
    int64_t from = -c.src_low, to = -c.dst_low;
    for (size_t d = 0; d < coord.size(); ++d) {
      from += coord[d] * c.src_strides[d];
      to += coord[d] * c.dst_strides[d];
    }
    expected[static_cast<size_t>(to)] = src[static_cast<size_t>(from)];
    size_t d = coord.size();
    while (d > 0 && ++coord[d - 1] == c.sizes[d - 1]) coord[--d] = 0;
    if (d == 0) break;
  }
  std::byte* globals[] = {reinterpret_cast<std::byte*>(src.data() - c.src_low),
                          reinterpret_cast<std::byte*>(dst.data() - c.dst_low)};
  target.run(program, globals);
  ASSERT_EQ(dst, expected) << vm::disassemble(program);
}

TEST(View, RandomViewsMoveTheRightElementsOnAllTargets) {
  Random random{std::mt19937_64(3)};
  for (int i = 0; i < 2000; ++i) {
    const ViewCase c = random_case(random);
    SCOPED_TRACE("case " + std::to_string(i));
    on_every_target([&](vm::Target& target) {
      run_view<uint8_t>(target, c, DType::boolean);
      run_view<uint16_t>(target, c, DType::f16);
      run_view<int32_t>(target, c, DType::i32);
      run_view<int64_t>(target, c, DType::i64);
    });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace dvm::testing
