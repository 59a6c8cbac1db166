// Lines of x for a product of windows (vm::WindowWords), copied with their padding so that the
// windows of adjacent positions are adjacent elements: rows of the right matrix then overlap each
// other in memory, and no element is copied once per element of a window. With steps along an axis
// the lines are dealt out into phases, one for each remainder that windows use.
//
// Columns of the product go on from line to line, also where lines are padding: those columns
// between lines are computed and left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/matmul/matmul_kernels.h"
#include "vm/isa/program.h"

namespace dvm::cpu {

class WindowLines {
 public:
  struct Room {
    int64_t rows;     // of the right matrix that are copied at a time, at most
    int64_t bytes;    // for those
    int64_t columns;  // of the product, with those between lines
    int64_t behind;   // columns that may be read behind the last one
  };

  using CopyLines = void (*)(const LineCopy& copy) noexcept;

  // Of elements of 4 or 8 bytes, which `copy_lines` copies.
  WindowLines(const vm::WindowWords& words, int64_t element, CopyLines copy_lines) noexcept;

  // Chooses lines from `column` on, of at most `most` columns; how many columns they have. None: a
  // single line has no room.
  int64_t choose(int64_t column, int64_t most, const Room& room) noexcept;
  // Of the lines chosen.
  int64_t width() const { return (lines_ - 1) * pitch_ + end_ - begin_; }

  // Rows [row, row + rows). Where each begins, in bytes from `lines` on, goes to `offsets`.
  void copy(const std::byte* x, int64_t row, int64_t rows, std::byte* lines,
            int32_t* offsets) const noexcept;

  // Calls f(at, count) for columns that are positions, which lie from column `at` of the product
  // on.
  template <typename F>
  void for_each_run(F f) const {
    for (int64_t i = 0; i < lines_; ++i) {
      const int64_t from = i == 0 ? begin_ : low_;
      const int64_t to = i == lines_ - 1 ? end_ : words_.axes[kAlong].positions;
      f(i * pitch_ + from - begin_, to - from);
    }
  }

 private:
  static constexpr int kAlong = vm::WindowWords::kAxes - 1, kAcross = kAlong - 1;

  // How elements of a window are dealt out along an axis.
  struct Phases {
    int64_t count, apart;  // remainders, and from one to the next
    int64_t most_shift;    // positions that a window reaches beyond its first element
    int64_t remainder(int64_t phase, const vm::WindowAxis& axis) const;
  };
  static Phases phases_of(const vm::WindowAxis& axis);
  class Element;
  // Of a line: its positions that are in x, and where in bytes the first one lies.
  struct Run {
    int64_t begin, count, from;
  };

  int64_t channel_elements() const {
    return words_.axes[0].window * across_.count * along_.count * phase_elements();
  }
  int64_t phase_elements() const { return (lines_ + across_.most_shift) * pitch_; }
  bool fits(const Room& room, int64_t channels) const;
  void place_rows(int64_t row, int64_t rows, int32_t* offsets) const;
  void copy_channels(const std::byte* x, int64_t channels, std::byte* lines) const;
  Run run_of(int64_t phase) const;
  void copy_phase(const std::byte* plane, int64_t phase, const Run& run, std::byte* to) const;
  void clear_lines(std::byte* to, int64_t lines) const;

  const vm::WindowWords& words_;
  const int64_t element_;
  const CopyLines copy_lines_;
  const Phases across_, along_;
  int64_t plane_ = 0, line_ = 0, lines_ = 0;
  // Positions along a line: all lines begin at `low`, the first one chosen at `begin`; the last one
  // ends at `end`.
  int64_t low_ = 0, begin_ = 0, end_ = 0;
  int64_t pitch_ = 0, behind_ = 0;
};

}  // namespace dvm::cpu
