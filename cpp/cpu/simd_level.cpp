#include "cpu/simd_level.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "core/error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace dvm::cpu {

namespace {

constexpr std::string_view kNames[] = {
#if defined(__x86_64__)
#define DVM_SIMD_LEVEL(name, features) #name,
#include "cpu/simd_levels.def"
#undef DVM_SIMD_LEVEL
#endif
    "portable"};

#if defined(__x86_64__)
// Clang 14 has no name for it.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// Tiles of bf16 and of bytes (AMX). Linux saves their registers for processes that have asked for
// it, which holds for all of their threads and for their children; some systems never do.
bool saves_matrix_tiles() {
  constexpr unsigned kTiles = 1u << 24 | 1u << 22 | 1u << 25;  // amx-tile, amx-bf16, amx-int8
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kTiles) != kTiles) return false;
#if defined(__linux__)
  constexpr int kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
#else
  return false;
#endif
}
#endif

std::vector<SimdLevel> find_levels() {
  std::vector<SimdLevel> found;
#if defined(__x86_64__)
  // Asks the system too whether it saves the registers.
  __builtin_cpu_init();
#define DVM_HAS(feature) __builtin_cpu_supports(feature)
#define DVM_SIMD_LEVEL(name, features) \
  if (features) found.push_back(SimdLevel::name);
#include "cpu/simd_levels.def"
#undef DVM_SIMD_LEVEL
#undef DVM_HAS
#endif
  found.push_back(SimdLevel::portable);
  return found;
}

SimdLevel configured_level() {
  const std::vector<SimdLevel>& levels = simd_levels();
  const char* text = std::getenv("DVM_SIMD");
  if (text == nullptr || *text == '\0') return levels.front();
  std::string known;
  for (const SimdLevel level : levels) {
    if (to_string(level) == text) return level;
    known += known.empty() ? "" : ", ";
    known += to_string(level);
  }
  const bool exists = std::ranges::find(kNames, text) != std::end(kNames);
  core::fail(core::ErrorCode::unsupported,
             "DVM_SIMD is '" + std::string(text) + "', " +
                 (exists ? "which this machine lacks" : "which is no SIMD level") +
                 "; it has: " + known);
}

constexpr int kUnknown = -1;
std::atomic<int> current{kUnknown};

}  // namespace

std::string_view to_string(SimdLevel level) { return kNames[static_cast<int>(level)]; }

bool has_fused_arithmetic(SimdLevel level) {
#if defined(__x86_64__)
  return level == SimdLevel::amx || level == SimdLevel::avx512 || level == SimdLevel::avx2;
#else
  return level == SimdLevel::portable;
#endif
}

bool has_matrix_tiles([[maybe_unused]] SimdLevel level) {
#if defined(__x86_64__)
  return level == SimdLevel::amx;
#else
  return false;
#endif
}

const std::vector<SimdLevel>& simd_levels() {
  static const std::vector<SimdLevel> levels = find_levels();
  return levels;
}

SimdLevel simd_level() {
  int level = current.load(std::memory_order_relaxed);
  if (level == kUnknown) {
    level = static_cast<int>(configured_level());
    current.store(level, std::memory_order_relaxed);
  }
  return static_cast<SimdLevel>(level);
}

void set_simd_level(SimdLevel level) {
  current.store(static_cast<int>(level), std::memory_order_relaxed);
}

}  // namespace dvm::cpu
