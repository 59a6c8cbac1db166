#include "vm/encode/tied_zeros.h"

#include <algorithm>
#include <limits>

namespace dvm::vm {

namespace {

// Floats by their bits.
template <typename Bits>
class Zeros {
 public:
  explicit Zeros(const TileArgs& args)
      : src_(args.src[0]),
        rows_(args.m * args.size),
        size_(args.size),
        n_(args.n),
        step_(args.row_stride.value_or(args.n * int64_t{sizeof(Bits)})) {}

  bool tie(const Bits* extremes) const {
    const int64_t count = rows_ / size_ * n_;
    const auto is_zero = [](Bits x) { return x == kPlus || x == kMinus; };
    if (std::none_of(extremes, extremes + count, is_zero)) return false;
    // Mostly all zeros have one sign, which whole rows say faster than columns.
    if (!has(kMinus, 0, rows_) || !has(kPlus, 0, rows_)) return false;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = i / n_ * size_, column = i % n_;
      if (is_zero(extremes[i]) && holds(kMinus, row, column) && holds(kPlus, row, column)) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr Bits kPlus = 0,
                        kMinus = Bits(Bits{1} << (std::numeric_limits<Bits>::digits - 1));

  const Bits* row(int64_t i) const { return reinterpret_cast<const Bits*>(src_ + i * step_); }
  bool has(Bits zero, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) {
      const Bits* const p = row(i);
      bool found = false;
      for (int64_t k = 0; k < n_; ++k) found |= p[k] == zero;
      if (found) return true;
    }
    return false;
  }
  // In the column of one output.
  bool holds(Bits zero, int64_t begin, int64_t column) const {
    for (int64_t i = begin; i < begin + size_; ++i) {
      if (row(i)[column] == zero) return true;
    }
    return false;
  }

  const std::byte* src_;
  int64_t rows_, size_, n_, step_;
};

template <typename Bits>
bool tie(const TileArgs& args) {
  return Zeros<Bits>(args).tie(reinterpret_cast<const Bits*>(args.dst));
}

}  // namespace

bool has_tied_zeros(const Instruction& insn, const TileArgs& args) {
  switch (core::byte_size(insn.dtype)) {
    case 2:
      return tie<uint16_t>(args);
    case 4:
      return tie<uint32_t>(args);
    default:
      return tie<uint64_t>(args);
  }
}

}  // namespace dvm::vm
