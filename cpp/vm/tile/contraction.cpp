#include "vm/tile/contraction.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "vm/tile/global_range.h"

namespace dvm::vm {

namespace {

int64_t size_of(uint8_t dim, const Binding& binding) {
  return dim == kUnit ? 1 : binding.dims[dim];
}

void check_equal(int64_t x, int64_t y, const Kernel& kernel) {
  DVM_CHECK(x == y, "sizes " + std::to_string(x) + " and " + std::to_string(y) +
                        " meet in the product of " + kernel.name);
}

// Whether steps along `outer` go on where those along `inner` end, in every operand.
bool goes_on(const ContractionDim& outer, const ContractionDim& inner) {
  return outer.a == inner.a * inner.size && outer.b == inner.b * inner.size &&
         outer.result == inner.result * inner.size;
}

// As much as is touched through an operand, besides what was before.
void include(const Contraction& product, int64_t ContractionDim::*of, DType dtype, Global& global) {
  core::ByteRange range{.high = core::byte_size(dtype)};
  for (int d = 0; d < product.batch_rank; ++d) {
    range.repeat(product.batch[d].size, product.batch[d].*of);
  }
  const bool moves_by_windows = product.windows && of == &ContractionDim::b;
  if (moves_by_windows) {
    const WindowWords& words = *product.windows;
    range.repeat(product.k.size / words.elements(), words.channel_stride);
    for (const WindowAxis& axis : words.axes) range.repeat(axis.size, axis.stride);
  } else {
    for (const ContractionDim* dim : {&product.m, &product.n, &product.k}) {
      range.repeat(dim->size, dim->*of);
    }
  }
  include(range, dtype, global);
}

}  // namespace

int64_t Contraction::batches() const {
  int64_t count = 1;
  for (int d = 0; d < batch_rank; ++d) count *= batch[d].size;
  return count;
}

std::vector<Global> Contraction::globals() const {
  std::vector<Global> all(static_cast<size_t>(global_count));
  Global& left = all[static_cast<size_t>(a)];
  if (made == 0) {
    include(*this, &ContractionDim::a, source, left);
  } else {
    left.high = made;
    left.dtype = source;
  }
  Global& right = all[static_cast<size_t>(b)];
  if (packed_column == 0) {
    include(*this, &ContractionDim::b, source, right);
  } else {
    right.high = packed_columns(n.size) * packed_column;
    right.dtype = source;
  }
  Global& written = all[static_cast<size_t>(result)];
  if (handed == 0) {
    include(*this, &ContractionDim::result, dtype, written);
  } else {
    written.high = handed;
    written.dtype = dtype;
  }
  written.written = 1;
  return all;
}

void Contraction::hand_over(int64_t tile_m, int64_t tile_n) {
  const int64_t element = core::byte_size(dtype);
  handed = tile_m * tile_n * element;
  for (int d = 0; d < batch_rank; ++d) batch[d].result = 0;
  m.result = m.size == 1 ? 0 : tile_n * element;
  n.result = n.size == 1 ? 0 : element;
}

void Contraction::make_rows(int64_t tile_m) {
  made = tile_m * k.size * core::byte_size(source);
  for (int d = 0; d < batch_rank; ++d) batch[d].a = 0;
}

namespace {

// Whether steps along the positions of windows go on where those along the next axis end.
bool go_on(const WindowAxis& outer, const WindowAxis& inner) {
  return outer.positions == 1 || inner.positions == 1 ||
         outer.stride == inner.stride * inner.positions;
}
bool moves_plainly(const WindowAxis& axis) {
  return axis.window == 1 && axis.before == 0 && axis.step == 1 && axis.size == axis.positions;
}

class ProductBinder {
 public:
  ProductBinder(const Kernel& kernel, const Binding& binding)
      : kernel_(kernel),
        product_(*kernel.product),
        binding_(binding),
        rows_(kernel.rank - 1 - product_.column_axes()),
        kept_(product_.result >= kernel.operand_count()) {}

  Contraction run() {
    made_ = {.a = product_.a,
             .b = product_.b,
             .result = product_.result,
             .global_count = kernel_.operand_count(),
             .dtype = product_.dtype,
             .source = product_.source,
             .precision = product_.precision,
             .packed_column = product_.windows ? 0 : binding_.packed_column};
    if (!kernel_.kept.empty()) {
      made_.global_count += kFirstKept + static_cast<int>(kernel_.kept.size());
    }
    if (kept_) made_.result = static_cast<int16_t>(product_.result + kFirstKept);
    find_a();
    const int64_t* const b = binding_.strides[product_.b];
    const int row = kernel_.rank - 2, column = kernel_.rank - 1;
    made_.m = {.size = size(product_.a_shape, row), .a = a_[row], .of = dim_bit(rows_)};
    made_.k = {.size = size(product_.a_shape, column), .a = a_[column]};
    ContractionDim batch[kMaxRank];
    for (int d = 0; d < rows_; ++d) batch[d] = batch_dim(d, b);
    ContractionDim columns[core::kMaxWindowRank];
    for (int d = rows_ + 1; d < kernel_.rank; ++d) {
      columns[d - rows_ - 1] = {.size = size(product_.shape, d), .b = b[d], .of = dim_bit(d)};
      if (columns[d - rows_ - 1].size == 0) made_.n.size = 0;
    }
    if (made_.is_empty()) return made_;
    place(columns, batch);
    if (product_.windows) {
      add_windows(*product_.windows, b, columns);
    } else {
      made_.n = columns[0];
      made_.k.b = b[row];
      check_equal(made_.k.size, size(product_.b_shape, row), kernel_);
    }
    for (int d = rows_ - 1; d >= 0; --d) add_batch(batch[d]);
    std::reverse(made_.batch, made_.batch + made_.batch_rank);
    // Along a dim of size 1 nothing moves.
    for (ContractionDim* const dim : {&made_.m, &made_.n, &made_.k}) {
      if (dim->size == 1) dim->a = dim->b = dim->result = 0;
    }
    return made_;
  }

 private:
  int64_t size(const KernelShape& shape, int d) const {
    return size_of(shape[static_cast<size_t>(d)], binding_);
  }

  void find_a() {
    if (product_.a != kMadeFactor) {
      std::copy_n(binding_.strides[product_.a], kernel_.rank, a_);
      return;
    }
    made_.a = static_cast<int16_t>(kernel_.operand_count() + kFirstCopied);
    made_.global_count = std::max(made_.global_count, kernel_.operand_count() + kFirstKept);
    int64_t stride = core::byte_size(product_.source);
    for (int d = kernel_.rank - 1; d >= 0; --d) {
      a_[d] = stride;
      stride *= size(product_.a_shape, d);
    }
  }

  // Weights have fewer axes than the result of a convolution.
  ContractionDim batch_dim(int d, const int64_t* b) {
    const int in_a = d + product_.column_axes() - 1;
    const int64_t matrices = size(product_.shape, d);
    const auto stride_of = [&](int64_t own, int64_t stride) {
      if (own != 1) check_equal(own, matrices, kernel_);
      return own == 1 ? 0 : stride;
    };
    if (matrices == 0) made_.m.size = 0;
    return {.size = matrices,
            .a = stride_of(size(product_.a_shape, in_a), a_[in_a]),
            .b = stride_of(size(product_.b_shape, d), b[d]),
            .of = dim_bit(d)};
  }

  // The result: strides of an output, or the dense ones of what is kept.
  void place(ContractionDim* columns, ContractionDim* batch) {
    int64_t next = core::byte_size(product_.dtype);
    for (int d = kernel_.rank - 1; d >= 0; --d) {
      ContractionDim& dim = d > rows_ ? columns[d - rows_ - 1] : d == rows_ ? made_.m : batch[d];
      dim.result = kept_ ? next : binding_.strides[product_.result][d];
      next *= dim.size;
    }
  }

  // Those of one position in one way are rows of x.
  void add_windows(const KernelWindows& windows, const int64_t* b, const ContractionDim* columns) {
    WindowWords words;
    const int first = WindowWords::kAxes - windows.axes;
    bool is_plain = true;
    made_.n.result = core::byte_size(product_.dtype);
    for (int d = WindowWords::kAxes; d-- > first;) {
      const int axis = rows_ + 1 + d - first;
      const ContractionDim& column = columns[d - first];
      WindowAxis& to = words.axes[d];
      to = {.positions = column.size,
            .window = windows.window[d],
            .size = size(product_.b_shape, axis),
            .stride = b[axis],
            .step = windows.steps[d],
            .dilation = windows.dilations[d],
            .before = windows.before[d]};
      if (to.size <= 1) to.stride = 0;
      if (to.size == 0) made_.k.size = 0;  // nothing but zeros around it
      DVM_CHECK(column.size == 1 || column.result == made_.n.result * made_.n.size,
                "the positions of a convolution do not lie one behind the other");
      made_.n.size *= column.size;
      made_.n.of |= column.of;
      is_plain = is_plain && moves_plainly(to);
      if (d + 1 < WindowWords::kAxes) is_plain = is_plain && go_on(to, words.axes[d + 1]);
    }
    if (made_.k.size == 0) return;
    const int64_t channels = size(product_.b_shape, rows_);
    if (channels != 1) words.channel_stride = b[rows_];
    check_equal(made_.k.size, channels * words.elements(), kernel_);
    if (!is_plain) {
      made_.windows = words;
      return;
    }
    made_.k.b = words.channel_stride;
    for (const WindowAxis& axis : words.axes) {
      if (axis.positions != 1) made_.n.b = axis.stride;
    }
  }

  // Innermost first.
  void add_batch(const ContractionDim& dim) {
    if (dim.size == 1) return;
    const bool is_first = made_.batch_rank == 0;
    ContractionDim& inner = is_first ? made_.m : made_.batch[made_.batch_rank - 1];
    if (is_first && made_.m.size == 1 && dim.b == 0) {
      made_.m = dim;
    } else if (goes_on(dim, inner)) {
      inner.size *= dim.size;
      inner.of |= dim.of;
    } else {
      made_.batch[made_.batch_rank++] = dim;
    }
  }

  const Kernel& kernel_;
  const KernelProduct& product_;
  const Binding& binding_;
  const int rows_;  // the axis of those of the result
  const bool kept_;
  int64_t a_[kMaxRank];
  Contraction made_;
};

}  // namespace

Contraction bind_product(const Kernel& kernel, const Binding& binding) {
  return ProductBinder(kernel, binding).run();
}

}  // namespace dvm::vm
