// The instruction `matmul` on the cpu: a tile of a product, cut into blocks for the caches.
//
// Which order the sums of an element have depends on the whole instruction and on how its operands
// lie, never on a tile that is shorter: all tiles of a product have the same order.
#include "cpu/matmul/product_tile.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/ops/fp_flags.h"
#include "cpu/kernels.h"
#include "cpu/matmul/matmul_kernels.h"
#include "cpu/matmul/window_lines.h"
#include "cpu/matmul/windows.h"

namespace dvm::cpu {

namespace {

using core::DType;
using vm::Mode;
using vm::TileArgs;

struct Cache {
  int64_t ways, set_bytes;  // from a line to the next one of the same set

  // Whether so many rows, a line of each, have places at once: lines that lie a power of two apart
  // share few sets.
  bool holds(int64_t rows, int64_t stride) const {
    constexpr int64_t kLine = 64;
    const int64_t sets = set_bytes / std::max(std::gcd(stride, set_bytes), kLine);
    return rows <= ways * sets;
  }
};

Cache cache_of(int bytes_name, int ways_name, Cache otherwise) {
  const int64_t bytes = sysconf(bytes_name), ways = sysconf(ways_name);
  return bytes > 0 && ways > 0 ? Cache{ways, bytes / ways} : otherwise;
}

// Whether rows of B are read well where they lie: those that a tile asks for ahead are there when
// it comes to them, and all of a block when the next rows of A do.
bool stay_in_caches(int64_t rows, int64_t stride) {
  static const Cache first =
      cache_of(_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, {8, int64_t{1} << 12});
  static const Cache second =
      cache_of(_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, {16, int64_t{1} << 16});
  return first.holds(std::min(rows, kRowsAhead), stride) && second.holds(rows, stride);
}

class ProductTile {
 public:
  ProductTile(const MatmulKernels& kernels, const TileArgs& args, DType sums, DType elements)
      : kernels_(kernels),
        args_(args),
        stored_(core::byte_size(elements)),
        sum_(core::byte_size(sums)) {}

  void run() const {
    const vm::Instruction& whole = *args_.insn;
    const Mode a_lies = operand(1).mode, b_lies = operand(2).mode;
    if (b_lies == Mode::windows && !windows_are_rows()) return multiply_windows();
    if (b_lies == Mode::packed) return multiply_blocks();
    const bool a_along = a_lies != Mode::columns;
    const bool b_along = b_lies == Mode::columns || (whole.n == 1 && strides_of(2).row == stored_);
    const bool few_columns = whole.n <= kFew && whole.n < whole.m;
    if (few_columns && a_along && !are_worth_dots(whole.n, whole.size)) {
      multiply_blocks();
    } else if (few_columns) {
      multiply_few(turned(), b_along, a_along);
    } else if (whole.m <= kFew && (b_along || !fill_a_tile(whole.m))) {
      multiply_few(upright(), a_along, b_along);
    } else {
      multiply_blocks();
    }
  }

 private:
  // Of a result: with so few rows or columns it takes the other factor as fast as memory gives it.
  static constexpr int64_t kFew = 8;
  // Elements along k of factors that are copied first, so that their lines are adjacent elements.
  static constexpr int64_t kCopied = 8192;
  static constexpr int64_t kHigh = 192;  // rows of a block

  // Of so few columns each element is a sum across a vector, which takes as long for a short line
  // as for one of many vectors; blocks compute all columns of a row at once. Measured at 4096 rows.
  bool are_worth_dots(int64_t columns, int64_t k) const {
    constexpr int64_t kVector = 64;
    return k * stored_ >= std::max(kVector, columns * kVector * 3 / 4);
  }

  // Whether so many rows are one register tile and keep it busy: then the other factor goes by as
  // fast.
  bool fill_a_tile(int64_t rows) const { return 3 * rows > 2 * kernels_.mr && rows <= kernels_.mr; }

  struct Product {
    int64_t m, n;
    MatrixView a, b;
    int64_t c_row_stride, c_column_stride;
  };

  const vm::Operand& operand(int k) const { return args_.insn->operands()[k]; }
  // Whether windows are single elements, one after the other.
  bool windows_are_rows() const {
    int64_t stride = stored_;
    for (int d = vm::WindowWords::kAxes; d-- > 0;) {
      const vm::WindowAxis& axis = args_.insn->windows().axes[d];
      const bool lies = axis.step * axis.stride == stride || axis.positions == 1;
      const bool is_padded = axis.before != 0 || axis.positions > axis.size;
      if (axis.window != 1 || is_padded || !lies) return false;
      stride *= axis.positions;
    }
    return true;
  }
  vm::MatrixStrides strides_of(int k) const {
    if (operand(k).mode == Mode::windows) return {args_.insn->windows().channel_stride, stored_};
    const int64_t columns = vm::matrix_size(k, {args_.m, args_.size, args_.n}).columns;
    return vm::matrix_strides(operand(k), columns, k == 0 ? sum_ : stored_);
  }
  MatrixView view_of(int k) const {
    const vm::MatrixStrides strides = strides_of(k);
    const int64_t before = operand(k).mode == Mode::windows ? args_.first_column * stored_ : 0;
    return {args_.src[k - 1] + before, strides.row, strides.column};
  }

  Product upright() const {
    return {args_.m, args_.n, view_of(1), view_of(2), strides_of(0).row, sum_};
  }
  // The same, columns for rows: C' = B' A'.
  Product turned() const {
    const MatrixView a = view_of(1), b = view_of(2);
    return {args_.n,
            args_.m,
            {b.data, b.column_stride, b.row_stride},
            {a.data, a.column_stride, a.row_stride},
            sum_,
            strides_of(0).row};
  }

  // Of few rows, whose elements lie along k or not, as those of the columns of B do.
  void multiply_few(const Product& p, bool a_along, bool b_along) const {
    if (!b_along) return add_few_rows(p);
    if (a_along) return dots(p, p.a, 0, args_.size);
    const int64_t row = kCopied * stored_;
    for (int64_t l = 0; l < args_.size; l += kCopied) {
      const int64_t some = std::min(kCopied, args_.size - l);
      for (int64_t i = 0; i < p.m; ++i) {
        const std::byte* from = p.a.data + i * p.a.row_stride + l * p.a.column_stride;
        std::byte* to = args_.scratch + i * row;
        for (int64_t j = 0; j < some; ++j, from += p.a.column_stride, to += stored_) {
          std::memcpy(to, from, static_cast<size_t>(stored_));
        }
      }
      dots(p, {args_.scratch, row, stored_}, l, some);
    }
  }

  void dots(const Product& p, const MatrixView& a, int64_t l, int64_t k) const {
    kernels_.dots({.m = p.m,
                   .k = k,
                   .n = p.n,
                   .a = a,
                   .b = {p.b.data + l * stored_, p.b.row_stride, p.b.column_stride},
                   .c = args_.dst,
                   .c_row_stride = p.c_row_stride,
                   .c_column_stride = p.c_column_stride,
                   .adds = args_.adds || l > 0});
  }

  // Straight to rows of C, or by way of some that then go where they belong.
  void add_few_rows(const Product& p) const {
    const bool straight = p.c_column_stride == sum_;
    const int64_t most = straight ? p.n : kPackedABytes / (kFew * sum_);
    for (int64_t j = 0; j < p.n; j += most) {
      const int64_t columns = std::min(most, p.n - j);
      std::byte* const c = args_.dst + j * p.c_column_stride;
      MatmulBlock block{.m = p.m,
                        .k = args_.size,
                        .n = columns,
                        .a = p.a,
                        .b = {p.b.data + j * stored_, p.b.row_stride, p.b.column_stride},
                        .c = straight ? c : args_.scratch,
                        .c_row_stride = straight ? p.c_row_stride : most * sum_,
                        .adds = args_.adds};
      if (!straight && args_.adds) exchange(p, c, block, true);
      kernels_.multiply_few_rows(block);
      if (!straight) exchange(p, c, block, false);
    }
  }
  void exchange(const Product& p, std::byte* c, const MatmulBlock& block, bool fetches) const {
    for (int64_t i = 0; i < block.m; ++i) {
      std::byte* theirs = c + i * p.c_row_stride;
      std::byte* ours = block.c + i * block.c_row_stride;
      for (int64_t j = 0; j < block.n; ++j, theirs += p.c_column_stride, ours += sum_) {
        std::memcpy(fetches ? ours : theirs, fetches ? theirs : ours, static_cast<size_t>(sum_));
      }
    }
  }

  // Columns, then k, then rows: a block of B is packed once, and stays while all rows go by.
  void multiply_blocks() const {
    const MatrixView a = view_of(1), b = b_view();
    const bool packed = operand(2).mode == Mode::packed;
    const int64_t deep = kernels_.deep, rows = args_.insn->m;
    const bool in_place =
        !packed && b.column_stride == stored_ && rows <= kernels_.in_place_rows &&
        (rows <= kernels_.mr || stay_in_caches(std::min(deep, args_.size), b.row_stride));
    const int64_t c_row = strides_of(0).row;
    // What no second block of A comes back to is used while it is in the second cache.
    const bool comes_back = args_.m > kHigh || packs_a(a, deep);
    const int64_t bytes = comes_back ? kernels_.b_bytes : kernels_.b_bytes / 8;
    const int64_t panels = std::max<int64_t>(bytes / kernels_.b_panel_bytes(deep), 1);
    const int64_t wide = panels * kernels_.nr;
    std::byte* const packed_b = args_.scratch + kPackedABytes;
    for (int64_t j = 0; j < args_.n; j += wide) {
      for (int64_t l = 0; l < args_.size; l += deep) {
        MatmulBlock block{.m = 0,
                          .k = std::min(deep, args_.size - l),
                          .n = std::min(wide, args_.n - j),
                          .c = nullptr,
                          .c_row_stride = c_row,
                          .adds = args_.adds || l > 0};
        const MatrixView from{b.data + l * b.row_stride + j * b.column_stride, b.row_stride,
                              b.column_stride};
        if (packed) {
          block.b_panel_stride = kernels_.nr * int64_t{operand(2).offset};
          block.packed_b =
              args_.src[1] + j / kernels_.nr * block.b_panel_stride + kernels_.b_panel_bytes(l);
        } else if (in_place) {
          block.b = from;
        } else {
          kernels_.pack_b(from, block.k, block.n, packed_b);
          block.packed_b = packed_b;
        }
        multiply_rows(a, l, args_.dst + j * sum_, block);
      }
    }
  }
  // Lines of x are copied once for all elements of a window, and rows of B lie in them. Where they
  // have no room, or units are no elements, windows are.
  void multiply_windows() const {
    const bool lists = kernels_.lists_rows && kernels_.unit_bytes == stored_;
    WindowLines lines(args_.insn->windows(), stored_);
    for (int64_t j = 0; j < args_.n;) {
      const int64_t columns =
          lists ? lines.choose(args_.first_column + j, args_.n - j, line_room()) : 0;
      if (columns == 0) return multiply_window_blocks(j);
      multiply_lines(lines, j, columns);
      j += columns;
    }
  }

  // Beside packed A lie lines, where their rows begin, and columns of C.
  static constexpr int64_t kLineBytes = 256 << 10, kRowBytes = 64 << 10;
  static constexpr int64_t kColumnBytes = kPackedBBytes - kLineBytes - kRowBytes;
  WindowLines::Room line_room() const {
    return {.rows = std::min(kernels_.deep, args_.size),
            .bytes = kLineBytes,
            .columns = kColumnBytes / (args_.m * sum_),
            .behind = kernels_.nr};
  }
  void multiply_lines(const WindowLines& lines, int64_t j, int64_t columns) const {
    std::byte* const copy = args_.scratch + kPackedABytes;
    auto* const rows = reinterpret_cast<int32_t*>(copy + kLineBytes);
    std::byte* const room = copy + kLineBytes + kRowBytes;
    std::byte* const c = args_.dst + j * sum_;
    const int64_t c_row = strides_of(0).row, width = lines.width();
    const bool straight = width == columns;
    const auto exchange = [&](bool fetches) {
      for (int64_t i = 0; i < args_.m; ++i) {
        std::byte* theirs = c + i * c_row;
        lines.for_each_run([&](int64_t at, int64_t count) {
          std::byte* const ours = room + (i * width + at) * sum_;
          const auto bytes = static_cast<size_t>(count * sum_);
          std::memcpy(fetches ? ours : theirs, fetches ? theirs : ours, bytes);
          theirs += bytes;
        });
      }
    };
    if (!straight && args_.adds) exchange(true);
    for (int64_t l = 0; l < args_.size; l += kernels_.deep) {
      MatmulBlock block{.m = 0,
                        .k = std::min(kernels_.deep, args_.size - l),
                        .n = width,
                        .b = {copy, 0, stored_},
                        .c = nullptr,
                        .c_row_stride = straight ? c_row : width * sum_,
                        .adds = args_.adds || l > 0,
                        .b_rows = rows};
      lines.copy(args_.src[1], l, block.k, copy, rows);
      multiply_rows(view_of(1), l, straight ? c : room, block);
    }
    if (!straight) exchange(false);
  }

  // The same of blocks of windows that are copied, from column `begin` on.
  void multiply_window_blocks(int64_t begin) const {
    const MatrixView a = view_of(1);
    const int64_t deep = std::min(kernels_.deep, args_.size);
    constexpr int64_t kRoom =
        kPackedBBytes / 2;  // for panels, and as much for what they are made of
    const int64_t bytes = std::min(kRoom, kernels_.b_bytes);
    const int64_t panel = std::max(kernels_.b_panel_bytes(deep), deep * kernels_.nr * stored_);
    const int64_t wide = std::max<int64_t>(bytes / panel, 1) * kernels_.nr;
    std::byte* const packed_b = args_.scratch + kPackedABytes;
    std::byte* const copy = packed_b + kRoom;
    for (int64_t j = begin; j < args_.n; j += wide) {
      for (int64_t l = 0; l < args_.size; l += deep) {
        MatmulBlock block{.m = 0,
                          .k = std::min(deep, args_.size - l),
                          .n = std::min(wide, args_.n - j),
                          .packed_b = packed_b,
                          .c = nullptr,
                          .c_row_stride = strides_of(0).row,
                          .adds = args_.adds || l > 0};
        const MatrixView rows{copy, block.n * stored_, stored_};
        copy_windows(args_.insn->windows(), args_.src[1],
                     {l, block.k, args_.first_column + j, block.n}, stored_, copy, rows.row_stride);
        kernels_.pack_b(rows, block.k, block.n, packed_b);
        multiply_rows(a, l, args_.dst + j * sum_, block);
      }
    }
  }

  MatrixView b_view() const { return operand(2).mode == Mode::packed ? MatrixView{} : view_of(2); }

  bool packs_a(const MatrixView& a, int64_t k) const {
    return !kernels_.reads_a_in_place || a.column_stride != stored_ || k % kernels_.depth != 0;
  }

  void multiply_rows(const MatrixView& a, int64_t l, std::byte* c, MatmulBlock& block) const {
    const bool packs = packs_a(a, block.k);
    const int64_t high =
        std::min(kHigh, kPackedABytes / kernels_.a_panel_bytes(block.k) * kernels_.mr);
    for (int64_t i = 0; i < args_.m; i += high) {
      block.m = std::min(high, args_.m - i);
      block.c = c + i * block.c_row_stride;
      block.a = {a.data + i * a.row_stride + l * a.column_stride, a.row_stride, a.column_stride};
      if (packs) {
        kernels_.pack_a(block.a, block.m, block.k, args_.scratch);
        block.packed_a = args_.scratch;
      }
      kernels_.multiply(block);
    }
  }

  const MatmulKernels& kernels_;
  const TileArgs& args_;
  const int64_t stored_, sum_;
};

template <typename T>
bool has_nan(const TileArgs& args) {
  const vm::MatrixStrides strides =
      vm::matrix_strides(args.insn->operands()[0], args.n, int64_t{sizeof(T)});
  for (int64_t i = 0; i < args.m; ++i) {
    const auto* row = reinterpret_cast<const T*>(args.dst + i * strides.row);
    if (std::any_of(row, row + args.n, [](T x) { return x != x; })) return true;
  }
  return false;
}

template <SimdLevel kLevel, DType kSums>
void multiply_tile(const TileArgs& args) noexcept {
  const vm::MatrixAux aux = vm::MatrixAux::of(kSums, args.aux);
  [[maybe_unused]] const core::fp::State before = core::fp::get();
  const MatmulKernels& kernels = matmul_kernels(kLevel, kSums, aux.source, aux.precision);
  ProductTile(kernels, args, kSums, aux.source).run();
  // What fills up panels may meet an infinity. Where that happens to elements, their sum is NaN.
  if constexpr (core::is_floating(kSums)) {
    const core::fp::State raised = core::fp::get() & ~before;
    if ((raised & core::fp::kInvalidBit) != 0 && !has_nan<core::Storage<kSums>>(args)) {
      core::fp::set(core::fp::get() & ~core::fp::kInvalidBit);
    }
  }
}

template <SimdLevel kLevel>
void fill_products(vm::KernelTable& table) {
#define DVM_DTYPE(name, ...)                                                         \
  if constexpr (core::adds_products(DType::name, DType::name)) {                     \
    table.entry(vm::Insn::matmul, DType::name) = multiply_tile<kLevel, DType::name>; \
  }
#include "core/ops/dtypes.def"
#undef DVM_DTYPE
}

}  // namespace

void fill_matmul(SimdLevel level, vm::KernelTable& table) {
  switch (level) {
#if defined(__x86_64__)
#define DVM_SIMD_LEVEL(name, features) \
  case SimdLevel::name:                \
    return fill_products<SimdLevel::name>(table);
#include "cpu/simd_levels.def"
#undef DVM_SIMD_LEVEL
#endif
    case SimdLevel::portable:
      return fill_products<SimdLevel::portable>(table);
  }
}

}  // namespace dvm::cpu
