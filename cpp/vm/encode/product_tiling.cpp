#include "vm/encode/product_tiling.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/error.h"
#include "core/math/integers.h"
#include "vm/target/cost.h"

namespace dvm::vm {

namespace {

using core::ceil_div;
using core::round_up;

// Sides of tiles are multiples of these: whole register tiles (of vectors, of tiles of matrices),
// and runs of B that memory likes.
constexpr int64_t kTileRows = 12, kMatrixTileRows = 32, kTileColumns = 64, kTileColumnsOfFew = 1024;
constexpr int64_t kFewRows = 8;

// For a target whose instructions cut tiles into blocks for its caches themselves: large ones pack
// a block of B for many rows, many of them keep all threads busy to the end.
class CacheTiler {
 public:
  // Of tiles with at most so many elements, and `least` columns.
  CacheTiler(const Contraction& product, const TargetTraits& target, int64_t most = INT64_MAX,
             int64_t least = 0)
      : most_(most),
        least_(least),
        m_(product.m.size),
        n_(product.n.size),
        k_(product.k.size),
        rates_(
            product_rates(product.dtype, product.source, product.precision, target.matrix_tiles)),
        threads_(target.threads),
        rows_(rates_.by_tiles ? kMatrixTileRows : kTileRows),
        copied_(copied_share(product.packed_column != 0,
                             product.windows ? &*product.windows : nullptr)),
        columns_(m_ <= kFewRows && !(product.k.b == core::byte_size(product.source))
                     ? kTileColumnsOfFew
                     : kTileColumns),
        matrices_(product.batches()) {
    // A grid has room for one dim more. Windows are not cut along k.
    if (product.batch_rank + 3 <= kMaxRank && !product.windows) {
      // Of the smallest tiles.
      const int64_t side = std::max(std::min(m_, rows_), std::min(n_, columns_));
      k_ = std::min(part_along_k(rates_.by_tiles ? 16 : 1), kMaxTileElements / side);
    }
    matrices_ *= ceil_div(product.k.size, k_);
  }

  // Of all tiles by all threads, times the number of those: while the last tile ends the others
  // wait.
  double time(int64_t m, int64_t n) const {
    const auto tiles = static_cast<double>(matrices_ * ceil_div(m_, m) * ceil_div(n_, n));
    return (tiles + threads_ - 1) * product_tile_ns(rates_, m, n, k_, copied_);
  }

  // Whether an instruction has room for the sides, of the factors too.
  bool is_tile(int64_t m, int64_t n) const {
    const auto fits = [](int64_t rows, int64_t columns) {
      return rows <= kMaxTileElements / columns;
    };
    return fits(m, n) && fits(m, k_) && fits(n, k_);
  }

  // The least time by the cost table, over halves and halves of those. None has no rows.
  ProductTiling run() const {
    ProductTiling best{0, n_, k_};
    double least = std::numeric_limits<double>::infinity();
    for (int64_t m = m_;; m = round_up(ceil_div(m, 2), rows_)) {
      for (int64_t n = n_;; n = round_up(ceil_div(n, 2), columns_)) {
        if (n < least_) break;
        if (const double now = time(m, n); m * n <= most_ && is_tile(m, n) && now < least) {
          least = now;
          best = {m, n, k_};
        }
        if (n <= columns_) break;
      }
      if (m <= rows_) break;
    }
    return best;
  }

 private:
  // Where the result has few tiles for all the work, steps of k make more of them. What is added up
  // in which order depends on sizes, dtypes and the kernels alone, which are `faster` than vectors.
  int64_t part_along_k(double faster) const {
    constexpr int64_t kEnough = 8, kRows = 48, kColumns = 128, kStep = 128;
    constexpr double kLeastWork = 1 << 20,
                     kRead = 16;  // in multiply-adds, for an element of a factor
    const int64_t tiles =
        matrices_ * ceil_div(m_, kRows) * ceil_div(n_, std::max(kColumns, columns_));
    const auto m = static_cast<double>(m_), n = static_cast<double>(n_);
    const double work = static_cast<double>(k_) * (m * n + kRead * (m + n));
    const auto most = static_cast<int64_t>(std::min(work / (faster * kLeastWork), double{kEnough}));
    const int64_t count = std::min(kEnough / tiles, most);
    return count < 2 ? k_ : std::min(k_, round_up(ceil_div(k_, count), kStep));
  }

  const int64_t most_, least_, m_, n_;
  int64_t k_;  // of a step
  const ProductRates rates_;
  const int32_t threads_;
  const int64_t rows_;   // that tiles have a multiple of
  const double copied_;  // of b, by each tile
  const int64_t columns_;
  int64_t matrices_;  // in all tiles, and parts of k
};

}  // namespace

ProductRates product_rates(DType sums, DType source, core::Precision precision, bool matrix_tiles) {
  const CostTable& cost = cost_table();
  const auto element = [&](CostClass row, DType column) {
    return cost.element_ns[static_cast<size_t>(row)][cost_column(column)];
  };
  const auto by_tiles = [&](DType column, double read_a) {
    return ProductRates{true, element(CostClass::tiles, column), read_a};
  };
  if (matrix_tiles) {
    // Read where it lies, beyond the second cache.
    if (source == DType::i8 || source == DType::bf16) {
      return by_tiles(source, cost.far_ns * static_cast<double>(core::byte_size(source)));
    }
    if (precision == core::Precision::medium) return by_tiles(DType::bf16, cost.pack_ns);
    if (precision == core::Precision::high) return by_tiles(DType::f32, cost.pack_ns);
  }
  return {false, element(CostClass::product, sums), cost.pack_ns};
}

double copied_share(bool is_packed, const WindowWords* windows) {
  if (is_packed) return 0;
  double share = 1;
  if (windows == nullptr) return share;
  for (const WindowAxis& axis : windows->axes) {
    const int64_t reach = (axis.positions - 1) * axis.step + (axis.window - 1) * axis.dilation + 1;
    const int64_t used = axis.positions * axis.window;
    share *= static_cast<double>(std::min(reach, used)) / static_cast<double>(used);
  }
  return share;
}

double product_tile_ns(const ProductRates& rates, int64_t m, int64_t n, int64_t k, double copied) {
  const CostTable& cost = cost_table();
  const auto cells = [](int64_t rows, int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  // Rows of A are packed again for the next columns that stay in the cache.
  constexpr int64_t kPackedFor = 1024;
  const double read = cells(m, ceil_div(n, kPackedFor)) * rates.read_a +
                      copied * static_cast<double>(n) * cost.pack_ns;
  return cost.product_ns + static_cast<double>(k) * (cells(m, n) * rates.multiply_add + read);
}

std::optional<Operand> Matrix::in_place(const Operand& stream) const {
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

Matrices::Matrices(const Contraction& of)
    : a{of.m.size, of.k.size, of.m.a, of.k.a, of.source},
      b{of.k.size, of.n.size, of.k.b, of.n.b, of.source},
      result{of.m.size, of.n.size, of.m.result, of.n.result, of.dtype},
      has_windows(of.windows.has_value()) {}

bool Matrices::are_in_place(const TargetTraits& target) const {
  const Operand any{.mode = Mode::stream};
  const auto written = result.in_place(any);
  return target.streams && a.in_place(any) && (has_windows || b.in_place(any)) && written &&
         written->mode == Mode::rows;
}

bool adds_up_parts(const Contraction& product, const ProductTiling& tiling,
                   const TargetTraits& target) {
  return tiling.k < product.k.size && Matrices(product).are_in_place(target);
}

bool reads_packed(const Contraction& product, const ProductTiling& tiling,
                  const TargetTraits& target) {
  const bool moves = std::any_of(product.batch, product.batch + product.batch_rank,
                                 [](const ContractionDim& dim) { return dim.b != 0; });
  return !product.windows && tiling.m > kFewRows && tiling.n > kFewRows &&
         tiling.k == product.k.size && !moves && Matrices(product).are_in_place(target);
}

std::optional<ProductTiling> tile_followed_product(const Contraction& product, bool whole_rows,
                                                   const TargetTraits& target) {
  if (!Matrices(product).are_in_place(target)) return std::nullopt;
  // Beside the factors, and what the steps write.
  const auto most =
      static_cast<int64_t>(cost_table().far_bytes / 2) / core::byte_size(product.dtype);
  const ProductTiling tiling =
      CacheTiler(product, target, most, whole_rows ? product.n.size : 0).run();
  if (tiling.m == 0 || tiling.k < product.k.size) return std::nullopt;
  return tiling;
}

std::optional<ProductTiling> tile_made_product(const Contraction& product, bool follow,
                                               const TargetTraits& target) {
  if (!Matrices(product).are_in_place(target)) return std::nullopt;
  const CostTable& cost = cost_table();
  const auto room = static_cast<int64_t>(cost.far_bytes / 2);
  const int64_t row = product.k.size * core::byte_size(product.source),
                handed = follow ? product.n.size * core::byte_size(product.dtype) : 0;
  const CacheTiler made(product, target, room / (row + handed) * product.n.size, product.n.size);
  const ProductTiling tiling = made.run();
  if (tiling.m == 0 || tiling.k < product.k.size) return std::nullopt;
  const CacheTiler apart(product, target);
  const ProductTiling other = apart.run();
  const double bytes =
      2.0 * static_cast<double>(product.batches()) * static_cast<double>(product.m.size * row);
  const double trip = bytes * (bytes > cost.far_bytes ? cost.far_ns : cost.spill_ns);
  if (apart.time(other.m, other.n) + trip < made.time(tiling.m, tiling.n)) return std::nullopt;
  return tiling;
}

ProductTiling tile_product(const Contraction& product, const TargetTraits& target) {
  if (Matrices(product).are_in_place(target)) {
    const ProductTiling tiling = CacheTiler(product, target).run();
    if (tiling.m == 0) {
      core::fail(core::ErrorCode::unsupported, "a product of so long sums has no more than " +
                                                   std::to_string(kMaxRank - 3) +
                                                   " dimensions of batches");
    }
    return tiling;
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

}  // namespace dvm::vm
