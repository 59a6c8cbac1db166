#include "vm/encode/cube_program.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/math/integers.h"
#include "vm/encode/program_sketch.h"

namespace dvm::vm {

namespace {

constexpr size_t kInL1 = kTurnsInL1, kInL0 = kTurnsInL0;

using core::ceil_div;

class CubeEncoder {
 public:
  CubeEncoder(const Contraction& product, const CubeTiling& tiling, const TargetTraits& target)
      : product_(product), tiling_(tiling), sketch_(target, grid()) {
    const auto take = [&](std::vector<Operand>& turns, size_t count, int64_t rows, int64_t columns,
                          Space space) {
      for (size_t k = 0; k < count; ++k) {
        turns.push_back(
            sketch_.slot(in_fractals(rows) * in_fractals(columns), product_.source, space));
      }
    };
    take(a_in_l1_, kInL1, tiling_.m, tiling_.k, Space::l1);
    take(b_in_l1_, kInL1, tiling_.k, tiling_.n, Space::l1);
    take(a_in_l0_, kInL0, tiling_.m, tiling_.k, Space::l0a);
    take(b_in_l0_, kInL0, tiling_.k, tiling_.n, Space::l0b);
    sums_ =
        sketch_.slot(in_fractals(tiling_.m) * in_fractals(tiling_.n), product_.dtype, Space::l0c);
  }

  Program run(std::span<uint64_t> words) {
    for (const Global& global : product_.globals()) sketch_.add_global(global);
    const int64_t whole = product_.k.size / tiling_.k, rest = product_.k.size % tiling_.k;
    const int64_t turns = whole / static_cast<int64_t>(kInL1);
    int64_t step = 0;
    if (turns > 1) {
      sketch_.begin_loop(turns);
      in_loop_ = true;
      for (; step < static_cast<int64_t>(kInL1); ++step) multiply(step, tiling_.k);
      sketch_.end_loop();
      in_loop_ = false;
      step = turns * static_cast<int64_t>(kInL1);
    }
    for (; step < whole; ++step) multiply(step, tiling_.k);
    if (rest != 0) multiply(step, rest);
    drain();
    return sketch_.finish(words, product_.handed != 0 ? product_.result : -1);
  }

 private:
  using Stride = int64_t ContractionDim::*;
  static int64_t in_fractals(int64_t side) { return core::round_up(side, 16); }

  int64_t rows() const { return ceil_div(product_.m.size, tiling_.m); }
  int64_t columns() const { return ceil_div(product_.n.size, tiling_.n); }
  // The dims of the grid behind the batches: bands, positions along a band, and across it; the last
  // is left out where it has one.
  std::vector<int64_t> grid() const {
    std::vector<int64_t> sizes;
    for (int d = 0; d < product_.batch_rank; ++d) sizes.push_back(product_.batch[d].size);
    const auto& [by_columns, width] = tiling_.order;
    sizes.push_back((by_columns ? columns() : rows()) / width);
    sizes.push_back(by_columns ? rows() : columns());
    if (width != 1) sizes.push_back(width);
    return sizes;
  }
  // Of a stream that moves so many bytes from one tile of rows, and of columns, to the next.
  std::vector<int64_t> strides(Stride of) const {
    if (of == &ContractionDim::result && product_.handed != 0)
      return std::vector<int64_t>(grid().size());
    std::vector<int64_t> bytes;
    for (int d = 0; d < product_.batch_rank; ++d) bytes.push_back(product_.batch[d].*of);
    const auto& [by_columns, width] = tiling_.order;
    const int64_t m = product_.m.*of * tiling_.m, n = product_.n.*of * tiling_.n;
    bytes.push_back((by_columns ? n : m) * width);
    bytes.push_back(by_columns ? m : n);
    if (width != 1) bytes.push_back(by_columns ? n : m);
    return bytes;
  }

  // A side of a tile, and the axis of the grid along which its last tile may be shorter.
  struct Side {
    const ContractionDim& dim;
    int64_t tile;
    std::optional<int> axis;
    uint32_t last() const { return static_cast<uint32_t>((dim.size - 1) % tile + 1); }
    bool ends_short() const { return axis && dim.size % tile != 0; }
  };
  Side side_m() const { return {product_.m, tiling_.m, axis(!tiling_.order.by_columns)}; }
  Side side_n() const { return {product_.n, tiling_.n, axis(tiling_.order.by_columns)}; }
  Side side_k(int64_t steps) const { return {product_.k, steps, std::nullopt}; }
  int axis(bool across_bands) const {
    const int innermost = tiling_.order.width == 1 ? 0 : 1;
    return innermost + (across_bands ? 1 : 0);
  }
  // `times` elements for each position along the side.
  static void add_tail(Instruction& fixed, std::vector<Tail>& tails, int extent, const Side& side,
                       int64_t times = 1) {
    if (!side.ends_short()) return;
    const auto value = static_cast<uint32_t>(side.last() * times);
    if (*side.axis == 0) {
      fixed.split = static_cast<uint8_t>(extent);
      fixed.tail = value;
    } else {
      tails.push_back({.extent = static_cast<uint8_t>(extent),
                       .axis = static_cast<uint8_t>(*side.axis),
                       .value = value});
    }
  }

  // One step of k: both factors into their next slots, and their product to the sums.
  void multiply(int64_t step, int64_t deep) {
    const auto l1 = static_cast<size_t>(step) % kInL1, l0 = static_cast<size_t>(step) % kInL0;
    move(Insn::view_load, product_.a, &ContractionDim::a, step, a_in_l1_[l1], side_m(),
         side_k(deep));
    move(Insn::view_load, product_.b, &ContractionDim::b, step, b_in_l1_[l1], side_k(deep),
         side_n());
    feed(a_in_l0_[l0], a_in_l1_[l1], side_m(), deep);
    feed(b_in_l0_[l0], b_in_l1_[l1], side_n(), deep);

    Instruction fixed{.insn = Insn::matmul, .dtype = product_.dtype};
    fixed.m = static_cast<uint32_t>(tiling_.m);
    fixed.size = static_cast<uint32_t>(deep);
    fixed.n = static_cast<uint32_t>(tiling_.n);
    MatrixAux aux{.source = product_.source};
    if (step == 0) {
      if (in_loop_) aux.loop = 0;
    } else {
      aux.always = true;
    }
    fixed.aux = aux.code(product_.dtype);
    std::vector<Tail> tails;
    add_tail(fixed, tails, static_cast<int>(Split::m), side_m());
    add_tail(fixed, tails, static_cast<int>(Split::n), side_n());
    sketch_.append(fixed, {sums_, a_in_l0_[l0], b_in_l0_[l0]}, {}, std::move(tails));
  }

  // A load of a step, or the store of the sums.
  void move(Insn insn, int global, Stride of, int64_t step, const Operand& slot, const Side& rows,
            const Side& columns) {
    Instruction fixed{.insn = insn,
                      .dtype = insn == Insn::drain ? product_.dtype : product_.source};
    fixed.size = static_cast<uint32_t>(rows.tile * columns.tile);
    const int64_t along_k = product_.k.*of * tiling_.k;
    const Operand stream = sketch_.stream(global, along_k * step, strides(of),
                                          in_loop_ ? along_k * static_cast<int64_t>(kInL1) : 0);
    std::vector<Tail> tails;
    add_tail(fixed, tails, 1, rows);
    add_tail(fixed, tails, 2, columns);
    const std::vector<Operand> operands = insn == Insn::drain ? std::vector<Operand>{stream, slot}
                                                              : std::vector<Operand>{slot, stream};
    sketch_.append(fixed, operands, {{rows.tile, rows.dim.*of}, {columns.tile, columns.dim.*of}},
                   std::move(tails));
  }
  void feed(const Operand& to, const Operand& from, const Side& side, int64_t deep) {
    Instruction fixed{.insn = Insn::feed, .dtype = product_.source};
    fixed.size = static_cast<uint32_t>(side.tile * deep);
    std::vector<Tail> tails;
    add_tail(fixed, tails, static_cast<int>(Split::size), side, deep);
    sketch_.append(fixed, {to, from}, {}, std::move(tails));
  }
  void drain() {
    move(Insn::drain, product_.result, &ContractionDim::result, 0, sums_, side_m(), side_n());
  }

  const Contraction& product_;
  const CubeTiling& tiling_;
  ProgramSketch sketch_;
  std::vector<Operand> a_in_l1_, b_in_l1_, a_in_l0_, b_in_l0_;
  Operand sums_;
  bool in_loop_ = false;
};

}  // namespace

Program encode_cube(const Contraction& product, const CubeTiling& tiling,
                    const TargetTraits& target, std::span<uint64_t> words) {
  return CubeEncoder(product, tiling, target).run(words);
}

}  // namespace dvm::vm
