#include "machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Seconds from when all threads are there until the last has done its part.
template <typename Part>
double together(int threads, const Part& part) {
  std::atomic<int> ready{0};
  std::vector<double> spent(static_cast<size_t>(threads));
  const auto run = [&](int thread) {
    ++ready;
    while (ready < threads) {
    }
    const Clock::time_point begin = Clock::now();
    part(thread);
    spent[static_cast<size_t>(thread)] = seconds_since(begin);
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  for (std::thread& other : others) other.join();
  return *std::max_element(spent.begin(), spent.end());
}

// 24 sums of f32, none of which waits for another.
#if defined(__x86_64__)
#define DVM_FMAS(r)                                                                               \
  "vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r "mm4\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r         \
  "mm5\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r "mm6\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r   \
  "mm7\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r "mm8\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r   \
  "mm9\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r "mm10\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r  \
  "mm11\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r "mm12\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r \
  "mm13\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r "mm14\n vfmadd231ps %%" r "mm0,%%" r "mm1,%%" r \
  "mm15\n"
#define DVM_FMA_LOOP(r)                                                                            \
  asm volatile("vpxor %%xmm0,%%xmm0,%%xmm0\n vpxor %%xmm1,%%xmm1,%%xmm1\n 1:\n" DVM_FMAS(r)        \
                   DVM_FMAS(r) "dec %0\n jnz 1b\n vzeroupper\n"                                    \
               : "+r"(count)                                                                       \
               :                                                                                   \
               : "xmm0", "xmm1", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
                 "xmm12", "xmm13", "xmm14", "xmm15", "cc")

int lanes() {
  if (__builtin_cpu_supports("avx512f")) return 16;
  return __builtin_cpu_supports("fma") ? 8 : 0;
}

void multiply_add(int64_t count) {
  if (lanes() == 16) {
    DVM_FMA_LOOP("z");
  } else {
    DVM_FMA_LOOP("y");
  }
}

#define DVM_BY_LEVEL __attribute__((target_clones("avx512f", "avx2", "default")))
#else
int lanes() { return 0; }
void multiply_add(int64_t) {}
#define DVM_BY_LEVEL
#endif

DVM_BY_LEVEL void read_all(const char* p, int64_t bytes) {
  using Words = uint64_t __attribute__((vector_size(64), aligned(8), may_alias));
  Words sums[4] = {};
  for (int64_t i = 0; i + 256 <= bytes; i += 256) {
    for (int v = 0; v < 4; ++v) sums[v] ^= *reinterpret_cast<const Words*>(p + i + int64_t{v} * 64);
  }
  const Words sum = (sums[0] ^ sums[1]) ^ (sums[2] ^ sums[3]);
  asm volatile("" : : "m"(sum));
}

}  // namespace

double dvm_multiply_add_seconds(double operations, int threads) {
  if (lanes() == 0) return 0;
  const double of_turn = 24.0 * 2 * lanes();
  const auto turns = static_cast<int64_t>(std::max(1.0, operations / of_turn / threads));
  return together(threads, [&](int) { multiply_add(turns); });
}

void dvm_read(const void* data, int64_t bytes) { read_all(static_cast<const char*>(data), bytes); }

double dvm_read_seconds(const void* data, int64_t bytes, int threads) {
  constexpr double kBytes = 64 << 20;  // some milliseconds
  const int turns = std::max(1, static_cast<int>(kBytes / static_cast<double>(bytes)));
  const double spent = together(threads, [&](int thread) {
    const int64_t begin = bytes * thread / threads / 64 * 64;
    const int64_t end = thread + 1 == threads ? bytes : bytes * (thread + 1) / threads / 64 * 64;
    for (int i = 0; i < turns; ++i) read_all(static_cast<const char*>(data) + begin, end - begin);
  });
  return spent / turns;
}
