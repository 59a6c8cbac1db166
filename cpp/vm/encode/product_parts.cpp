#include "vm/encode/product_parts.h"

#include <algorithm>

#include "vm/isa/reduce_source.h"

namespace dvm::vm {

Contraction product_of_part(const Contraction& product, int16_t workspace, int64_t& bytes) {
  Contraction part = product;
  part.result = workspace;
  part.global_count = std::max(part.global_count, workspace + kFirstKept);
  bytes = core::byte_size(product.dtype);
  const auto place = [&](ContractionDim& dim) {
    dim.result = dim.size == 1 ? 0 : bytes;
    bytes *= dim.size;
  };
  place(part.n);
  place(part.m);
  for (int d = part.batch_rank - 1; d >= 0; --d) place(part.batch[d]);
  return part;
}

void add_up_parts(const Contraction& product, const Contraction& part, int64_t bytes, int64_t parts,
                  Stage& stage) {
  stage.clear();
  stage.global_count = part.global_count;
  stage.reduce_end = 1;
  stage.rank = 1;
  stage.sizes[0] = parts;
  StageAccess from{.global = part.result, .dtype = product.dtype, .span = dim_bit(0)};
  StageAccess to{.global = product.result, .dtype = product.dtype};
  from.strides[0] = bytes;
  const auto add = [&](const ContractionDim& source, const ContractionDim& result) {
    if (source.size == 1) return;
    const int d = stage.rank++;
    stage.sizes[d] = source.size;
    from.strides[d] = source.result;
    to.strides[d] = result.result;
    from.span |= dim_bit(d);
    to.span |= dim_bit(d);
  };
  for (int d = 0; d < product.batch_rank; ++d) add(part.batch[d], product.batch[d]);
  add(part.m, product.m);
  add(part.n, product.n);

  const int16_t source = stage.add_value({.kind = StageValue::Kind::global,
                                          .dtype = product.dtype,
                                          .span = from.span,
                                          .index = stage.add_access(from)});
  const int16_t sum = stage.add_value({.dtype = product.dtype, .span = to.span});
  KernelStep& step = stage.steps[stage.step_count++];
  step = {.insn = Insn::sum, .dtype = product.dtype, .arity = 1, .dst = sum};
  step.aux = reduce_aux(ReduceOrder::sequential, product.dtype, product.dtype);
  step.src[0] = source;
  step.axes = dim_bit(0);
  stage.outputs[stage.output_count++] = {sum, stage.add_access(to)};
  merge_dims(stage);
}

}  // namespace dvm::vm
