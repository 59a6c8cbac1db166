// Sums in 64 bits of rows of adjacent bytes, which counts of bools are, for one SIMD level: an
// instruction adds up eight bytes, so that no element is widened.
#if defined(DVM_CPU_SUM_BYTES) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_SUM_BYTES
#undef DVM_CPU_SUM_BYTES
#else
#define DVM_CPU_SUM_BYTES
#endif

#include <cstring>

#include "hwy/highway.h"
#include "vm/isa/reduce_source.h"
#include "vm/run/tile_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

template <DType From>
class ByteSum {
 public:
  static void rows(const TileArgs& args) {
    auto* dst = reinterpret_cast<uint64_t*>(args.dst);
    const auto* row = reinterpret_cast<const uint8_t*>(args.src[0]);
    for (int64_t m = 0; m < args.m; ++m, row += args.size) dst[m] = of_row(row, args.size);
  }

 private:
  static constexpr auto kBytes = hwy::HWY_NAMESPACE::ScalableTag<uint8_t>();
  static constexpr auto kSums = hwy::HWY_NAMESPACE::Repartition<uint64_t, decltype(kBytes)>();
  static constexpr auto kLanes = static_cast<int64_t>(hwy::HWY_NAMESPACE::MaxLanes(kBytes));
  using Sums = hwy::HWY_NAMESPACE::Vec<decltype(kSums)>;
  // Of signed bytes with the sign bit turned round, which are this much larger.
  static constexpr uint64_t kBias = From == DType::i8 ? 128 : 0;

  DVM_ALWAYS_INLINE static Sums at(const uint8_t* p) {
    namespace hn = hwy::HWY_NAMESPACE;
    auto bytes = hn::LoadU(kBytes, p);
    if constexpr (From == DType::boolean) bytes = hn::Min(bytes, hn::Set(kBytes, 1));
    if constexpr (kBias != 0) bytes = hn::Xor(bytes, hn::Set(kBytes, 128));
    return hn::SumsOf8(bytes);
  }

  static uint64_t of_row(const uint8_t* p, int64_t count) {
    namespace hn = hwy::HWY_NAMESPACE;
    Sums a = hn::Zero(kSums), b = hn::Zero(kSums);
    int64_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
      a = hn::Add(a, at(p + i));
      b = hn::Add(b, at(p + i + kLanes));
    }
    for (; i < count; i += kLanes) {
      if (i + kLanes <= count) {
        a = hn::Add(a, at(p + i));
        continue;
      }
      uint8_t rest[kLanes];
      std::memset(rest, static_cast<int>(kBias), sizeof(rest));  // nothing, like 0
      std::memcpy(rest, p + i, static_cast<size_t>(count - i));
      b = hn::Add(b, at(rest));
    }
    const uint64_t total = hn::GetLane(hn::SumOfLanes(kSums, hn::Add(a, b)));
    return total - kBias * static_cast<uint64_t>(count);
  }
};

#endif

// The sum of what is cast to 64 bits, by `kOther` where it is of no adjacent bytes.
template <vm::TileKernel kOther>
void sum_to_64(const TileArgs& args) noexcept {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if (args.n == 1 && !args.row_stride && args.aux >= 2) {
    switch (vm::reduced_dtype(DType{}, args.aux)) {
      case DType::boolean:
        return ByteSum<DType::boolean>::rows(args);
      case DType::u8:
        return ByteSum<DType::u8>::rows(args);
      case DType::i8:
        return ByteSum<DType::i8>::rows(args);
      default:
        break;
    }
  }
#endif
  kOther(args);
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
