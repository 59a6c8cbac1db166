// The canonical summation order: the one tree of additions that every evaluator, target, SIMD level
// and thread count uses, so that floating sums have the same bits everywhere.
//
// The `count` elements of one sum are cut into chunks of kSumChunk in index order. A chunk is added
// in kSumLanes interleaved lanes when its elements are adjacent in the reduced tensor (N == 1), one
// after the other otherwise (columns, where the SIMD lanes run across N). The lanes fold by halves.
// The chunk sums form the next, shorter sum, added one after the other in chunks of kSumChunk
// again, until one value is left. The tree depends on `count` and N alone; a tiler may split a sum
// only into tiles of one chunk, and reduces their stored partials with `adjacent` false. The error
// grows like that of pairwise summation: O(log count) beyond one chunk.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dvm::core {

inline constexpr int64_t kSumChunk = 512;
inline constexpr int64_t kSumLanes = 64;

// Of so many elements.
constexpr int64_t sum_chunks(int64_t count) { return (count + kSumChunk - 1) / kSumChunk; }

// `combine(x, y)` is + for sums; max uses the same tree so that one kernel shape serves both.
template <typename T, typename Load, typename Combine>
T reduce_chunk(int64_t count, bool adjacent, Load load, Combine combine) {
  if (!adjacent || count < kSumLanes) {
    T total = load(0);
    for (int64_t i = 1; i < count; ++i) total = combine(total, load(i));
    return total;
  }
  T lanes[kSumLanes];
  for (int64_t i = 0; i < kSumLanes; ++i) lanes[i] = load(i);
  for (int64_t i = kSumLanes; i < count; ++i) {
    lanes[i % kSumLanes] = combine(lanes[i % kSumLanes], load(i));
  }
  for (int64_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] = combine(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

// The tree above the chunks: `chunk(begin, count)` is the total of one. count >= 1. Chunk sums
// enter a radix-kSumChunk counter: a full digit carries its total upwards, so that every level
// above the chunks is added in index order without storing the partials.
template <typename T, typename Chunk, typename Combine>
T combine_chunks(int64_t count, Chunk chunk, Combine combine) {
  if (count <= kSumChunk) return chunk(0, count);
  constexpr int kLevels = 8;  // 512**8 elements exceed any address space
  T totals[kLevels];
  int64_t filled[kLevels] = {};
  auto push = [&](int level, T partial) {
    totals[level] = filled[level] == 0 ? partial : combine(totals[level], partial);
    ++filled[level];
  };
  for (int64_t begin = 0; begin < count; begin += kSumChunk) {
    T carry = chunk(begin, std::min(kSumChunk, count - begin));
    int level = 0;
    for (push(level, carry); filled[level] == kSumChunk; push(++level, carry)) {
      carry = totals[level];
      filled[level] = 0;
    }
  }
  int level = 0;
  while (filled[level] == 0) ++level;
  T total = totals[level];
  while (++level < kLevels) {
    if (filled[level] != 0) total = combine(totals[level], total);
  }
  return total;
}

template <typename T, typename Load, typename Combine>
T reduce_canonical(int64_t count, bool adjacent, Load load, Combine combine) {
  const auto chunk = [&](int64_t begin, int64_t length) {
    return reduce_chunk<T>(
        length, adjacent, [&](int64_t i) { return load(begin + i); }, combine);
  };
  return combine_chunks<T>(count, chunk, combine);
}

}  // namespace dvm::core
