#include "runtime/functions/suppression.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <vector>

#include "core/error.h"

namespace dvm::runtime {

namespace {

template <typename T>
T value_at(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return value;
}

// As NumPy has them: NaN is the greatest, and the least.
float greater(float x, float y) { return x >= y || x != x ? x : y; }
float smaller(float x, float y) { return x <= y || x != x ? x : y; }

struct Box {
  float low[2], high[2], area;
};

Box box_of(const std::byte* words, int64_t stride, bool is_centred) {
  Box box{};
  for (size_t d = 0; d < 2; ++d) {
    const auto at = static_cast<int64_t>(d);
    const auto a = value_at<float>(words + at * stride);
    const auto b = value_at<float>(words + (at + 2) * stride);
    box.low[d] = is_centred ? a - b / 2 : smaller(a, b);
    box.high[d] = is_centred ? a + b / 2 : greater(a, b);
  }
  box.area = (box.high[0] - box.low[0]) * (box.high[1] - box.low[1]);
  return box;
}

// Which part of what two boxes cover they share.
float overlap_of(const Box& a, const Box& b) {
  float shared = 1;
  for (size_t d = 0; d < 2; ++d) {
    shared *= greater(smaller(a.high[d], b.high[d]) - greater(a.low[d], b.low[d]), 0);
  }
  const float both = a.area + b.area - shared;
  return both > 0 ? shared / both : 0;
}

// A score and its place in one number: the least is the best score, of equals the first. NaN comes
// behind all numbers.
uint64_t rank_of(float score, int64_t place) {
  constexpr uint32_t kSign = 0x80000000, kLast = 0xffffffff;
  const auto bits = std::bit_cast<uint32_t>(score + 0.0F);  // zeros are equal
  const uint32_t falling = (bits & kSign) != 0 ? bits : ~(bits | kSign);
  const uint32_t order = score != score ? kLast : falling;
  return uint64_t{order} << 32 | static_cast<uint32_t>(place);
}

void belongs(bool holds, const char* what) {
  if (!holds) {
    core::fail(core::ErrorCode::host_call, std::string("non-maximum suppression of ") + what);
  }
}

}  // namespace

bool non_max_suppression(const HostCall& call, std::span<BufferView> results, HostCalls& host) {
  belongs(call.arrays.size() == 5 && call.sizes.size() == 2 && results.size() == 1,
          "other arguments");
  const BufferView &boxes = call.arrays[0], &scores = call.arrays[1];
  belongs(boxes.dtype == core::DType::f32 && scores.dtype == core::DType::f32 && boxes.rank == 3 &&
              scores.rank == 3 && boxes.shape[2] == 4 && boxes.shape[0] == scores.shape[0] &&
              boxes.shape[1] == scores.shape[2] && boxes.shape[1] <= INT32_MAX,
          "boxes and scores that do not belong together");
  for (size_t k = 2; k < 5; ++k) {
    const BufferView& limit = call.arrays[k];
    belongs(limit.dtype == (k == 2 ? core::DType::i64 : core::DType::f32) &&
                (limit.rank == 0 || (limit.rank == 1 && limit.shape[0] > 0)),
            "limits that are no numbers");
  }
  const auto most = value_at<int64_t>(call.arrays[2].data);
  const auto overlap = value_at<float>(call.arrays[3].data),
             least = value_at<float>(call.arrays[4].data);
  const bool is_centred = call.sizes[0] != 0, has_least = call.sizes[1] != 0;
  const int64_t images = scores.shape[0], classes = scores.shape[1], places = scores.shape[2];
  std::vector<Box> all(static_cast<size_t>(places)), kept;
  std::vector<uint64_t> heap;
  std::vector<std::array<int64_t, 3>> found;
  for (int64_t n = 0; n < images; ++n) {
    const std::byte* words = boxes.data + n * boxes.strides[0];
    for (Box& box : all) {
      box = box_of(words, boxes.strides[2], is_centred);
      words += boxes.strides[1];
    }
    for (int64_t c = 0; c < classes; ++c) {
      heap.clear();
      kept.clear();
      const std::byte* at = scores.data + n * scores.strides[0] + c * scores.strides[1];
      for (int64_t k = 0; k < places; ++k, at += scores.strides[2]) {
        const auto score = value_at<float>(at);
        if (!has_least || score > least) heap.push_back(rank_of(score, k));
      }
      std::ranges::make_heap(heap, std::greater());
      while (!heap.empty() && static_cast<int64_t>(kept.size()) < most) {
        const auto place = static_cast<uint32_t>(heap.front());
        std::ranges::pop_heap(heap, std::greater());
        heap.pop_back();
        const Box& box = all[place];
        // Which is so of NaN, too, only so written.
        const bool is_apart = std::ranges::all_of(
            kept, [&](const Box& better) { return overlap_of(better, box) <= overlap; });
        if (!is_apart) continue;
        kept.push_back(box);
        found.push_back({n, c, place});
      }
    }
  }
  const int64_t shape[] = {static_cast<int64_t>(found.size()), 3};
  if (!host.allocate(core::DType::i64, shape, results[0])) return false;
  if (!found.empty()) std::memcpy(results[0].data, found.data(), found.size() * sizeof(found[0]));
  return true;
}

}  // namespace dvm::runtime
