// What verify() says of the bytes that tiles write, beside a look at each of them: random stores
// through views, cut as arrays are or at random, and the Programs that once slipped through.
#include "vm/verify/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/error.h"
#include "vm/isa/program_builder.h"

namespace dvm::vm {
namespace {

constexpr int64_t kElement = 4;

// One view_store of f32, which goes through `strides` from tile to tile and from step to step.
struct Store {
  int64_t offset = 0;
  std::vector<int64_t> strides;  // of the grid's dims, then of the loop
  std::vector<ViewDim> dims;
  int split = 0;  // 1 + the dim that the innermost dim of the grid cuts
  int64_t tail = 0;
  std::vector<Tail> tails;

  int64_t extent(int d, Ends ends) const {
    if (split == d + 1 && (ends & 1) != 0) return tail;
    for (const Tail& more : tails) {
      if (more.extent == d + 1 && (ends >> more.axis & 1) != 0) return more.value;
    }
    return dims[static_cast<size_t>(d)].extent;
  }
};

struct Stores {
  std::vector<int64_t> grid{1};
  std::vector<int64_t> loops;  // around all stores, none or one
  std::vector<Store> stores;
  int64_t low = 0, high = 0;

  std::vector<uint64_t> words() const {
    std::vector<uint64_t> words(1024);
    ProgramBuilder builder(*find_target("cpu"), words, grid, loops);
    builder.add_global({.low = low, .high = high, .dtype = DType::f32, .written = 1});
    const Operand one = builder.scalar(DType::f32, Scalar::of_float(1));
    uint32_t most = 1;
    for (const Store& store : stores) most = std::max(most, size(store));
    const Operand slot = slot_operand(0);
    builder.append({.insn = Insn::copy, .dtype = DType::f32, .size = most}, std::vector{slot, one});
    if (!loops.empty()) builder.begin_loop();
    for (const Store& store : stores) {
      builder.append({.insn = Insn::view_store,
                      .dtype = DType::f32,
                      .split = static_cast<uint8_t>(store.split),
                      .size = size(store),
                      .tail = static_cast<uint32_t>(store.tail)},
                     std::vector{builder.stream(0, store.offset, store.strides), slot}, {},
                     store.dims, store.tails);
    }
    if (!loops.empty()) builder.end_loop();
    const Program program = builder.finish(most * static_cast<uint32_t>(kElement));
    return {program.words().begin(), program.words().end()};
  }

  static uint32_t size(const Store& store) {
    int64_t elements = 1;
    for (const ViewDim& dim : store.dims) elements *= dim.extent;
    return static_cast<uint32_t>(elements);
  }

  // Calls f(tile, byte) for every element that is written.
  template <typename F>
  void for_each(F f) const {
    std::vector<int64_t> axes = grid;
    axes.insert(axes.end(), loops.begin(), loops.end());
    std::vector<int64_t> coord(axes.size());
    for (;;) {
      int64_t tile = 0;
      Ends ends = 0;
      for (size_t d = 0; d < axes.size(); ++d) {
        const bool of_grid = d < grid.size();
        if (of_grid) tile = tile * axes[d] + coord[d];
        const size_t axis =
            of_grid ? grid.size() - 1 - d : size_t{kFirstLoopAxis} + d - grid.size();
        if (coord[d] == axes[d] - 1) ends = static_cast<Ends>(ends | 1u << axis);
      }
      for (const Store& store : stores) {
        int64_t at = store.offset;
        for (size_t d = 0; d < axes.size(); ++d) at += coord[d] * store.strides[d];
        visit(store, ends, 0, at, [&](int64_t byte) { f(tile, byte); });
      }
      size_t d = axes.size();
      while (d > 0 && ++coord[d - 1] == axes[d - 1]) coord[--d] = 0;
      if (d == 0) return;
    }
  }

  void find_range() {
    low = INT64_MAX;
    high = INT64_MIN;
    for_each([&](int64_t, int64_t byte) {
      low = std::min(low, byte);
      high = std::max(high, byte + kElement);
    });
  }

 private:
  template <typename F>
  static void visit(const Store& store, Ends ends, int d, int64_t at, F f) {
    if (d == std::ssize(store.dims)) return f(at);
    for (int64_t i = 0; i < store.extent(d, ends); ++i) {
      visit(store, ends, d + 1, at + i * store.dims[static_cast<size_t>(d)].stride, f);
    }
  }
};

std::string refusal(const Stores& stores) {
  try {
    verify(stores.words());
  } catch (const core::Error& error) {
    return error.message();
  }
  return "";
}

class RandomStores {
 public:
  explicit RandomStores(uint64_t seed) : random_(seed) {}

  Stores make() {
    Stores made;
    made.grid.assign(static_cast<size_t>(one_to(3)), 1);
    if (one_to(3) == 1) made.loops = {one_to(3)};
    const bool as_array = one_to(4) > 1;
    as_array ? cut_array(made) : place_anywhere(made);
    made.find_range();
    if (one_to(8) == 1) made.low -= kElement;
    return made;
  }

 private:
  int64_t one_to(int64_t most) {
    return 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(most));
  }

  // Tiles of an array whose elements lie in any order of its dims, with gaps here and there. Two
  // stores may each have a part of it, one behind the other.
  void cut_array(Stores& made) {
    const auto rank = static_cast<size_t>(one_to(3));
    std::vector<int64_t> sizes, tile;
    std::vector<size_t> order;
    for (size_t d = 0; d < rank; ++d) {
      sizes.push_back(one_to(7));
      tile.push_back(one_to(sizes.back()));
      order.insert(order.begin() + static_cast<int64_t>(random_() % (d + 1)), d);
    }
    std::vector<int64_t> stride(rank);
    int64_t next = kElement;
    for (const size_t d : order) {
      stride[d] = one_to(4) == 1 ? -next : next;
      next *= sizes[d] + (one_to(3) == 1 ? 1 : 0);
    }
    Store store;
    store.strides.assign(made.grid.size() + made.loops.size(), 0);
    for (size_t d = 0; d < rank; ++d) store.dims.push_back({tile[d], stride[d]});
    // The innermost dims of the grid, or the loop, go along dims; others have one tile.
    std::vector<size_t> axes(made.grid.size() + made.loops.size());
    for (size_t a = 0; a < axes.size(); ++a) axes[a] = a;
    std::shuffle(axes.begin(), axes.end(), random_);
    for (size_t d = 0; d < rank; ++d) {
      if (d >= axes.size()) {
        store.dims[d].extent = sizes[d];
        continue;
      }
      const size_t a = axes[d];
      const int64_t steps = (sizes[d] + tile[d] - 1) / tile[d];
      const int64_t last = sizes[d] - (steps - 1) * tile[d];
      (a < made.grid.size() ? made.grid[a] : made.loops[0]) = steps;
      store.strides[a] = stride[d] * tile[d];
      if (last == tile[d]) continue;
      if (a + 1 == made.grid.size()) {
        store.split = static_cast<int>(d) + 1;
        store.tail = last;
      } else {
        const auto axis = a < made.grid.size() ? made.grid.size() - 1 - a : size_t{kFirstLoopAxis};
        store.tails.push_back({.extent = static_cast<uint8_t>(d + 1),
                               .axis = static_cast<uint8_t>(axis),
                               .value = static_cast<uint32_t>(last)});
      }
    }
    made.stores.push_back(store);
    if (one_to(3) > 1) return;
    // Behind it, between its elements, or in the same place.
    store.offset += one_to(3) == 1 ? next : one_to(3) == 1 ? 0 : kElement * one_to(8);
    made.stores.push_back(store);
  }

  void place_anywhere(Stores& made) {
    for (int64_t& size : made.grid) size = one_to(3);
    for (int64_t count = one_to(2); count > 0; --count) {
      Store store{.offset = kElement * one_to(40), .strides = {}, .dims = {}, .tails = {}};
      for (size_t a = 0; a < made.grid.size() + made.loops.size(); ++a) {
        store.strides.push_back(kElement * (one_to(40) - 10));
      }
      for (int64_t rank = one_to(2); rank > 0; --rank) {
        store.dims.push_back({one_to(4), kElement * (one_to(20) - 5)});
      }
      if (one_to(2) == 1) {
        store.split = static_cast<int>(one_to(std::ssize(store.dims)));
        store.tail = one_to(store.dims[static_cast<size_t>(store.split - 1)].extent);
      }
      made.stores.push_back(store);
    }
  }

  std::mt19937_64 random_;
};

TEST(Coverage, IsWhatALookAtEachElementSays) {
  int accepted = 0, meeting = 0, uncovered = 0;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    const Stores stores = RandomStores(seed).make();
    std::map<int64_t, int64_t> writers;
    bool meet = false;
    stores.for_each([&](int64_t tile, int64_t byte) {
      meet = meet || writers.emplace(byte, tile).first->second != tile;
    });
    const bool reaches =
        writers.begin()->first == stores.low && writers.rbegin()->first + kElement == stores.high;
    const std::string message = refusal(stores);
    ASSERT_EQ(message.empty(), !meet && reaches) << "seed " << seed << ": " << message;
    if (message.empty()) {
      const std::vector<uint64_t> words = stores.words();
      ASSERT_EQ(written_elements(Program(words), 0), std::ssize(writers)) << "seed " << seed;
    }
    ++(message.empty() ? accepted : reaches ? meeting : uncovered);
  }
  EXPECT_GT(accepted, 2000);
  EXPECT_GT(meeting, 100);
  EXPECT_GT(uncovered, 300);
}

// 512 rows of 1,023,007 elements in tiles of [8, 1000]: too many elements to be counted.
constexpr int64_t kRowElements = 1'023'007, kRowBytes = kRowElements * kElement;
Stores large() {
  Stores made;
  made.grid = {64, 1024};
  made.stores = {{.offset = 0,
                  .strides = {8 * kRowBytes, 4000},
                  .dims = {{8, kRowBytes}, {1000, kElement}},
                  .split = 2,
                  .tail = 7,
                  .tails = {}}};
  made.high = 64 * 8 * kRowBytes;
  return made;
}

TEST(Coverage, IsProvedOfWhatIsTooLargeToBeCounted) {
  Stores stores = large();
  EXPECT_EQ(refusal(stores), "");
  const std::vector<uint64_t> words = stores.words();
  EXPECT_EQ(written_elements(Program(words), 0), 64 * 8 * kRowElements);
  // One element more in the last tile of a row is the first one of the next row.
  stores.stores[0].tail = 8;
  stores.high += kElement;
  EXPECT_EQ(refusal(stores), "it cannot be told whether tiles write the same bytes of global g0");
}

TEST(Coverage, RefusesTilesThatWriteTheSame) {
  Stores stores = large();
  stores.stores[0].strides[0] = 0;  // no step along that dim of the grid
  stores.high = 8 * kRowBytes;
  EXPECT_NE(refusal(stores).find("tiles write the same bytes of global g0"), std::string::npos)
      << refusal(stores);
}

TEST(Coverage, RefusesOneTileOfMany) {
  // 2**32 + 16 rows of which 16 are written, as if the rows had been counted in 32 bits.
  Stores stores;
  stores.stores = {{.offset = 0, .strides = {16 * 4 * 8}, .dims = {{16 * 8, 4}}, .tails = {}}};
  stores.high = ((int64_t{1} << 32) + 16) * 4 * 8;
  EXPECT_EQ(refusal(stores), "of global g0 bytes [0, 512) are written, but it has [0, " +
                                 std::to_string(stores.high) + ")");
}

}  // namespace
}  // namespace dvm::vm
