#include "cpu/matmul/windows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/math/integers.h"

namespace dvm::cpu {

namespace {

// Runs are often shorter than a call of memcpy is worth.
inline void copy_run(const std::byte* from, std::byte* to, size_t bytes) {
  constexpr size_t kChunk = 16;
  if (bytes < kChunk || bytes > 16 * kChunk) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (size_t i = 0; i + kChunk < bytes; i += kChunk) std::memcpy(to + i, from + i, kChunk);
  std::memcpy(to + bytes - kChunk, from + bytes - kChunk, kChunk);
}

template <size_t kBytes>
void copy_apart(const std::byte* from, int64_t stride, std::byte* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i, from += stride, to += kBytes) std::memcpy(to, from, kBytes);
}

// Every second element of 4 bytes, some at once; of what lies behind the last one nothing is read.
void copy_every_second(const std::byte* from, std::byte* to, int64_t count) {
  constexpr int64_t kFloat = 4, kAtOnce = 4;
  using Vector [[gnu::vector_size(16)]] = float;
  for (; count > kAtOnce; count -= kAtOnce) {
    Vector low, high;
    std::memcpy(&low, from, sizeof(low));
    std::memcpy(&high, from + sizeof(low), sizeof(high));
    const Vector chosen = __builtin_shufflevector(low, high, 0, 2, 4, 6);
    std::memcpy(to, &chosen, sizeof(chosen));
    from += 2 * kAtOnce * kFloat;
    to += kAtOnce * kFloat;
  }
  copy_apart<kFloat>(from, 2 * kFloat, to, count);
}

// The rows of a block, one after the other: a counter over channels and the elements of a window.
class Rows {
 public:
  Rows(const vm::WindowWords& words, const std::byte* x, const WindowBlock& block, int64_t element)
      : words_(words), x_(x), block_(block), element_(element) {
    int64_t row = block.row;
    for (int d = kAxes; d-- > 0; row /= words.axes[d].window) at_[d] = row % words.axes[d].window;
    channel_ = row;
    int64_t column = block.column;
    for (int d = kAxes; d-- > 0; column /= words.axes[d].positions)
      first_[d] = column % words.axes[d].positions;
  }

  void take(std::byte* to) {
    const vm::WindowAxis& along = words_.axes[kAxes - 1];
    const int64_t step = along.step * along.stride;
    for_each_run([&](const std::byte* from, int64_t count) {
      const int64_t bytes = count * element_;
      if (from == nullptr) {
        std::memset(to, 0, static_cast<size_t>(bytes));
      } else {
        copy_elements(from, step, to, count, element_);
      }
      to += bytes;
    });
    advance();
  }

 private:
  static constexpr int kAxes = vm::WindowWords::kAxes;

  // Where elements along the last axis lie, for positions along the others.
  std::pair<const std::byte*, bool> find_line(const std::byte* channel,
                                              const int64_t (&outer)[2]) const {
    for (int d = 0; d < 2; ++d) {
      const vm::WindowAxis& axis = words_.axes[d];
      const int64_t at = outer[d] * axis.step + at_[d] * axis.dilation - axis.before;
      if (at < 0 || at >= axis.size) return {nullptr, false};
      channel += at * axis.stride;
    }
    return {channel, true};
  }

  // Calls f(from, count) for positions whose elements lie `step` apart, and f(nullptr, count) for
  // zeros.
  template <typename F>
  void for_each_run(F f) const {
    const vm::WindowAxis& along = words_.axes[kAxes - 1];
    // Positions whose element is in x are [begin, end).
    const int64_t shift = at_[kAxes - 1] * along.dilation - along.before;
    const int64_t begin = shift >= 0 ? 0 : core::ceil_div(-shift, along.step);
    const int64_t last = along.size - 1 - shift;
    const int64_t end = last < 0 ? 0 : last / along.step + 1;
    const std::byte* const channel = x_ + channel_ * words_.channel_stride;
    int64_t outer[2] = {first_[0], first_[1]}, from = first_[2];
    for (int64_t left = block_.columns; left > 0;) {
      const int64_t stop = from + std::min(along.positions - from, left);
      const auto [line, is_there] = find_line(channel, outer);
      const int64_t low = std::clamp(begin, from, stop);
      const int64_t high = is_there ? std::clamp(end, low, stop) : low;
      if (low != from) f(nullptr, low - from);
      if (high != low) f(line + (low * along.step + shift) * along.stride, high - low);
      if (high != stop) f(nullptr, stop - high);
      left -= stop - from;
      from = 0;
      if (++outer[1] == words_.axes[1].positions) outer[1] = 0, ++outer[0];
    }
  }

  void advance() {
    for (int d = kAxes; d-- > 0;) {
      if (++at_[d] != words_.axes[d].window) return;
      at_[d] = 0;
    }
    ++channel_;
  }

  const vm::WindowWords& words_;
  const std::byte* const x_;
  const WindowBlock block_;
  const int64_t element_;
  int64_t channel_ = 0, at_[kAxes], first_[kAxes];
};

}  // namespace

void copy_elements(const std::byte* from, int64_t stride, std::byte* to, int64_t count,
                   int64_t element) noexcept {
  if (stride == element) return copy_run(from, to, static_cast<size_t>(count * element));
  switch (element) {
    case 1:
      return copy_apart<1>(from, stride, to, count);
    case 2:
      return copy_apart<2>(from, stride, to, count);
    case 4:
      return stride == 8 ? copy_every_second(from, to, count)
                         : copy_apart<4>(from, stride, to, count);
    default:
      return copy_apart<8>(from, stride, to, count);
  }
}

void copy_windows(const vm::WindowWords& words, const std::byte* x, const WindowBlock& block,
                  int64_t element, std::byte* out, int64_t out_stride) noexcept {
  Rows rows(words, x, block, element);
  for (int64_t k = 0; k < block.rows; ++k, out += out_stride) rows.take(out);
}

}  // namespace dvm::cpu
