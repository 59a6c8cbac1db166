#include "cpu/matmul/window_lines.h"

#include <cstring>
#include <numeric>

#include "core/math/integers.h"

namespace dvm::cpu {

using core::ceil_div;

WindowLines::Phases WindowLines::phases_of(const vm::WindowAxis& axis) {
  const int64_t apart = axis.step == 1 ? 1 : std::gcd(axis.step, axis.dilation);
  return {std::min(axis.step / apart, axis.window), apart,
          (axis.window - 1) * axis.dilation / axis.step};
}
// Windows with fewer elements than remainders have one of their own for each.
int64_t WindowLines::Phases::remainder(int64_t phase, const vm::WindowAxis& axis) const {
  return axis.window > count ? phase * apart : phase * axis.dilation % axis.step;
}

// The elements of a window along an axis, in order: where each lies.
class WindowLines::Element {
 public:
  Element(const vm::WindowAxis& axis, const Phases& phases) : axis_(axis), phases_(phases) {}

  int64_t phase() const {
    if (phases_.count == 1) return 0;
    return axis_.window > phases_.count ? remainder_ / phases_.apart : at_;
  }
  int64_t shift() const { return shift_; }
  bool is_first() const { return at_ == 0; }
  // Behind the last one comes the first one again: false.
  bool advance() {
    if (++at_ == axis_.window) {
      at_ = shift_ = remainder_ = 0;
      return false;
    }
    remainder_ += axis_.dilation;
    for (; remainder_ >= axis_.step; remainder_ -= axis_.step) ++shift_;
    return true;
  }
  void skip(int64_t count) {
    for (int64_t i = 0; i < count; ++i) advance();
  }

 private:
  const vm::WindowAxis& axis_;
  const Phases& phases_;
  int64_t at_ = 0, shift_ = 0, remainder_ = 0;
};

WindowLines::WindowLines(const vm::WindowWords& words, int64_t element,
                         CopyLines copy_lines) noexcept
    : words_(words),
      element_(element),
      copy_lines_(copy_lines),
      across_(phases_of(words.axes[kAcross])),
      along_(phases_of(words.axes[kAlong])) {}

// Numbers of windows that reach far have no room in 64 bits, but here.
bool WindowLines::fits(const Room& room, int64_t channels) const {
  const auto pitch = static_cast<double>(pitch_), lines = static_cast<double>(lines_);
  const double elements = static_cast<double>(channels * words_.axes[0].window) *
                          static_cast<double>(across_.count * along_.count) *
                          (lines + static_cast<double>(across_.most_shift)) * pitch;
  const double bytes =
      (elements + static_cast<double>(room.behind)) * static_cast<double>(element_);
  return bytes <= static_cast<double>(room.bytes) &&
         (lines - 1) * pitch + static_cast<double>(end_ - begin_) <=
             static_cast<double>(room.columns);
}

// The largest number up to `most` that `fits`, as all smaller ones do; 0: none does.
template <typename F>
static int64_t largest(int64_t most, F fits) {
  if (fits(most)) return most;
  int64_t fit = 0;
  for (int64_t none = most; none - fit > 1;) {
    const int64_t middle = fit + (none - fit) / 2;
    (fits(middle) ? fit : none) = middle;
  }
  if (fit > 0) fits(fit);
  return fit;
}

int64_t WindowLines::choose(int64_t column, int64_t most, const Room& room) noexcept {
  const vm::WindowAxis &across = words_.axes[kAcross], &along = words_.axes[kAlong];
  const int64_t positions = along.positions, line = column / positions;
  begin_ = column - line * positions;
  plane_ = line / across.positions;
  line_ = line - plane_ * across.positions;
  behind_ = room.behind;
  // Rows of B may begin and end within a channel.
  const int64_t channels = ceil_div(room.rows, words_.elements()) + 1;
  low_ = 0;
  pitch_ = positions + along_.most_shift;
  const int64_t left = std::min(across.positions - line_, ceil_div(begin_ + most, positions));
  const int64_t lines = largest(left, [&](int64_t count) {
    lines_ = count;
    end_ = std::min(positions, begin_ + most - (count - 1) * positions);
    return fits(room, channels);
  });
  if (lines > 1) return std::min(most, lines * positions - begin_);
  // Of a single line no more than is needed.
  low_ = begin_;
  lines_ = 1;
  return largest(std::min(most, positions - begin_), [&](int64_t count) {
    end_ = begin_ + count;
    pitch_ = count + along_.most_shift;
    return fits(room, channels);
  });
}

void WindowLines::copy(const std::byte* x, int64_t row, int64_t rows, std::byte* lines,
                       int32_t* offsets) const noexcept {
  const int64_t elements = words_.elements(), first = row / elements;
  const int64_t channels = (row + rows - 1) / elements - first + 1;
  x += first * words_.channel_stride;
  copy_channels(x, channels, lines);
  place_rows(row - first * elements, rows, offsets);
}

// Those of a channel by counting, and those of the next ones behind them.
void WindowLines::place_rows(int64_t row, int64_t rows, int32_t* offsets) const {
  const vm::WindowAxis &across = words_.axes[kAcross], &along = words_.axes[kAlong];
  const int64_t plane = across_.count * along_.count * phase_elements();
  Element k(along, along_), j(across, across_);
  const int64_t line = row / along.window, elements = words_.elements();
  k.skip(row % along.window);
  j.skip(line % across.window);
  int64_t at = line / across.window * plane + begin_ - low_, i = 0;
  for (const int64_t counted = std::min(rows, elements); i < counted;) {
    const int64_t begin = at + (j.phase() * along_.count * phase_elements()) + j.shift() * pitch_;
    do {
      const int64_t from = begin + k.phase() * phase_elements() + k.shift();
      offsets[i++] = static_cast<int32_t>(from * element_);
    } while (k.advance() && i < counted);
    if (k.is_first() && !j.advance()) at += plane;
  }
  const auto channel = static_cast<int32_t>(channel_elements() * element_);
  for (; i < rows; ++i) offsets[i] = offsets[i - elements] + channel;
}

void WindowLines::copy_channels(const std::byte* x, int64_t channels, std::byte* lines) const {
  const vm::WindowAxis& planes = words_.axes[0];
  const int64_t phase_bytes = phase_elements() * element_, all_lines = lines_ + across_.most_shift;
  for (int64_t q = 0; q < along_.count; ++q) {
    const Run run = run_of(q);
    std::byte* to = lines + q * phase_bytes;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < planes.window; ++i) {
        const int64_t at = plane_ * planes.step + i * planes.dilation - planes.before;
        const bool is_there = at >= 0 && at < planes.size;
        for (int64_t p = 0; p < across_.count; ++p, to += along_.count * phase_bytes) {
          if (is_there) {
            copy_phase(x + c * words_.channel_stride + at * planes.stride, p, run, to);
          } else {
            clear_lines(to, all_lines);
          }
        }
      }
    }
  }
  std::memset(lines + channels * channel_elements() * element_, 0,
              static_cast<size_t>(behind_ * element_));
}

void WindowLines::copy_phase(const std::byte* plane, int64_t phase, const Run& run,
                             std::byte* to) const {
  const vm::WindowAxis &across = words_.axes[kAcross], &along = words_.axes[kAlong];
  const int64_t lines = lines_ + across_.most_shift, line_bytes = pitch_ * element_;
  const int64_t first = line_ * across.step + across_.remainder(phase, across) - across.before;
  const auto reach = [&](int64_t at) {
    return std::clamp<int64_t>(ceil_div(std::max<int64_t>(at - first, 0), across.step), 0, lines);
  };
  const int64_t begin = reach(0), end = std::max(begin, reach(across.size));
  clear_lines(to, begin);
  if (end > begin) {
    copy_lines_({.from = plane + (first + begin * across.step) * across.stride + run.from,
                 .from_line = across.step * across.stride,
                 .from_step = along.step * along.stride,
                 .to = to + begin * line_bytes,
                 .to_line = line_bytes,
                 .begin = run.begin,
                 .count = run.count,
                 .pitch = pitch_,
                 .lines = end - begin});
  }
  clear_lines(to + end * line_bytes, lines - end);
}

void WindowLines::clear_lines(std::byte* to, int64_t lines) const {
  if (lines > 0) std::memset(to, 0, static_cast<size_t>(lines * pitch_ * element_));
}

WindowLines::Run WindowLines::run_of(int64_t phase) const {
  const vm::WindowAxis& along = words_.axes[kAlong];
  const int64_t first = low_ * along.step + along_.remainder(phase, along) - along.before;
  // Positions from `low` on whose element is at `at` or behind it.
  const auto reach = [&](int64_t at) {
    return std::clamp<int64_t>(ceil_div(std::max<int64_t>(at - first, 0), along.step), 0, pitch_);
  };
  const int64_t begin = reach(0), end = std::max(begin, reach(along.size));
  return {begin, end - begin, (first + begin * along.step) * along.stride};
}

}  // namespace dvm::cpu
