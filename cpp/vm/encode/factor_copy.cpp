#include "vm/encode/factor_copy.h"

#include <cstdlib>
#include <utility>

#include "vm/encode/product_tiling.h"

namespace dvm::vm {

namespace {

constexpr Operand kAnyStream{.mode = Mode::stream};

using Stride = int64_t ContractionDim::*;
constexpr Stride stride_of(Factor factor) {
  return factor == Factor::a ? &ContractionDim::a : &ContractionDim::b;
}

// What a Stage over all of its dims does: it reads the one and writes the other.
void add_copy(StageAccess from, StageAccess to, Stage& stage) {
  from.span = to.span = static_cast<DimMask>(dim_bit(stage.rank) - 1);
  const int16_t value = stage.add_value({.kind = StageValue::Kind::global,
                                         .dtype = from.dtype,
                                         .span = from.span,
                                         .index = stage.add_access(from)});
  stage.outputs[stage.output_count++] = {value, stage.add_access(to)};
}

}  // namespace

bool is_in_place(const Contraction& product, Factor factor) {
  if (factor == Factor::b && product.windows) return true;
  const Matrices matrices(product);
  // Of two vectors kernels take adjacent elements fast, and others one by one.
  if (product.m.size == 1 && product.n.size == 1 && product.k.size > 1)
    return product.k.*stride_of(factor) == matrices.a.element();
  return (factor == Factor::a ? matrices.a : matrices.b).in_place(kAnyStream).has_value();
}

bool needs_window_copies(const Contraction& product, const TargetTraits& target) {
  if (!product.windows) return false;
  const auto result = Matrices(product).result.in_place(kAnyStream);
  return !target.streams || !result || result->mode != Mode::rows;
}

int64_t copy_windows(int16_t workspace, Contraction& product, Stage& stage) {
  const WindowWords& words = *product.windows;
  stage.clear();
  stage.global_count = product.global_count;
  StageAccess from{.global = product.b, .dtype = product.source};
  StageAccess to{.global = workspace, .dtype = product.source};
  const auto add = [&](int64_t size, int64_t stride) {
    if (size == 1) return;
    from.strides[stage.rank] = stride;
    stage.sizes[stage.rank++] = size;
  };
  for (int d = 0; d < product.batch_rank; ++d) {
    if (product.batch[d].b != 0) add(product.batch[d].size, product.batch[d].b);
  }
  add(product.k.size / words.elements(), words.channel_stride);
  for (const WindowAxis& axis : words.axes) add(axis.window, axis.dilation * axis.stride);
  for (const WindowAxis& axis : words.axes) {
    DVM_CHECK(axis.before == 0, "windows that are copied reach beyond their array");
    add(axis.positions, axis.step * axis.stride);
  }
  if (stage.rank == 0) stage.sizes[stage.rank++] = 1;
  const int64_t element = core::byte_size(product.source);
  int64_t bytes = element;
  for (int d = stage.rank - 1; d >= 0; --d) {
    to.strides[d] = bytes;
    bytes *= stage.sizes[d];
  }
  add_copy(from, to, stage);
  merge_dims(stage);

  product.b = workspace;
  product.windows.reset();
  product.n.b = product.n.size == 1 ? 0 : element;
  product.k.b = product.k.size == 1 ? 0 : element * product.n.size;
  int64_t next = element * product.n.size * product.k.size;
  for (int d = product.batch_rank - 1; d >= 0; --d) {
    if (product.batch[d].b == 0) continue;
    product.batch[d].b = next;
    next *= product.batch[d].size;
  }
  return bytes;
}

bool needs_factor_copies(const Contraction& product, const TargetTraits& target) {
  if (!target.streams) return false;
  if (is_in_place(product, Factor::a) && is_in_place(product, Factor::b)) return false;
  const auto result = Matrices(product).result.in_place(kAnyStream);
  return result && result->mode == Mode::rows;
}

bool is_square(const Contraction& product) {
  if (product.windows || product.a != product.b || product.m.size != product.n.size) return false;
  if (product.m.a != product.n.b || product.k.a != product.k.b) return false;
  for (int d = 0; d < product.batch_rank; ++d) {
    if (product.batch[d].a != product.batch[d].b) return false;
  }
  return true;
}

void read_as_a(Contraction& product) {
  product.b = product.a;
  product.packed_column = 0;
  product.n.b = product.m.a;
  product.k.b = product.k.a;
  for (int d = 0; d < product.batch_rank; ++d) product.batch[d].b = product.batch[d].a;
}

int64_t copy_factor(Factor factor, int16_t workspace, Contraction& product, Stage& stage) {
  const Stride stride = stride_of(factor);
  stage.clear();
  stage.global_count = product.global_count;
  StageAccess from{.global = factor == Factor::a ? product.a : product.b, .dtype = product.source};
  StageAccess to{.global = workspace, .dtype = product.source};
  ContractionDim* dims[kMaxRank];
  for (int d = 0; d < product.batch_rank; ++d) {
    if (product.batch[d].*stride != 0) dims[stage.rank++] = &product.batch[d];
  }
  ContractionDim *outer = factor == Factor::a ? &product.m : &product.k,
                 *inner = factor == Factor::a ? &product.k : &product.n;
  if (std::abs(outer->*stride) < std::abs(inner->*stride)) std::swap(outer, inner);
  for (ContractionDim* const dim : {outer, inner}) {
    if (dim->size != 1) dims[stage.rank++] = dim;
  }
  int64_t bytes = core::byte_size(product.source);
  for (int d = stage.rank - 1; d >= 0; --d) {
    stage.sizes[d] = dims[d]->size;
    from.strides[d] = dims[d]->*stride;
    to.strides[d] = dims[d]->*stride = bytes;
    bytes *= dims[d]->size;
  }
  add_copy(from, to, stage);
  (factor == Factor::a ? product.a : product.b) = workspace;
  if (factor == Factor::b) product.packed_column = 0;
  merge_dims(stage);
  return bytes;
}

}  // namespace dvm::vm
