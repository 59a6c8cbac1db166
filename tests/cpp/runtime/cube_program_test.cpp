// Products of matrices on simulated AI Cores: every tiling and order of tiles against plain loops.
// The simulator stops where a flag is missing or a slot is too small.
#include "vm/encode/cube_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/ops/scalar_ops.h"
#include "runtime/strided_array.h"
#include "sim/sim_target.h"

namespace dvm::vm {
namespace {

using runtime::BufferView;
using runtime::StridedArray;

class Random {
 public:
  explicit Random(uint32_t seed) : rng_(seed) {}
  std::mt19937& rng() { return rng_; }
  int64_t from_to(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng_);
  }
  template <typename T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[from_to(0, static_cast<int64_t>(all.size()) - 1)];
  }

 private:
  std::mt19937 rng_;
};

// A product of random matrices and what it is, batches first; b may be one for all of them.
struct Case {
  Case(Random& random, DType sums, DType source)
      : batches(random.one_of<int64_t>({1, 1, 2, 5})),
        m(random.one_of<int64_t>({1, 3, 16, 17, random.from_to(1, 80)})),
        n(random.one_of<int64_t>({1, 2, 16, 33, random.from_to(1, 80)})),
        k(random.one_of<int64_t>({1, 8, 31, 64, random.from_to(1, 200)})),
        a(source, {batches, m, k}, random.rng(), false),
        b(source, {random.from_to(0, 1) == 0 ? 1 : batches, k, n}, random.rng(), false),
        result(sums, {batches, m, n}, random.rng(), true) {
    for (StridedArray* const array : {&a, &b}) {
      array->for_each([&](std::byte* at) {
        core::dispatch(source, [&]<DType D>() {
          using T = core::Storage<D>;
          *reinterpret_cast<T*>(at) = core::scalar::cast<T>(random.from_to(-9, 9));
        });
      });
    }
    made = {.a = 0, .b = 1, .result = 2, .global_count = 3, .dtype = sums, .source = source};
    const auto dim = [&](int64_t size, int64_t a_stride, int64_t b_stride, int64_t to) {
      return size == 1 ? ContractionDim{} : ContractionDim{size, a_stride, b_stride, to};
    };
    const BufferView &x = a.view, &y = b.view, &z = result.view;
    made.m = dim(m, x.strides[1], 0, z.strides[1]);
    made.n = dim(n, 0, y.strides[2], z.strides[2]);
    made.k = dim(k, x.strides[2], y.strides[1], 0);
    if (batches != 1) {
      made.batch_rank = 1;
      made.batch[0] = dim(batches, x.strides[0], y.shape[0] == 1 ? 0 : y.strides[0], z.strides[0]);
    }
  }

  CubeTiling any_tiling(Random& random) const {
    CubeTiling tiling{std::min(m, random.one_of<int64_t>({1, 16, 32, 100})),
                      std::min(n, random.one_of<int64_t>({1, 16, 64, 90})),
                      std::min(k, random.one_of<int64_t>({1, 8, 16, 48})),
                      {.by_columns = random.from_to(0, 1) == 1}};
    const int64_t side = tiling.order.by_columns ? n : m;
    const int64_t tile = tiling.order.by_columns ? tiling.n : tiling.m;
    if (side % tile == 0) {
      for (int64_t width = random.from_to(1, 6); width > 1; --width) {
        if (side / tile % width == 0) tiling.order.width = width;
      }
    }
    return tiling;
  }

  // Small whole numbers: their sums are exact in whatever order.
  int64_t element(int64_t batch, int64_t i, int64_t j) const {
    int64_t sum = 0;
    for (int64_t l = 0; l < k; ++l) {
      sum += whole(a.view, batch, i, l) * whole(b.view, b.view.shape[0] == 1 ? 0 : batch, l, j);
    }
    return sum;
  }
  static int64_t whole(const BufferView& view, int64_t d, int64_t i, int64_t j) {
    const std::byte* at =
        view.data + d * view.strides[0] + i * view.strides[1] + j * view.strides[2];
    return core::dispatch(view.dtype, [&]<DType D>() {
      using T = core::Storage<D>;
      return core::scalar::cast<int64_t>(*reinterpret_cast<const T*>(at));
    });
  }

  int64_t batches, m, n, k;
  StridedArray a, b, result;
  Contraction made;
};

struct Kind {
  DType sums, source;
};
constexpr Kind kKinds[] = {{DType::f32, DType::f16}, {DType::f32, DType::bf16},
                           {DType::f32, DType::f32}, {DType::i32, DType::i8},
                           {DType::i64, DType::i64}, {DType::f64, DType::f64}};

TEST(Cube, MultipliesByAnyTiling) {
  Random random(5);
  const TargetTraits& traits = *find_target("ascend910b3");
  std::vector<uint64_t> words(1 << 14);
  int looped = 0, banded = 0;
  for (int test = 0; test < 240; ++test) {
    const Kind kind = kKinds[static_cast<size_t>(test) % std::size(kKinds)];
    const Case c(random, kind.sums, kind.source);
    const CubeTiling tiling = test % 4 == 0 ? tile_cube(c.made, traits) : c.any_tiling(random);
    SCOPED_TRACE("case " + std::to_string(test) + ": " + std::to_string(c.m) + " x " +
                 std::to_string(c.k) + " x " + std::to_string(c.n));
    const Program program = encode_cube(c.made, tiling, traits, words);
    verify(program.words());
    ASSERT_EQ(program.header().kernel_type, KernelType::cube);
    EXPECT_EQ(assemble(disassemble(program)),
              std::vector<uint64_t>(program.words().begin(), program.words().end()));
    looped += program.header().loops != 0;
    banded += tiling.order.width > 1;
    std::byte* const globals[] = {c.a.view.data, c.b.view.data, c.result.view.data};
    sim::SimTarget(traits).run_and_report(program, globals);
    for (int64_t batch = 0; batch < c.batches; ++batch) {
      for (int64_t i = 0; i < c.m; ++i) {
        for (int64_t j = 0; j < c.n; ++j) {
          ASSERT_EQ(Case::whole(c.result.view, batch, i, j), c.element(batch, i, j))
              << batch << ", " << i << ", " << j;
        }
      }
    }
  }
  EXPECT_GT(looped, 25);
  EXPECT_GT(banded, 15);
}

Contraction dense(int64_t m, int64_t n, int64_t k) {
  Contraction made{.a = 0, .b = 1, .result = 2, .global_count = 3, .source = DType::f16};
  made.m = {.size = m, .a = 2 * k, .result = 4 * n};
  made.n = {.size = n, .b = 2, .result = 4};
  made.k = {.size = k, .a = 2, .b = 2 * n};
  return made;
}

// The slots of a tiling that is chosen fit, the cube has no smaller tiles than it wants, and bands
// of tiles are worth having where a row of them is more than the cores run at a time.
TEST(Cube, TilesFillTheMemoriesBesideIt) {
  const TargetTraits& traits = *find_target("ascend910b3");
  for (const int64_t size : {16, 512, 1024, 4096, 5000}) {
    const Contraction product = dense(size, size, size);
    const CubeTiling tiling = tile_cube(product, traits);
    EXPECT_LE(2 * tiling.m * tiling.k * 2, traits.memory(Space::l0a).bytes);
    EXPECT_LE(2 * tiling.n * tiling.k * 2, traits.memory(Space::l0b).bytes);
    EXPECT_LE(tiling.m * tiling.n * 4, traits.memory(Space::l0c).bytes);
    EXPECT_GE(tiling.m * tiling.n, size >= 4096 ? 128 * 128 : 256);
    CubeTiling other = tiling;
    other.order = {};
    EXPECT_LE(cube_cycles(product, tiling, traits), cube_cycles(product, other, traits));
  }
  EXPECT_GT(tile_cube(dense(8192, 8192, 1024), traits).order.width, 1);
}

// Slots that take turns are waited for one by one: the loop carries a flag for each of them.
TEST(Cube, LoadsAheadOfWhatIsFed) {
  const TargetTraits& traits = *find_target("ascend910b3");
  std::vector<uint64_t> words(1 << 14);
  const Contraction product = dense(512, 512, 4096);
  const Program program = encode_cube(product, tile_cube(product, traits), traits, words);
  const auto* insn = reinterpret_cast<const Instruction*>(program.code().data());
  while (!insn->is_loop()) {
    insn =
        reinterpret_cast<const Instruction*>(reinterpret_cast<const uint64_t*>(insn) + insn->words);
  }
  const auto carried = [&](Pipe src, Pipe dst) {
    const auto syncs = insn->sync_list();
    return std::ranges::count_if(syncs, [&](const Sync& sync) {
      return sync.kind() == SyncKind::carry && sync.src == src && sync.dst == dst;
    });
  };
  EXPECT_EQ(carried(Pipe::feed, Pipe::load), 4);
  EXPECT_EQ(carried(Pipe::cube, Pipe::feed), 2);
}

}  // namespace
}  // namespace dvm::vm
