#include "vm/encode/product_program.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "vm/isa/program_builder.h"

namespace dvm::vm {

namespace {

int64_t tiles_of(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

// A matrix in memory: its size, and the bytes from one row and from one column to the next.
struct Matrix {
  int64_t rows, columns;
  int64_t row_stride, column_stride;
  DType dtype;

  int64_t element() const { return core::byte_size(dtype); }
  // What a stream that lies so is for an instruction; none where it lies in neither way.
  std::optional<Operand> in_place(const Operand& stream) const {
    const auto fits = [](int64_t stride) {
      return stride > 0 && stride <= std::numeric_limits<uint32_t>::max();
    };
    const auto lies = [&](Mode mode, int64_t stride) {
      return Operand{mode, 0, stream.index, static_cast<uint32_t>(stride)};
    };
    if (columns == 1 || column_stride == element()) {
      const int64_t stride = rows == 1 ? columns * element() : row_stride;
      if (fits(stride)) return lies(Mode::rows, stride);
    }
    if (rows == 1 || row_stride == element()) {
      const int64_t stride = columns == 1 ? rows * element() : column_stride;
      if (fits(stride)) return lies(Mode::columns, stride);
    }
    return std::nullopt;
  }
};

// The three matrices of a product.
struct Matrices {
  explicit Matrices(const Contraction& of)
      : a{of.m.size, of.k.size, of.m.a, of.k.a, of.source},
        b{of.k.size, of.n.size, of.k.b, of.n.b, of.source},
        result{of.m.size, of.n.size, of.m.result, of.n.result, of.dtype} {}

  // Whether instructions of the target can read and write them where they lie.
  bool are_in_place(const TargetTraits& target) const {
    const Operand any{.mode = Mode::stream};
    const auto written = result.in_place(any);
    return target.streams && a.dtype == result.dtype && a.in_place(any) && b.in_place(any) &&
           written && written->mode == Mode::rows;
  }

  Matrix a, b, result;
};

class ProductEncoder {
 public:
  ProductEncoder(const Contraction& product, const ProductTiling& tiling,
                 const TargetTraits& target)
      : product_(product), tiling_(tiling), target_(target), matrices_(product) {}

  Program run(std::span<uint64_t> words) {
    const bool in_place = matrices_.are_in_place(target_);
    int64_t grid[kMaxRank];
    int rank = 0;
    for (; rank < product_.batch_rank; ++rank) grid[rank] = product_.batch[rank].size;
    grid[rank++] = tiles_of(product_.m.size, tiling_.m);
    grid[rank++] = tiles_of(product_.n.size, tiling_.n);
    const int64_t steps[] = {tiles_of(product_.k.size, tiling_.k)};
    const std::span<const int64_t> loops(steps, in_place ? 0 : 1);
    ProgramBuilder builder(target_, words, {grid, static_cast<size_t>(rank)}, loops);
    add_globals(builder);
    if (in_place) {
      multiply_in_place(builder);
    } else {
      multiply_in_slots(builder);
    }
    const bool waits = target_.flags && !in_place;
    return builder.finish(static_cast<uint32_t>(target_.reserve_bytes), waits ? fix_to_cube : 0);
  }

 private:
  using Stride = int64_t ContractionDim::*;
  static constexpr int kLoop = 0;

  // Every operand, used or not: a caller passes them all.
  void add_globals(ProgramBuilder& builder) const {
    for (int g = 0; g < product_.global_count; ++g) {
      Global global;
      if (g == product_.a) include(global, &ContractionDim::a, product_.source);
      if (g == product_.b) include(global, &ContractionDim::b, product_.source);
      if (g == product_.result) {
        include(global, &ContractionDim::result, product_.dtype);
        global.written = 1;
      }
      builder.add_global(global);
    }
  }
  void include(Global& global, Stride of, DType dtype) const {
    int64_t low = 0, high = core::byte_size(dtype);
    const auto add = [&](const ContractionDim& dim) {
      const int64_t last = (dim.size - 1) * (dim.*of);
      (last < 0 ? low : high) += last;
    };
    for (int d = 0; d < product_.batch_rank; ++d) add(product_.batch[d]);
    for (const ContractionDim* dim : {&product_.m, &product_.n, &product_.k}) add(*dim);
    const bool first = global.low == global.high;
    global.low = first ? low : std::min(global.low, low);
    global.high = first ? high : std::max(global.high, high);
    global.dtype = dtype;
  }

  Operand stream(ProgramBuilder& builder, int global, Stride of, bool in_loop) const {
    int64_t strides[kMaxRank + 1];
    size_t axes = 0;
    for (int d = 0; d < product_.batch_rank; ++d) strides[axes++] = product_.batch[d].*of;
    strides[axes++] = product_.m.*of * tiling_.m;
    strides[axes++] = product_.n.*of * tiling_.n;
    if (in_loop) strides[axes++] = product_.k.*of * tiling_.k;
    return builder.stream(global, 0, {strides, axes});
  }

  // The extents of an instruction, by the numbers they have in it, and the axis of each.
  struct Cut {
    int extent;
    int axis;
    const ContractionDim& dim;
    int64_t tile;
    uint32_t last() const {
      return static_cast<uint32_t>(dim.size - (tiles_of(dim.size, tile) - 1) * tile);
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
    fixed.aux = MatrixAux{.loop = {}, .source = product_.source}.code(product_.dtype);
    Tail tails[kMaxMoreTails];
    const size_t count = set_tails(
        fixed, {along_m(static_cast<int>(Split::m)), along_n(static_cast<int>(Split::n))}, tails);
    const Operand result = stream(builder, product_.result, &ContractionDim::result, false);
    const Operand a = stream(builder, product_.a, &ContractionDim::a, false);
    const Operand b = stream(builder, product_.b, &ContractionDim::b, false);
    const Operand operands[] = {*matrices_.result.in_place(result), *matrices_.a.in_place(a),
                                *matrices_.b.in_place(b)};
    builder.append(fixed, operands, {}, {}, {tails, count});
  }

  // The factors' slots are read by one step while the next one waits to load; the sums are drained
  // by one tile while the next one waits to multiply.
  void multiply_in_slots(ProgramBuilder& builder) const {
    constexpr Pipe kLoad = Pipe::load, kCube = Pipe::cube, kFix = Pipe::fix;
    const auto flag = [](SyncKind kind, Pipe src, Pipe dst, int event) {
      return Sync{static_cast<uint8_t>(kind), src, dst, static_cast<uint8_t>(event), 0};
    };
    constexpr int kCarried = 7;
    const Sync of_loop[] = {flag(SyncKind::wait, kFix, kCube, 0),
                            flag(SyncKind::set, kCube, kFix, 0),
                            flag(SyncKind::carry, kCube, kLoad, kCarried)};
    const Sync of_a[] = {flag(SyncKind::wait, kCube, kLoad, kCarried)};
    const Sync of_b[] = {flag(SyncKind::set, kLoad, kCube, 0)};
    const Sync of_cube[] = {flag(SyncKind::wait, kLoad, kCube, 0),
                            flag(SyncKind::set, kCube, kLoad, kCarried)};
    const Sync of_drain[] = {flag(SyncKind::wait, kCube, kFix, 0),
                             flag(SyncKind::set, kFix, kCube, 0)};
    const auto flags = [&](std::span<const Sync> syncs) {
      return target_.flags ? syncs : std::span<const Sync>();
    };
    const Operand in_l0a = slot_operand(0, Space::l0a), in_l0b = slot_operand(0, Space::l0b),
                  in_l0c = slot_operand(0, Space::l0c);
    builder.begin_loop(flags(of_loop));
    move(builder, Insn::view_load, {in_l0a, stream(builder, product_.a, &ContractionDim::a, true)},
         product_.source, along_m(1), along_k(2), &ContractionDim::a, flags(of_a));
    move(builder, Insn::view_load, {in_l0b, stream(builder, product_.b, &ContractionDim::b, true)},
         product_.source, along_k(1), along_n(2), &ContractionDim::b, flags(of_b));
    Instruction fixed = matmul();
    fixed.aux = MatrixAux{.loop = kLoop, .source = product_.source}.code(product_.dtype);
    Tail tails[kMaxMoreTails];
    const size_t count =
        set_tails(fixed,
                  {along_m(static_cast<int>(Split::m)), along_k(static_cast<int>(Split::size)),
                   along_n(static_cast<int>(Split::n))},
                  tails);
    builder.append(fixed, std::initializer_list<Operand>{in_l0c, in_l0a, in_l0b}, flags(of_cube),
                   {}, {tails, count});
    builder.end_loop();
    move(builder, Insn::drain,
         {stream(builder, product_.result, &ContractionDim::result, true), in_l0c}, product_.dtype,
         along_m(1), along_n(2), &ContractionDim::result, flags(of_drain));
  }

  void move(ProgramBuilder& builder, Insn insn, std::initializer_list<Operand> operands,
            DType dtype, const Cut& rows, const Cut& columns, Stride of,
            std::span<const Sync> syncs) const {
    Instruction fixed{.insn = insn, .dtype = dtype};
    fixed.size = static_cast<uint32_t>(rows.tile * columns.tile);
    const ViewDim dims[] = {{rows.tile, rows.dim.*of}, {columns.tile, columns.dim.*of}};
    Tail tails[kMaxMoreTails];
    const size_t count = set_tails(fixed, {rows, columns}, tails);
    builder.append(fixed, operands, syncs, dims, {tails, count});
  }

  const Contraction& product_;
  const ProductTiling& tiling_;
  const TargetTraits& target_;
  const Matrices matrices_;
};

}  // namespace

ProductTiling tile_product(const Contraction& product, const TargetTraits& target) {
  if (Matrices(product).are_in_place(target)) {
    // The sums of a tile stay in the cache while all of k goes by.
    constexpr int64_t kRows = 96, kColumns = 256;
    return {std::min(kRows, product.m.size), std::min(kColumns, product.n.size), product.k.size};
  }
  // Squares of the result that fit beside their factors, in steps of as many elements.
  const auto room = [&](Space space, DType dtype) {
    return target.memory(space).bytes / core::byte_size(dtype);
  };
  const int64_t least =
      std::min({room(Space::l0a, product.source), room(Space::l0b, product.source),
                room(Space::l0c, product.dtype)});
  int64_t side = 16;
  while (4 * side * side <= least) side *= 2;
  return {std::min(side, product.m.size), std::min(side, product.n.size),
          std::min(side, product.k.size)};
}

Program encode_product(const Contraction& product, const ProductTiling& tiling,
                       const TargetTraits& target, std::span<uint64_t> words) {
  return ProductEncoder(product, tiling, target).run(words);
}

}  // namespace dvm::vm
