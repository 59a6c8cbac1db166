#include "runtime/whole/by_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/ops/fp_flags.h"
#include "core/ops/scalar_ops.h"
#include "vm/tile/kernel.h"

namespace dvm::runtime {

namespace {

using core::DType;
using core::Op;
using vm::Insn;
using vm::TileArgs;
namespace scalar = core::scalar;

constexpr int64_t kBlock = 512;

vm::TileKernel kernel_of(const vm::KernelTable& kernels, Insn insn, DType dtype) {
  return kernels.at[static_cast<int>(insn)][static_cast<int>(dtype)];
}

// A kernel of two operands. What it is called with is made once: clearing it takes as long as a row
// of a hundred elements.
class Combine {
 public:
  explicit Combine(vm::TileKernel kernel, uint8_t aux = 0) : kernel_(kernel) {
    args_.m = args_.n = 1;
    args_.aux = aux;
  }

  // to[i] = y[i] with x[i]
  void operator()(const void* y, const void* x, void* to, int64_t size) {
    args_.dst = static_cast<std::byte*>(to);
    args_.src[0] = static_cast<const std::byte*>(y);
    args_.src[1] = static_cast<const std::byte*>(x);
    args_.size = size;
    kernel_(args_);
  }

 private:
  vm::TileKernel kernel_;
  TileArgs args_{};
};

// Extremes of `rows` adjacent rows of one size.
void reduce(vm::TileKernel kernel, const void* x, void* y, int64_t rows, int64_t size) {
  TileArgs args{};
  args.dst = static_cast<std::byte*>(y);
  args.src[0] = static_cast<const std::byte*>(x);
  args.m = rows;
  args.size = size;
  args.n = 1;
  args.aux = static_cast<uint8_t>(vm::ReduceOrder::lanes);
  kernel(args);
}

// What finds the extreme of a row, and where it is.
struct Search {
  vm::TileKernel extreme;
  vm::FindKernel find;

  template <typename T>
  int64_t place_of(T value, const T* row, int64_t size) const {
    int64_t place = 0;
    find({bytes_of(row), 1, size, bytes_of(&value), &place});
    return place;
  }
  static const std::byte* bytes_of(const void* p) { return static_cast<const std::byte*>(p); }
};

template <typename T, typename Beats>
int64_t find_extreme(const Search& search, const T* line, int64_t count, Beats beats) {
  constexpr int64_t kRows = 64, kRun = 4096 / int64_t{sizeof(T)};
  T extremes[kRows], value{};
  int64_t at = -1;
  for (int64_t begin = 0; begin < count;) {
    const int64_t size = std::min(kRun, count - begin);
    const int64_t rows = std::min(kRows, (count - begin) / size);
    reduce(search.extreme, line + begin, extremes, rows, size);
    for (int64_t k = 0; k < rows; ++k, begin += size) {
      const bool ordered = scalar::eq{}(extremes[k], extremes[k]);
      if (at >= 0 && ordered && !beats(extremes[k], value)) continue;
      at = begin;
      value = extremes[k];
      if (!ordered) return at + search.place_of(value, line + at, size);
    }
  }
  return at + search.place_of(value, line + at, std::min(kRun, count - at));
}

template <typename T, typename Beats>
void search_rows(const Search& search, const T* lines, int64_t rows, int64_t count, Places places,
                 Beats beats) {
  constexpr int64_t kRows = 64, kNear = 16384 / int64_t{sizeof(T)},
                    kLong = 4096 / int64_t{sizeof(T)};
  if (count > kLong) {
    for (int64_t i = 0; i < rows; ++i) {
      places[i] = find_extreme(search, lines + i * count, count, beats);
    }
    return;
  }
  // They are read again where they are.
  const int64_t most = std::clamp<int64_t>(kNear / count, 1, kRows);
  T extremes[kRows];
  int64_t found[kRows];
  for (int64_t begin = 0; begin < rows; begin += most) {
    const int64_t some = std::min(most, rows - begin);
    const T* block = lines + begin * count;
    reduce(search.extreme, block, extremes, some, count);
    search.find({Search::bytes_of(block), some, count, Search::bytes_of(extremes), found});
    for (int64_t k = 0; k < some; ++k) places[begin + k] = found[k];
  }
}

// The extremes first, and then, row by row, where they are. NaN equals nothing, so that what is
// left at the end are columns of which it is the extreme. Short rows that follow one another are
// worked on several at a time.
template <typename T>
class ColumnSearch {
 public:
  ColumnSearch(const std::byte* lines, int64_t count, int64_t side, int64_t step, Places places)
      : lines_(lines), count_(count), side_(side), step_(step), places_(places) {
    const bool dense = step == side * int64_t{sizeof(T)};
    together_ = dense ? std::min(kBlock / side, count) : 1;
  }

  void run(vm::TileKernel larger, vm::TileKernel compare) {
    find_extremes(Combine(larger));
    Combine are_equal(compare, static_cast<uint8_t>(vm::Compare::eq));
    for (int64_t j = 0; j < side_; ++j) places_[j] = -1;
    std::memset(open_, -1, static_cast<size_t>(together_ * side_));
    left_ = side_;
    for (int64_t i = 0; i < count_ && left_ > 0; i += together_) {
      const int64_t size = std::min(together_, count_ - i) * side_;
      are_equal(lines_ + i * step_, extremes_, equal_, size);
      std::memset(equal_ + size, 0, 7);
      note(i, size);
    }
    for (int64_t j = 0; j < side_ && left_ > 0; ++j) {
      if (places_[j] < 0) place(j, first_nan(j));
    }
  }

 private:
  // Of each column, once for each of the rows that are compared together.
  void find_extremes(Combine larger) {
    const auto row = [&](int64_t i) { return extremes_ + i * side_; };
    const auto bytes = static_cast<size_t>(side_) * sizeof(T);
    std::memcpy(extremes_, lines_, bytes * static_cast<size_t>(together_));
    for (int64_t i = together_; i < count_; i += together_) {
      const int64_t size = std::min(together_, count_ - i) * side_;
      larger(row(0), lines_ + i * step_, row(0), size);
    }
    for (int64_t rows = together_; rows > 1;) {
      const int64_t half = rows / 2;
      rows -= half;
      larger(row(0), row(rows), row(0), half * side_);
    }
    for (int64_t i = 1; i < together_; i *= 2) {
      std::memcpy(row(i), row(0), bytes * static_cast<size_t>(std::min(i, together_ - i)));
    }
  }

  void note(int64_t i, int64_t size) {
    for (int64_t word = 0; word < size; word += 8) {
      uint64_t eight, open;
      std::memcpy(&eight, equal_ + word, sizeof(eight));
      std::memcpy(&open, open_ + word, sizeof(open));
      for (eight &= open; eight != 0; eight &= eight - 1) {
        const int64_t at = word + std::countr_zero(eight) / 8;
        if (places_[at % side_] < 0) place(at % side_, i + at / side_);
      }
    }
  }

  void place(int64_t column, int64_t i) {
    places_[column] = i;
    --left_;
    for (int64_t row = 0; row < together_; ++row) open_[row * side_ + column] = 0;
  }

  int64_t first_nan(int64_t column) const {
    for (int64_t i = 0;; ++i) {
      const T x = reinterpret_cast<const T*>(lines_ + i * step_)[column];
      if (!scalar::eq{}(x, x)) return i;
    }
  }

  const std::byte* const lines_;
  const int64_t count_, side_, step_;
  const Places places_;
  int64_t together_, left_ = 0;
  alignas(64) T extremes_[kBlock];
  uint8_t equal_[kBlock + 8], open_[kBlock + 8];
};

// Bools stop at the first that is one thing or the other.
int64_t find_bool(vm::TileKernel any, const uint8_t* line, int64_t count, bool wanted) {
  if (!wanted) {
    const void* found = std::memchr(line, 0, static_cast<size_t>(count));
    return found ? static_cast<const uint8_t*>(found) - line : 0;
  }
  constexpr int64_t kRun = 16384;
  int64_t i = 0;
  for (; i + kRun <= count; i += kRun) {
    uint8_t found = 0;
    reduce(any, line + i, &found, 1, kRun);
    if (found != 0) break;
  }
  constexpr int64_t kWord = sizeof(uint64_t);
  for (uint64_t word = 0; i + kWord <= count; i += kWord) {
    std::memcpy(&word, line + i, sizeof(word));
    if (word != 0) break;
  }
  for (; i < count; ++i) {
    if (line[i] != 0) return i;
  }
  return 0;
}

// What commutes and associates with any elements of the dtype; extremes of floats do but for their
// NaNs and zeros.
bool is_free_of_order(Op with, DType dtype) {
  switch (with) {
    case Op::maximum:
    case Op::minimum:
    case Op::fmax:
    case Op::fmin:
      return true;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
      return !core::is_floating(dtype);
    default:
      return false;
  }
}

template <typename T>
bool is_zero_or_nan(const std::byte* at) {
  T x;
  std::memcpy(&x, at, sizeof(x));
  return scalar::eq{}(x, scalar::cast<T>(0)) || !scalar::eq{}(x, x);
}

}  // namespace

void find_in_rows(const vm::Target& target, Op op, DType dtype, const std::byte* lines,
                  int64_t rows, int64_t count, Places places) {
  const vm::KernelTable& kernels = *target.kernels();
  const bool largest = op == Op::argmax;
  if (dtype == DType::boolean) {
    const vm::TileKernel any = kernel_of(kernels, Insn::max, dtype);
    for (int64_t i = 0; i < rows; ++i, lines += count) {
      places[i] = find_bool(any, reinterpret_cast<const uint8_t*>(lines), count, largest);
    }
    return;
  }
  const Search search{kernel_of(kernels, largest ? Insn::max : Insn::min, dtype),
                      target.finds()->at[static_cast<int>(dtype)]};
  core::dispatch(dtype, [&]<DType D>() {
    const auto* x = reinterpret_cast<const core::Storage<D>*>(lines);
    if (largest) {
      search_rows(search, x, rows, count, places, scalar::gt{});
    } else {
      search_rows(search, x, rows, count, places, scalar::lt{});
    }
  });
}

void find_in_columns(const vm::KernelTable& kernels, Op op, DType dtype, const std::byte* lines,
                     int64_t count, int64_t side, int64_t step, Places places) {
  const Insn larger = op == Op::argmax ? Insn::maximum : Insn::minimum;
  core::dispatch(dtype, [&]<DType D>() {
    using T = core::Storage<D>;
    for (int64_t begin = 0; begin < side; begin += kBlock) {
      ColumnSearch<T>(lines + begin * int64_t{sizeof(T)}, count, std::min(kBlock, side - begin),
                      step, {&places[begin], places.step})
          .run(kernel_of(kernels, larger, D), kernel_of(kernels, Insn::cmp, D));
    }
  });
}

bool combine_rows(const vm::KernelTable& kernels, Op with, DType dtype, Rows<const std::byte> x,
                  Rows<std::byte> y, int64_t count, int64_t side) {
  const auto [insn, aux] = vm::insn_of(with).value();
  const vm::TileKernel kernel = kernel_of(kernels, insn, dtype);
  if (!kernel) return false;
  Combine combine(kernel, aux);
  for (; count > 0; --count, x.data += x.step, y.data += y.step) {
    combine(y.data, x.data, y.data + y.step, side);
  }
  return true;
}

bool fold_line(const vm::KernelTable& kernels, Op with, DType dtype, const std::byte* line,
               int64_t count, std::byte* y) {
  constexpr int64_t kLeast = 128;
  if (count < kLeast || !is_free_of_order(with, dtype)) return false;
  // What is subtracted one after the other is subtracted together.
  Combine last(kernel_of(kernels, vm::insn_of(with).value().insn, dtype));
  Combine combine = with == Op::sub ? Combine(kernel_of(kernels, Insn::add, dtype)) : last;
  const int64_t bytes = core::byte_size(dtype);
  alignas(64) std::byte totals[kBlock * 8];
  int64_t width =
      std::min(kBlock, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count))));
  std::memcpy(totals, line, static_cast<size_t>(width * bytes));
  for (int64_t i = width; i < count; i += width) {
    combine(totals, line + i * bytes, totals, std::min(width, count - i));
  }
  while ((width /= 2) > 0) combine(totals, totals + width * bytes, totals, width);
  std::byte total[8];
  std::memcpy(total, y, static_cast<size_t>(bytes));
  last(total, totals, total, 1);
  const bool is_float = core::is_floating(dtype);
  if (is_float &&
      core::dispatch(dtype, [&]<DType D>() { return is_zero_or_nan<core::Storage<D>>(total); }))
    return false;
  std::memcpy(y, total, static_cast<size_t>(bytes));
  return true;
}

}  // namespace dvm::runtime
