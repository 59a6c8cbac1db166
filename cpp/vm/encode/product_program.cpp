#include "vm/encode/product_program.h"

#include <algorithm>

#include "core/math/integers.h"
#include "vm/isa/program_builder.h"

namespace dvm::vm {

namespace {

class ProductEncoder {
 public:
  ProductEncoder(const Contraction& product, const ProductTiling& tiling,
                 const TargetTraits& target)
      : product_(product), tiling_(tiling), target_(target), matrices_(product) {}

  Program run(std::span<uint64_t> words) {
    const bool in_place = matrices_.are_in_place(target_);
    int64_t grid[kMaxRank];
    int rank = 0;
    if (in_parts_) grid[rank++] = steps_;
    for (int d = 0; d < product_.batch_rank; ++d) grid[rank++] = product_.batch[d].size;
    grid[rank++] = core::ceil_div(product_.m.size, tiling_.m);
    grid[rank++] = core::ceil_div(product_.n.size, tiling_.n);
    const std::span<const int64_t> loops(&steps_, in_place ? 0 : 1);
    ProgramBuilder builder(target_, words, {grid, static_cast<size_t>(rank)}, loops);
    add_globals(builder);
    if (in_place) {
      multiply_in_place(builder);
    } else {
      multiply_in_slots(builder);
    }
    return builder.finish(static_cast<uint32_t>(target_.reserve_bytes));
  }

 private:
  using Stride = int64_t ContractionDim::*;
  static constexpr int kLoop = 0;

  void add_globals(ProgramBuilder& builder) const {
    std::vector<Global> globals = product_.globals();
    if (in_parts_) globals[static_cast<size_t>(product_.result)].high *= steps_;
    for (const Global& global : globals) builder.add_global(global);
  }

  Operand stream(ProgramBuilder& builder, int global, Stride of, bool in_loop) const {
    int64_t strides[kMaxRank + 1];
    size_t axes = 0;
    if (in_parts_) {
      strides[axes++] = of == &ContractionDim::result ? dense_result() : product_.k.*of * tiling_.k;
    }
    for (int d = 0; d < product_.batch_rank; ++d) strides[axes++] = product_.batch[d].*of;
    const bool packed = of == &ContractionDim::b && product_.packed_column != 0;
    const bool stays = (of == &ContractionDim::result && product_.handed != 0) ||
                       (of == &ContractionDim::a && product_.made != 0);
    const int64_t n = packed ? product_.packed_column : product_.n.*of;
    strides[axes++] = stays ? 0 : product_.m.*of * tiling_.m;
    strides[axes++] = stays ? 0 : n * tiling_.n;
    if (in_loop) strides[axes++] = product_.k.*of * tiling_.k;
    return builder.stream(global, 0, {strides, axes});
  }

  // Bytes of the result of a part, behind which those of the next one lie.
  int64_t dense_result() const {
    return product_.batches() * product_.m.size * product_.n.size * core::byte_size(product_.dtype);
  }

  // The extents of an instruction, by the numbers they have in it, and the axis of each.
  struct Cut {
    int extent;
    int axis;
    const ContractionDim& dim;
    int64_t tile;
    uint32_t last() const {
      return static_cast<uint32_t>(dim.size - (core::ceil_div(dim.size, tile) - 1) * tile);
    }
    bool ends_short() const { return dim.size % tile != 0; }
  };
  Cut along_m(int extent) const { return {extent, 1, product_.m, tiling_.m}; }
  Cut along_n(int extent) const { return {extent, 0, product_.n, tiling_.n}; }
  Cut along_k(int extent) const { return {extent, kFirstLoopAxis + kLoop, product_.k, tiling_.k}; }

  // In the order of extents.
  static size_t set_tails(Instruction& fixed, std::initializer_list<Cut> cuts, Tail* tails) {
    size_t count = 0;
    for (const Cut& cut : cuts) {
      if (!cut.ends_short()) continue;
      if (cut.axis == 0) {
        fixed.split = static_cast<uint8_t>(cut.extent);
        fixed.tail = cut.last();
      } else {
        tails[count++] = {.extent = static_cast<uint8_t>(cut.extent),
                          .axis = static_cast<uint8_t>(cut.axis),
                          .value = cut.last()};
      }
    }
    return count;
  }

  Instruction matmul() const {
    Instruction fixed{.insn = Insn::matmul, .dtype = product_.dtype};
    fixed.m = static_cast<uint32_t>(tiling_.m);
    fixed.size = static_cast<uint32_t>(tiling_.k);
    fixed.n = static_cast<uint32_t>(tiling_.n);
    return fixed;
  }

  void multiply_in_place(ProgramBuilder& builder) const {
    Instruction fixed = matmul();
    fixed.aux =
        MatrixAux{.loop = {}, .source = product_.source, .precision = product_.precision}.code(
            product_.dtype);
    Tail tails[kMaxMoreTails];
    const Cut parts{static_cast<int>(Split::size), product_.batch_rank + 2, product_.k, tiling_.k};
    const size_t count = set_tails(
        fixed, {along_m(static_cast<int>(Split::m)), parts, along_n(static_cast<int>(Split::n))},
        tails);
    const Operand result = stream(builder, product_.result, &ContractionDim::result, false);
    const Operand a = stream(builder, product_.a, &ContractionDim::a, false);
    const Operand b = stream(builder, product_.b, &ContractionDim::b, false);
    const Operand left = *matrices_.a.in_place(a), sums = *matrices_.result.in_place(result);
    if (product_.windows) {
      const Operand operands[] = {sums, left, {.mode = Mode::windows, .index = b.index}};
      builder.append_product(fixed, operands, *product_.windows, {}, {tails, count});
    } else {
      const bool is_packed = product_.packed_column != 0;
      const Operand operands[] = {sums, left, is_packed ? packed(b) : *matrices_.b.in_place(b)};
      builder.append(fixed, operands, {}, {}, {tails, count});
    }
  }

  Operand packed(const Operand& stream) const {
    return {Mode::packed, 0, stream.index, static_cast<uint32_t>(product_.packed_column)};
  }

  void multiply_in_slots(ProgramBuilder& builder) const {
    const Operand in_l0a = slot_operand(0, Space::l0a), in_l0b = slot_operand(0, Space::l0b),
                  in_l0c = slot_operand(0, Space::l0c);
    builder.begin_loop();
    move(builder, Insn::view_load, {in_l0a, stream(builder, product_.a, &ContractionDim::a, true)},
         product_.source, along_m(1), along_k(2), &ContractionDim::a);
    move(builder, Insn::view_load, {in_l0b, stream(builder, product_.b, &ContractionDim::b, true)},
         product_.source, along_k(1), along_n(2), &ContractionDim::b);
    Instruction fixed = matmul();
    fixed.aux = MatrixAux{.loop = kLoop, .source = product_.source}.code(product_.dtype);
    Tail tails[kMaxMoreTails];
    const size_t count =
        set_tails(fixed,
                  {along_m(static_cast<int>(Split::m)), along_k(static_cast<int>(Split::size)),
                   along_n(static_cast<int>(Split::n))},
                  tails);
    builder.append(fixed, std::initializer_list<Operand>{in_l0c, in_l0a, in_l0b}, {}, {},
                   {tails, count});
    builder.end_loop();
    move(builder, Insn::drain,
         {stream(builder, product_.result, &ContractionDim::result, true), in_l0c}, product_.dtype,
         along_m(1), along_n(2), &ContractionDim::result);
  }

  void move(ProgramBuilder& builder, Insn insn, std::initializer_list<Operand> operands,
            DType dtype, const Cut& rows, const Cut& columns, Stride of) const {
    Instruction fixed{.insn = insn, .dtype = dtype};
    fixed.size = static_cast<uint32_t>(rows.tile * columns.tile);
    const ViewDim dims[] = {{rows.tile, rows.dim.*of}, {columns.tile, columns.dim.*of}};
    Tail tails[kMaxMoreTails];
    const size_t count = set_tails(fixed, {rows, columns}, tails);
    builder.append(fixed, operands, {}, dims, {tails, count});
  }

  const Contraction& product_;
  const ProductTiling& tiling_;
  const TargetTraits& target_;
  const Matrices matrices_;
  const int64_t steps_ = core::ceil_div(product_.k.size, tiling_.k);
  const bool in_parts_ = adds_up_parts(product_, tiling_, target_);
};

}  // namespace

Program encode_product(const Contraction& product, const ProductTiling& tiling,
                       const TargetTraits& target, std::span<uint64_t> words) {
  return ProductEncoder(product, tiling, target).run(words);
}

}  // namespace dvm::vm
