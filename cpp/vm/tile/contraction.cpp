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
  for (const ContractionDim* dim : {&product.m, &product.n, &product.k}) {
    range.repeat(dim->size, dim->*of);
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

Contraction bind_product(const Kernel& kernel, const Binding& binding) {
  const KernelProduct& product = *kernel.product;
  Contraction made{.a = product.a,
                   .b = product.b,
                   .result = product.result,
                   .global_count = kernel.operand_count(),
                   .dtype = product.dtype,
                   .source = product.source,
                   .precision = product.precision,
                   .packed_column = binding.packed_column};
  if (!kernel.kept.empty()) {
    made.global_count += kFirstKept + static_cast<int>(kernel.kept.size());
  }
  const int rank = kernel.rank, rows = rank - 2, columns = rank - 1;
  const auto size = [&](const KernelShape& shape, int d) {
    return size_of(shape[static_cast<size_t>(d)], binding);
  };
  int64_t dense[kMaxRank];
  const bool makes = product.a == kMadeFactor;
  if (makes) {
    made.a = static_cast<int16_t>(kernel.operand_count() + kFirstCopied);
    made.global_count = std::max(made.global_count, kernel.operand_count() + kFirstKept);
    int64_t stride = core::byte_size(product.source);
    for (int d = columns; d >= 0; --d) {
      dense[d] = stride;
      stride *= size(product.a_shape, d);
    }
  }
  const int64_t* const a = makes ? dense : binding.strides[product.a];
  const int64_t* const b = binding.strides[product.b];
  made.m = {.size = size(product.a_shape, rows), .a = a[rows], .of = dim_bit(rows)};
  made.n = {.size = size(product.b_shape, columns), .b = b[columns], .of = dim_bit(columns)};
  made.k = {.size = size(product.a_shape, columns), .a = a[columns], .b = b[rows]};
  check_equal(made.k.size, size(product.b_shape, rows), kernel);

  ContractionDim batch[kMaxRank];
  for (int d = 0; d < rows; ++d) {
    const int64_t matrices = size(product.shape, d);
    const auto stride = [&](const KernelShape& factor, const int64_t* strides) {
      const int64_t own = size(factor, d);
      if (own != 1) check_equal(own, matrices, kernel);
      return own == 1 ? 0 : strides[d];
    };
    batch[d] = {.size = matrices,
                .a = stride(product.a_shape, a),
                .b = stride(product.b_shape, b),
                .of = dim_bit(d)};
    if (batch[d].size == 0) made.m.size = 0;
  }
  if (made.is_empty()) return made;
  // The result: strides of an output, or the dense ones of what is kept.
  const bool kept = product.result >= kernel.operand_count();
  if (kept) made.result = static_cast<int16_t>(product.result + kFirstKept);
  int64_t next = core::byte_size(product.dtype);
  const auto place = [&](ContractionDim& dim, int d) {
    dim.result = kept ? next : binding.strides[product.result][d];
    next *= dim.size;
  };
  place(made.n, columns);
  place(made.m, rows);
  for (int d = rows - 1; d >= 0; --d) place(batch[d], d);

  for (int d = rows - 1; d >= 0; --d) {  // innermost first, turned round below
    if (batch[d].size == 1) continue;
    ContractionDim* const inner = made.batch_rank == 0 ? &made.m : &made.batch[made.batch_rank - 1];
    if (made.batch_rank == 0 && made.m.size == 1 && batch[d].b == 0) {
      made.m = batch[d];
    } else if (goes_on(batch[d], *inner)) {
      inner->size *= batch[d].size;
      inner->of |= batch[d].of;
    } else {
      made.batch[made.batch_rank++] = batch[d];
    }
  }
  std::reverse(made.batch, made.batch + made.batch_rank);
  // Along a dim of size 1 nothing moves.
  for (ContractionDim* const dim : {&made.m, &made.n, &made.k}) {
    if (dim->size == 1) dim->a = dim->b = dim->result = 0;
  }
  return made;
}

}  // namespace dvm::vm
