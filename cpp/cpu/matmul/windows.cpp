#include "cpu/matmul/windows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/math/integers.h"
#include "cpu/move/copy_elements.h"

namespace dvm::cpu {

namespace {

// The rows of a block, one after the other: a counter over channels and the elements of a window.
template <typename T>
class Rows {
 public:
  Rows(const vm::WindowWords& words, const std::byte* x, const WindowBlock& block)
      : words_(words), x_(x), block_(block) {
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
      const int64_t bytes = count * int64_t{sizeof(T)};
      if (from == nullptr) {
        std::memset(to, 0, static_cast<size_t>(bytes));
      } else {
        copy_elements<T>(from, step, to, count);
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
  int64_t channel_ = 0, at_[kAxes], first_[kAxes];
};

template <typename T>
void copy_rows(const vm::WindowWords& words, const std::byte* x, const WindowBlock& block,
               std::byte* out, int64_t out_stride) {
  Rows<T> rows(words, x, block);
  for (int64_t k = 0; k < block.rows; ++k, out += out_stride) rows.take(out);
}

}  // namespace

void copy_windows(const vm::WindowWords& words, const std::byte* x, const WindowBlock& block,
                  int64_t element, std::byte* out, int64_t out_stride) noexcept {
  switch (element) {
    case 1:
      return copy_rows<uint8_t>(words, x, block, out, out_stride);
    case 2:
      return copy_rows<uint16_t>(words, x, block, out, out_stride);
    case 4:
      return copy_rows<uint32_t>(words, x, block, out, out_stride);
    default:
      return copy_rows<uint64_t>(words, x, block, out, out_stride);
  }
}

}  // namespace dvm::cpu
