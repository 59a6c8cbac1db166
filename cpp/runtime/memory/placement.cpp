#include "runtime/memory/placement.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/error.h"
#include "core/math/integers.h"

namespace dvm::runtime {

namespace {

// Of an empty temporary, too: its address is one of its own.
int64_t room_of(const Temporary& temporary) {
  return core::round_up(std::max<int64_t>(temporary.bytes, 1), kAlignment);
}

bool live_together(const Temporary& a, const Temporary& b) {
  return a.begin < b.end && b.begin < a.end;
}

// Storages that have a place, and the next one that gets one.
class Board {
 public:
  explicit Board(std::span<const Temporary> temporaries) : temporaries_(temporaries) {
    placement_.offsets.assign(temporaries.size(), kNowhere);
    by_offset_.reserve(temporaries.size());
  }

  void put(size_t index) {
    const Temporary& temporary = temporaries_[index];
    const int64_t room = room_of(temporary);
    int64_t end = 0, best = kNowhere, least = INT64_MAX;
    for (const size_t other : by_offset_) {
      if (!live_together(temporary, temporaries_[other])) continue;
      const int64_t begin = placement_.offsets[other], gap = begin - end;
      if (gap >= room && gap < least) {
        best = end;
        least = gap;
      }
      end = std::max(end, begin + room_of(temporaries_[other]));
    }
    const int64_t offset = best == kNowhere ? end : best;
    placement_.offsets[index] = offset;
    placement_.bytes = std::max(placement_.bytes, offset + room);
    const auto at = std::ranges::lower_bound(
        by_offset_, offset, {}, [&](size_t other) { return placement_.offsets[other]; });
    by_offset_.insert(at, index);
  }
  bool has(size_t index) const { return placement_.offsets[index] != kNowhere; }
  Placement take() { return std::move(placement_); }

 private:
  static constexpr int64_t kNowhere = -1;
  const std::span<const Temporary> temporaries_;
  Placement placement_;
  std::vector<size_t> by_offset_;
};

std::vector<size_t> largest_first(std::span<const Temporary> temporaries) {
  std::vector<size_t> order(temporaries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t k) { return temporaries[k].bytes; });
  return order;
}

// How many bytes live behind each moment at which that changes.
std::map<int32_t, int64_t> breadths(std::span<const Temporary> temporaries) {
  std::map<int32_t, int64_t> found;
  for (const Temporary& temporary : temporaries) {
    if (temporary.begin >= temporary.end) continue;
    found[temporary.begin] += room_of(temporary);
    found[temporary.end] -= room_of(temporary);
  }
  int64_t bytes = 0;
  for (auto& [moment, change] : found) change = bytes += change;
  return found;
}

}  // namespace

Placement place_by_size(std::span<const Temporary> temporaries) {
  Board board(temporaries);
  for (const size_t k : largest_first(temporaries)) board.put(k);
  return board.take();
}

Placement place_by_breadth(std::span<const Temporary> temporaries) {
  std::vector<std::pair<int64_t, int32_t>> moments;
  for (const auto& [moment, bytes] : breadths(temporaries)) moments.emplace_back(-bytes, moment);
  std::ranges::sort(moments);
  const std::vector<size_t> order = largest_first(temporaries);
  Board board(temporaries);
  for (const auto& [bytes, moment] : moments) {
    for (const size_t k : order) {
      const bool lives = temporaries[k].begin <= moment && moment < temporaries[k].end;
      if (lives && !board.has(k)) board.put(k);
    }
  }
  for (const size_t k : order) {
    if (!board.has(k)) board.put(k);
  }
  return board.take();
}

int64_t least_bytes(std::span<const Temporary> temporaries) {
  int64_t most = 0;
  for (const auto& [moment, bytes] : breadths(temporaries)) most = std::max(most, bytes);
  return most;
}

Placement place(std::span<const Temporary> temporaries) {
  Placement by_size = place_by_size(temporaries);
  if (by_size.bytes <= least_bytes(temporaries)) return by_size;
  Placement by_breadth = place_by_breadth(temporaries);
  return by_breadth.bytes < by_size.bytes ? by_breadth : by_size;
}

void verify(std::span<const Temporary> temporaries, const Placement& placement) {
  DVM_CHECK(placement.offsets.size() == temporaries.size(), "a temporary has no place");
  std::map<int32_t, std::vector<size_t>> begins, ends;
  for (size_t k = 0; k < temporaries.size(); ++k) {
    const int64_t offset = placement.offsets[k];
    DVM_CHECK(offset >= 0 && offset % kAlignment == 0, "a temporary is not aligned");
    DVM_CHECK(offset + temporaries[k].bytes <= placement.bytes,
              "a temporary is not within the block");
    if (temporaries[k].begin >= temporaries[k].end) continue;
    begins[temporaries[k].begin].push_back(k);
    ends[temporaries[k].end].push_back(k);
  }
  std::map<int64_t, int64_t> living;  // where what lives ends, by where it begins
  for (const auto& [moment, begun] : begins) {
    for (; !ends.empty() && ends.begin()->first <= moment; ends.erase(ends.begin())) {
      for (const size_t k : ends.begin()->second) living.erase(placement.offsets[k]);
    }
    for (const size_t k : begun) {
      const int64_t begin = placement.offsets[k];
      const int64_t end = begin + std::max<int64_t>(temporaries[k].bytes, 1);
      const auto behind = living.lower_bound(begin);
      const bool is_free = (behind == living.end() || end <= behind->first) &&
                           (behind == living.begin() || std::prev(behind)->second <= begin);
      DVM_CHECK(is_free, "temporaries that live at one time share bytes");
      living.emplace(begin, end);
    }
  }
}

}  // namespace dvm::runtime
