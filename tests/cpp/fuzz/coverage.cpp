#include "fuzz/coverage.h"

#include <bit>
#include <cstdint>
#include <cstring>

extern "C" const char __executable_start;  // NOLINT: the linker's own name

namespace dvm::fuzz {

namespace {

constexpr size_t kEdges = size_t{1} << 16;

// Plain arrays: a call that the hook makes would be a block of its own.
alignas(64) uint8_t times[kEdges];  // of each edge in this case, up to 255
alignas(64) uint8_t known[kEdges];  // a bit per order of magnitude
thread_local bool watched = false;
thread_local size_t last_block = 0;
size_t taken = 0;

}  // namespace

void begin_case() {
  std::memset(times, 0, sizeof times);
  watched = true;
  last_block = 0;
}

bool is_new() {
  watched = false;
  bool any = false;
  for (size_t word = 0; word < kEdges; word += 8) {
    uint64_t eight;
    std::memcpy(&eight, &times[word], sizeof eight);
    if (eight == 0) continue;
    for (size_t edge = word; edge < word + 8; ++edge) {
      if (times[edge] == 0) continue;
      const auto magnitude = static_cast<uint8_t>(1u << (std::bit_width(times[edge]) - 1));
      if ((known[edge] & magnitude) != 0) continue;
      known[edge] |= magnitude;
      ++taken;
      any = true;
    }
  }
  return any;
}

size_t edges_taken() { return taken; }

// Called with the place it returns to as the name of a block. Where the program was loaded differs
// from run to run and must not matter, so that a seed determines a run.
#ifdef __clang__
#define DVM_NOT_COUNTED no_sanitize("coverage")
#else
#define DVM_NOT_COUNTED no_sanitize_coverage
#endif
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the compiler's own name.
extern "C" __attribute__((no_sanitize("address", "undefined"), DVM_NOT_COUNTED)) void
__sanitizer_cov_trace_pc() {
  // NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
  if (!watched) return;
  const auto at = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) -
                  reinterpret_cast<uintptr_t>(&__executable_start);
  const size_t block = (at * 0x9E3779B97F4A7C15u) >> 48;
  uint8_t& count = times[block ^ last_block];
  if (count != 255) ++count;
  last_block = block >> 1;
}

}  // namespace dvm::fuzz
