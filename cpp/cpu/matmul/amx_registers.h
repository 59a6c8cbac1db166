// The tile registers of AMX and the instructions on them, written as such so that nothing else is
// compiled for processors that have them. They belong to no function across a call: who configures
// them releases them. A signal, a switch of threads and a fork leave them as they are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/math/basis.h"

#if defined(__x86_64__)

namespace dvm::cpu::amx {

inline constexpr int kTileRows = 16, kTileRowBytes = 64, kTileBytes = kTileRows * kTileRowBytes;
inline constexpr int kTiles = 8;

// The sizes of all tiles, as ldtilecfg reads them. What has no rows is not there.
struct alignas(64) TileSizes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileSizes) == 64);

// Tiles of these sizes, all zeros, for as long as this lives.
class ConfiguredTiles {
 public:
  explicit ConfiguredTiles(const TileSizes& sizes) {
    asm volatile("ldtilecfg %0" : : "m"(sizes) : "memory");
  }
  ~ConfiguredTiles() { asm volatile("tilerelease" : : : "memory"); }
  ConfiguredTiles(const ConfiguredTiles&) = delete;
  ConfiguredTiles& operator=(const ConfiguredTiles&) = delete;
};

template <int kTile>
DVM_ALWAYS_INLINE void clear() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
template <int kTile>
DVM_ALWAYS_INLINE void load(const void* p, int64_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(p), "r"(stride) : "memory");
}
// What is not needed again soon: it pushes nothing else out of the first cache.
template <int kTile>
DVM_ALWAYS_INLINE void load_past(const void* p, int64_t stride) {
  asm volatile("tileloaddt1 (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(p), "r"(stride) : "memory");
}
template <int kTile>
DVM_ALWAYS_INLINE void store(void* p, int64_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(p), "r"(stride) : "memory");
}

// kC += kA kB, of pairs of bf16 or fours of i8 along k: row of A by row, each as a row of B.
template <int kC, int kA, int kB>
DVM_ALWAYS_INLINE void add_products_of_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
}
template <int kC, int kA, int kB>
DVM_ALWAYS_INLINE void add_products_of_i8() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
}

}  // namespace dvm::cpu::amx

#endif
