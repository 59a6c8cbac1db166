// The canonical summation order: the one tree of additions that every evaluator, target, SIMD level
// and thread count uses, so that floating sums have the same bits everywhere.
//
// Values are added in runs of kSumRun, one after the other, and so are the sums of runs, until one
// value is left. Of elements that are adjacent in the reduced tensor (N == 1) these values are the
// sums of chunks of kSumChunk, which are added in kSumLanes interleaved lanes that fold by halves;
// elsewhere they are the elements (columns, where the SIMD lanes run across N), and those of a
// chunk come to one value, for a chunk is whole runs of runs. The tree depends on `count` and N
// alone; a tiler may split a sum only into tiles of one chunk, and reduces their stored partials
// with `adjacent` false. Each value goes through few additions, O(log count) as of pairwise
// summation.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dvm::core {

inline constexpr int64_t kSumChunk = 512;
inline constexpr int64_t kSumLanes = 64;
inline constexpr int64_t kSumRun = 8;
static_assert(kSumChunk == kSumRun * kSumRun * kSumRun);

// Of so many elements.
constexpr int64_t sum_chunks(int64_t count) { return (count + kSumChunk - 1) / kSumChunk; }

// `combine(x, y)` is + for sums; max uses the same tree so that one kernel shape serves both.
//
// Values that come in one at a time, as a counter whose digits are the sums of a level: a digit of
// kSumRun values is carried to the next one.
template <typename T, typename Combine>
class RunTree {
 public:
  RunTree(T first, Combine combine) : combine_(combine) { push(0, first); }

  void add(T value) {
    int level = 0;
    for (push(level, value); filled_[level] == kSumRun; push(++level, value)) {
      value = totals_[level];
      filled_[level] = 0;
    }
  }
  T total() const {
    int level = 0;
    while (filled_[level] == 0) ++level;
    T total = totals_[level];
    while (++level <= top_) {
      if (filled_[level] != 0) total = combine_(totals_[level], total);
    }
    return total;
  }

 private:
  static constexpr int kLevels = 21;  // 8**21 values exceed any address space

  void push(int level, T value) {
    totals_[level] = filled_[level] == 0 ? value : combine_(totals_[level], value);
    ++filled_[level];
    top_ = std::max(top_, level);
  }

  Combine combine_;
  int top_ = 0;
  T totals_[kLevels];
  int8_t filled_[kLevels] = {};
};

// `value(i)` for i below count, which is 1 at least.
template <typename T, typename Value, typename Combine>
T combine_runs(int64_t count, Value value, Combine combine) {
  T first = value(0);
  if (count <= kSumRun) {
    for (int64_t i = 1; i < count; ++i) first = combine(first, value(i));
    return first;
  }
  RunTree<T, Combine> tree(first, combine);
  for (int64_t i = 1; i < count; ++i) tree.add(value(i));
  return tree.total();
}

template <typename T, typename Load, typename Combine>
T reduce_chunk(int64_t count, bool adjacent, Load load, Combine combine) {
  if (!adjacent || count < kSumLanes) return combine_runs<T>(count, load, combine);
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

// The tree above the chunks: `chunk(begin, count)` is the total of one. Elements that are not
// adjacent may come in smaller `parts`, of kSumRun or a power of it.
template <typename T, typename Chunk, typename Combine>
T combine_chunks(int64_t count, Chunk chunk, Combine combine, int64_t part = kSumChunk) {
  if (count <= part) return chunk(0, count);
  return combine_runs<T>(
      (count + part - 1) / part,
      [&](int64_t k) { return chunk(k * part, std::min(part, count - k * part)); }, combine);
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
