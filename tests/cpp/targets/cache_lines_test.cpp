// Kernels of long operands, which begin anywhere: the same bits as of a few elements at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/ops/elementwise.h"
#include "cpu/kernels.h"
#include "every_target.h"
#include "oracle.h"
#include "vm/run/tile_kernel.h"

namespace dvm::testing {
namespace {

using vm::Insn;

// Elements from some byte of a cache line on.
struct Line {
  std::vector<std::byte> memory;
  std::byte* begin;

  Line(int64_t bytes, int64_t offset) : memory(static_cast<size_t>(bytes + 128)) {
    begin = memory.data() + offset + (-reinterpret_cast<uintptr_t>(memory.data()) & 63);
  }
};

struct Case {
  Insn insn;
  DType dtype, result;
  int arity;
  uint8_t aux;
};

template <typename T>
void fill(std::byte* at, int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<T> values = interesting<T>(random);
  for (int64_t i = 0; i < count; ++i) {
    const T x = values[random() % values.size()];
    std::memcpy(at + i * int64_t{sizeof(T)}, &x, sizeof(T));
  }
}

// What makes one result as good as the other: of NaNs any.
template <typename T>
bool all_same(const std::byte* a, const std::byte* b, int64_t count) {
  if (std::memcmp(a, b, static_cast<size_t>(count) * sizeof(T)) == 0) return true;
  for (int64_t i = 0; i < count; ++i) {
    T x, y;
    std::memcpy(&x, a + i * int64_t{sizeof(T)}, sizeof(T));
    std::memcpy(&y, b + i * int64_t{sizeof(T)}, sizeof(T));
    if (!same(x, y)) return false;
  }
  return true;
}

constexpr int64_t kOffsets[][3] = {{0, 0, 0},    {16, 0, 0},   {0, 16, 48}, {32, 16, 16},
                                   {48, 48, 48}, {16, 32, 48}, {8, 8, 0},   {1, 2, 4}};

// One kernel on operands of one length, of which `scalar_mask` says which are scalars. Operands,
// and the results of a few elements at a time, are the same wherever they begin.
class Operands {
 public:
  Operands(const Case& test, int scalar_mask, int64_t count)
      : test_(test),
        count_(count),
        bytes_(core::byte_size(test.dtype)),
        stored_(core::byte_size(test.result)),
        kernel_(cpu::kernel_table(cpu::simd_level())
                    .at[static_cast<int>(test.insn)][static_cast<int>(test.dtype)]),
        a_(count * bytes_, 0),
        b_(count * bytes_, 0),
        expected_(count * stored_, 0) {
    core::dispatch(test.dtype, [&]<DType D>() {
      fill<Storage<D>>(a_.begin, count, 1);
      fill<Storage<D>>(b_.begin, count, 2);
    });
    args_.aux = test.aux;
    args_.scalar_mask = static_cast<uint8_t>(scalar_mask);
    constexpr int64_t kFew = 15;
    for (int64_t i = 0; i < count; i += kFew) {
      args_.src[0] = a_.begin + (scalar_mask & 1 ? 0 : i * bytes_);
      args_.src[1] = b_.begin + (scalar_mask & 2 ? 0 : i * bytes_);
      args_.dst = expected_.begin + i * stored_;
      args_.size = std::min(kFew, count - i);
      kernel_(args_);
    }
  }

  void test(const int64_t (&offsets)[3], bool in_place) {
    Line a(count_ * bytes_, offsets[1] / bytes_ * bytes_);
    Line b(count_ * bytes_, offsets[2] / bytes_ * bytes_);
    Line dst(count_ * stored_, offsets[0] / stored_ * stored_);
    std::copy_n(a_.begin, count_ * bytes_, a.begin);
    std::copy_n(b_.begin, count_ * bytes_, b.begin);
    args_.src[0] = a.begin;
    args_.src[1] = b.begin;
    args_.dst = in_place ? a.begin : dst.begin;
    args_.size = count_;
    kernel_(args_);
    core::dispatch(test_.result, [&]<DType R>() {
      EXPECT_TRUE(all_same<Storage<R>>(args_.dst, expected_.begin, count_))
          << vm::info(test_.insn).name << "." << core::to_string(test_.dtype) << " aux "
          << int{test_.aux} << " mask " << int{args_.scalar_mask} << " count " << count_
          << " offsets " << offsets[0] << ", " << offsets[1] << ", " << offsets[2]
          << (in_place ? " in place" : "");
    });
  }

 private:
  const Case& test_;
  const int64_t count_, bytes_, stored_;
  const vm::TileKernel kernel_;
  Line a_, b_, expected_;
  vm::TileArgs args_{};
};

void test_everywhere(const Case& test) {
  const cpu::SimdLevel used = cpu::simd_level();
  for (const cpu::SimdLevel level : cpu::simd_levels()) {
    SCOPED_TRACE("at SIMD level " + std::string(cpu::to_string(level)));
    cpu::set_simd_level(level);
    // Short of being long, and beyond.
    const int64_t most = 4096 / core::byte_size(test.dtype);
    for (const int64_t count : {most - 1, most + 70}) {
      for (int mask = 0; mask < (test.arity == 2 ? 3 : 1); ++mask) {
        Operands operands(test, mask, count);
        for (const auto& offsets : kOffsets) operands.test(offsets, false);
        if (mask == 0 && test.dtype == test.result) operands.test({16, 16, 48}, true);
      }
    }
  }
  cpu::set_simd_level(used);
}

TEST(CacheLines, LongOperandsHaveTheBitsOfShortOnes) {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                           \
  for (int d = 0; d < core::kDTypeCount; ++d) {                                     \
    const auto dtype = static_cast<DType>(d);                                       \
    constexpr bool kAsks = core::ResultRule::result == core::ResultRule::boolean;   \
    if (!vm::contains(vm::DTypeSet::dtypes, dtype)) continue;                       \
    test_everywhere({Insn::name, dtype, kAsks ? DType::boolean : dtype, arity, 0}); \
    if (HasFailure()) return;                                                       \
  }
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
}

TEST(CacheLines, LongComparisonsHaveTheBitsOfShortOnes) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    for (int c = 0; c < vm::kCompareCount; ++c) {
      test_everywhere(
          {Insn::cmp, static_cast<DType>(d), DType::boolean, 2, static_cast<uint8_t>(c)});
    }
    if (HasFailure()) return;
  }
}

TEST(CacheLines, SquaresAreProducts) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::u64, DType::i8}) {
    const int64_t bytes = core::byte_size(dtype), count = 100;
    const vm::KernelTable& kernels = cpu::kernel_table(cpu::simd_level());
    const auto kernel = kernels.at[static_cast<int>(Insn::mul)][static_cast<int>(dtype)];
    Line a(count * bytes, 0), copy(count * bytes, 0), one(count * bytes, 0), two(count * bytes, 0);
    core::dispatch(dtype, [&]<DType D>() { fill<Storage<D>>(a.begin, count, 1); });
    std::copy_n(a.begin, count * bytes, copy.begin);
    vm::TileArgs args{};
    args.dst = one.begin;
    args.src[0] = args.src[1] = a.begin;
    args.size = count;
    kernel(args);
    args.dst = two.begin;
    args.src[1] = copy.begin;
    kernel(args);
    core::dispatch(dtype, [&]<DType D>() {
      EXPECT_TRUE(all_same<Storage<D>>(one.begin, two.begin, count)) << core::to_string(dtype);
    });
  }
}

}  // namespace
}  // namespace dvm::testing
