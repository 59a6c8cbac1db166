// Copies of some elements, often so few that a call of memcpy would take longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dvm::cpu {

// At least `kChunk` bytes in such chunks, the last of which may overlap the one before.
template <size_t kChunk>
void copy_chunks(const std::byte* from, std::byte* to, size_t bytes) {
  for (size_t i = 0; i + kChunk < bytes; i += kChunk) std::memcpy(to + i, from + i, kChunk);
  std::memcpy(to + bytes - kChunk, from + bytes - kChunk, kChunk);
}
inline void copy_adjacent(const std::byte* from, std::byte* to, size_t bytes) {
  if (bytes > 256) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 16) {
    copy_chunks<16>(from, to, bytes);
  } else if (bytes >= 4) {
    copy_chunks<4>(from, to, bytes);
  } else {
    for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

// Every second element of 4 bytes, some at once; of what lies behind the last one nothing is read.
inline int64_t copy_every_second(const std::byte* from, std::byte* to, int64_t count) {
  constexpr int64_t kFloat = 4, kAtOnce = 4;
  using Vector [[gnu::vector_size(16)]] = float;
  int64_t i = 0;
  for (; i + kAtOnce < count; i += kAtOnce) {
    Vector low, high;
    std::memcpy(&low, from + 2 * i * kFloat, sizeof(low));
    std::memcpy(&high, from + 2 * i * kFloat + sizeof(low), sizeof(high));
    const Vector chosen = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    std::memcpy(to + i * kFloat, &chosen, sizeof(chosen));
  }
  return i;
}

// Elements that lie `stride` bytes apart, to adjacent places.
template <typename T>
void copy_elements(const std::byte* from, int64_t stride, std::byte* to, int64_t count) {
  constexpr int64_t kBytes = sizeof(T);
  if (stride == kBytes) return copy_adjacent(from, to, static_cast<size_t>(count * kBytes));
  int64_t i = kBytes == 4 && stride == 2 * kBytes ? copy_every_second(from, to, count) : 0;
  for (; i < count; ++i) std::memcpy(to + i * kBytes, from + i * stride, sizeof(T));
}

}  // namespace dvm::cpu
