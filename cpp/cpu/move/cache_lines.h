// Long operands in whole cache lines: a vector that lies across two takes twice as long, and memory
// from malloc begins anywhere. So the elements before the first whole line are a part of their own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/math/basis.h"
#include "vm/run/tile_kernel.h"

namespace dvm::cpu {

inline constexpr int64_t kCacheLine = 64;
// In bytes: a part of its own takes about as long as 30 vectors across two lines.
inline constexpr int64_t kLongOperand = 4096;

// The operands of an elementwise instruction: arrays of so many bytes per element.
template <int kArity, int kResultBytes, int kSourceBytes>
struct Lines {
  const vm::TileArgs& args;

  // The elements [begin, begin + size).
  vm::TileArgs part(int64_t begin, int64_t size) const {
    vm::TileArgs part = args;
    part.dst += begin * kResultBytes;
    for (int k = 0; k < kArity; ++k) {
      if (is_array(k)) part.src[k] += begin * kSourceBytes;
    }
    part.size = size;
    return part;
  }

  // How many elements to do first so that most of what follows lies in whole lines.
  int64_t before() const {
    constexpr int64_t kWider = kResultBytes > kSourceBytes ? kResultBytes : kSourceBytes;
    if (args.size * kWider < kLongOperand) return 0;
    int64_t best = 0, most = in_lines(0);
    const auto consider = [&](const std::byte* p) {
      const int64_t begin = static_cast<int64_t>(-address(p) % kCacheLine) / kWider;
      const int64_t bytes = begin == 0 ? 0 : in_lines(begin);
      if (bytes > most) best = begin, most = bytes;
    };
    if (kResultBytes == kWider) consider(args.dst);
    for (int k = 0; k < kArity && kSourceBytes == kWider; ++k) {
      if (is_array(k)) consider(args.src[k]);
    }
    return best;
  }

 private:
  static uintptr_t address(const std::byte* p) { return reinterpret_cast<uintptr_t>(p); }
  static bool begins_line(const std::byte* p) { return address(p) % kCacheLine == 0; }
  bool is_array(int k) const { return (args.scalar_mask >> k & 1) == 0; }

  // The bytes, per element, of the operands that begin a line from the element `begin` on. A store
  // across two lines costs more than two such loads.
  int64_t in_lines(int64_t begin) const {
    int64_t bytes = begins_line(args.dst + begin * kResultBytes) ? 2 * kResultBytes : 0;
    for (int k = 0; k < kArity; ++k) {
      if (is_array(k) && begins_line(args.src[k] + begin * kSourceBytes)) bytes += kSourceBytes;
    }
    return bytes;
  }
};

// Calls loop(part) for one or two parts that make up all elements.
template <int kArity, typename Result, typename Source, typename Loop>
DVM_ALWAYS_INLINE void in_cache_lines(const vm::TileArgs& args, Loop loop) {
  const Lines<kArity, sizeof(Result), sizeof(Source)> lines{args};
  const int64_t before = lines.before();
  if (before == 0) return loop(args);
  loop(lines.part(0, before));
  loop(lines.part(before, args.size - before));
}

}  // namespace dvm::cpu
