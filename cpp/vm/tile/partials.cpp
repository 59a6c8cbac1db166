#include "vm/tile/partials.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/ops/sum_order.h"
#include "vm/isa/chain.h"
#include "vm/isa/reduce_source.h"

namespace dvm::vm {

namespace {

constexpr int64_t kWorkspaceAlign = 64;

// A reduction, and the value that is stored: its result, or the rounding of a sum kept in a wider
// dtype, which is the one step that may follow a reduction.
struct TakenReduction {
  KernelStep step;
  int16_t result;
};

// Takes the reductions out of the steps of `stage`; returns how many there are.
int take_reductions(Stage& stage, TakenReduction* reductions) {
  int count = 0, kept = 0;
  for (int i = 0; i < stage.step_count; ++i) {
    const KernelStep& step = stage.steps[i];
    TakenReduction* const end = reductions + count;
    TakenReduction* const rounded = std::find_if(
        reductions, end, [&](const TakenReduction& r) { return r.result == step.src[0]; });
    if (step.axes != 0) {
      reductions[count++] = {step, step.dst};
    } else if (rounded != end) {
      rounded->result = step.dst;
    } else {
      stage.steps[kept++] = step;
    }
  }
  stage.step_count = kept;
  return count;
}

// Builds `next` while it takes the reductions out of `stage`.
class Splitter {
 public:
  // The workspace holds `reduced` elements, or partial results, along the reduced dims.
  Splitter(Stage& stage, Stage& next, Workspace& workspace, int64_t reduced)
      : stage_(stage), next_(next), workspace_(workspace) {
    workspace_.bytes = 0;
    next_.step_count = next_.scalar_count = next_.access_count = next_.output_count = 0;
    next_.value_count = 0;
    next_.reduced_in_tile = Stage::InTile::may;
    next_.global_count = stage.global_count;
    // The reduced dims become one, even where the sizes of the operands kept them apart.
    next_.rank = 0;
    for (int d = 0; d < stage.rank; ++d) {
      if (d > stage.reduce_begin && d < stage.reduce_end) continue;
      next_.sizes[next_.rank++] = d == stage.reduce_begin ? reduced : stage.sizes[d];
    }
    next_.reduce_begin = stage.reduce_begin;
    next_.reduce_end = stage.reduce_begin + 1;
    // Dense and row-major over the dims of `next`.
    int64_t stride = 1;
    for (int d = next_.rank - 1; d >= 0; --d) {
      strides_[d] = stride;
      stride *= next_.sizes[d];
    }
    elements_ = stride;
  }

  // A tensor of the workspace, as the next Stage sees it.
  StageAccess allocate(DType dtype) {
    StageAccess access{.global = workspace_.global, .dtype = dtype, .offset = workspace_.bytes};
    const int64_t bytes = core::byte_size(dtype);
    for (int d = 0; d < next_.rank; ++d) {
      access.span |= dim_bit(d);
      access.strides[d] = strides_[d] * bytes;
    }
    const int64_t size = elements_ * bytes;
    workspace_.bytes += (size + kWorkspaceAlign - 1) / kWorkspaceAlign * kWorkspaceAlign;
    return access;
  }

  // The dim of `next` that a spatial dim of `stage` became.
  int next_dim(int d) const { return d < stage_.reduce_end ? d : d - merged(); }
  int merged() const { return stage_.reduce_end - stage_.reduce_begin - 1; }
  DimMask next_span(DimMask span) const {
    const DimMask before = dim_bit(stage_.reduce_begin) - 1;
    const DimMask after = static_cast<DimMask>(~(dim_bit(stage_.reduce_end) - 1));
    return static_cast<DimMask>((span & before) | ((span & after) >> merged()));
  }

  // In `next`: loads `partial`, reduces it likewise in `dtype` and gives all outputs of the result.
  void reduce_in_next(const TakenReduction& reduction, const StageAccess& partial, DType dtype,
                      ReduceOrder order) {
    const KernelStep& step = reduction.step;
    const StageValue& result = stage_.values[reduction.result];
    const DimMask span = next_span(result.span);
    const int16_t source = next_.add_value({.kind = StageValue::Kind::global,
                                            .dtype = partial.dtype,
                                            .span = partial.span,
                                            .index = next_.add_access(partial)});
    int16_t value = next_.add_value({.dtype = dtype, .span = span});
    KernelStep& reduce = next_.steps[next_.step_count++];
    reduce = {.insn = step.insn, .dtype = dtype, .arity = 1, .dst = value};
    reduce.aux = reduce_aux(order, dtype, partial.dtype);
    reduce.src[0] = source;
    reduce.axes = step.axes;
    if (dtype != result.dtype) value = add_cast(next_, value, result.dtype);
    for (int k = 0; k < stage_.output_count; ++k) {
      const StageOutput output = stage_.outputs[k];
      if (output.value != reduction.result) continue;
      StageAccess access = stage_.accesses[output.access];
      int64_t strides[kMaxRank] = {};
      for (int d = 0; d < stage_.rank; ++d) {
        if (d < stage_.reduce_begin || d >= stage_.reduce_end) {
          strides[next_dim(d)] = access.strides[d];
        }
      }
      std::copy_n(strides, kMaxRank, access.strides);
      access.span = span;
      next_.outputs[next_.output_count++] = {value, next_.add_access(access)};
    }
  }

  // Appends a cast of `value`; for a reduction's source it must come before the reduction.
  static int16_t add_cast(Stage& stage, int16_t value, DType dtype) {
    const StageValue from = stage.values[value];
    const int16_t result = stage.add_value({.dtype = dtype, .span = from.span});
    DVM_CHECK(stage.step_count < kMaxStageSteps, "too many steps in a Stage");
    KernelStep& cast = stage.steps[stage.step_count++];
    cast = {.insn = Insn::cast, .dtype = dtype, .arity = 1, .dst = result};
    cast.aux = static_cast<uint8_t>(from.dtype);
    cast.src[0] = value;
    return result;
  }

  // `stage` stores `value` to the workspace in place of every output of `result`, by the access of
  // one of them: no output needs it any more.
  void store_instead(int16_t result, int16_t value, const StageAccess& access) {
    int kept = 0;
    int16_t place = -1;
    for (int k = 0; k < stage_.output_count; ++k) {
      const StageOutput output = stage_.outputs[k];
      if (output.value == result) {
        place = output.access;
      } else {
        stage_.outputs[kept++] = output;
      }
    }
    DVM_CHECK(place >= 0, "a reduction that is no output");
    stage_.accesses[place] = access;
    stage_.outputs[kept++] = {value, place};
    stage_.output_count = kept;
  }

 private:
  Stage& stage_;
  Stage& next_;
  Workspace& workspace_;
  int64_t strides_[kMaxRank];  // elements
  int64_t elements_;
};

}  // namespace

DType partial_dtype(Insn insn, DType dtype) {
  return accumulates(insn) ? core::computes_in(dtype) : dtype;
}

void store_partials(Stage& stage, Stage& next, Workspace& workspace, int64_t chunks_of_tile) {
  const int reduced = stage.reduce_begin;
  Splitter split(stage, next, workspace, core::sum_chunks(stage.reduced_elements()));
  // They feed nothing, so they may move behind the other steps, past the casts they need.
  TakenReduction reductions[kMaxSteps];
  const int count = take_reductions(stage, reductions);
  for (int i = 0; i < count; ++i) {
    KernelStep step = reductions[i].step;
    const DType dtype = partial_dtype(step.insn, step.dtype);
    const StageAccess partial = split.allocate(dtype);
    split.reduce_in_next(reductions[i], partial, dtype, ReduceOrder::sequential);
    if (dtype != step.dtype) {
      const DimMask span = stage.values[step.dst].span;
      step.src[0] = Splitter::add_cast(stage, step.src[0], dtype);
      step.dst = stage.add_value({.dtype = dtype, .span = span});
      step.dtype = dtype;
    }
    stage.steps[stage.step_count++] = step;
    StageAccess stored = partial;
    stored.per_tile = dim_bit(reduced);
    stored.span = static_cast<DimMask>(partial.span & ~stored.per_tile);
    stored.strides[reduced] *= chunks_of_tile;
    split.store_instead(reductions[i].result, step.dst, stored);
  }
  stage.reduced_in_tile = Stage::InTile::never;  // whatever the steps just added make cheaper
  merge_dims(next);
}

bool make_rows_of_chunks(const Stage& stage, Stage& rows) {
  constexpr int64_t kMany = 16;
  const int reduced = stage.reduce_begin;
  if (stage.reduce_end != stage.rank || stage.rank == kMaxRank ||
      core::sum_chunks(stage.sizes[reduced]) < kMany) {
    return false;
  }
  rows = stage;
  rows.rank = stage.rank + 1;
  rows.sizes[reduced] = core::sum_chunks(stage.sizes[reduced]) - 2;
  rows.sizes[reduced + 1] = core::kSumChunk;
  rows.reduce_begin = reduced + 1;
  rows.reduce_end = reduced + 2;
  rows.reduced_in_tile = Stage::InTile::must;
  const auto along_both = [&](DimMask span) {
    return static_cast<DimMask>(span | (span & dim_bit(reduced)) << 1);
  };
  for (int k = 0; k < rows.value_count; ++k) {
    rows.values[k].span = along_both(rows.values[k].span);
  }
  for (int k = 0; k < rows.access_count; ++k) {
    StageAccess& access = rows.accesses[k];
    if (access.per_tile != 0) {
      access.span |= std::exchange(access.per_tile, DimMask{0});
      continue;
    }
    access.span = along_both(access.span);
    access.strides[reduced + 1] = access.strides[reduced];
    access.strides[reduced] *= core::kSumChunk;
  }
  for (int k = 0; k < rows.step_count; ++k) {
    KernelStep& step = rows.steps[k];
    if (step.axes == 0) continue;
    step.axes = dim_bit(reduced + 1);
    rows.values[step.dst].span |= dim_bit(reduced);
  }
  merge_dims(rows);
  return true;
}

void leave_last_chunks(Stage& stage) {
  const int reduced = stage.reduce_begin;
  const int64_t done = core::sum_chunks(stage.sizes[reduced]) - 2;
  for (int k = 0; k < stage.access_count; ++k) {
    StageAccess& access = stage.accesses[k];
    if (access.per_tile != 0) {
      access.offset += done * access.strides[reduced];
    } else if (access.span & dim_bit(reduced)) {
      access.offset += done * core::kSumChunk * access.strides[reduced];
    }
  }
  stage.sizes[reduced] -= done * core::kSumChunk;
}

void store_sources(Stage& stage, Stage& next, Workspace& workspace) {
  Splitter split(stage, next, workspace, stage.reduced_elements());
  TakenReduction reductions[kMaxSteps];
  const int count = take_reductions(stage, reductions);
  const auto source = [&](int i) { return stage.values[reductions[i].step.src[0]].dtype; };
  bool is_one_dtype = true;
  for (int i = 1; i < count; ++i) is_one_dtype &= source(i) == source(0);
  for (int i = 0; i < count; ++i) {
    KernelStep& step = reductions[i].step;
    // Some read what has another dtype (reduce_source.h), but a workspace has one.
    if (!is_one_dtype && source(i) != step.dtype)
      step.src[0] = Splitter::add_cast(stage, step.src[0], step.dtype);
    const StageAccess all = split.allocate(source(i));
    split.reduce_in_next(reductions[i], all, step.dtype, reduce_order(step.aux));
    // The same elements along the dims of `stage`.
    StageAccess stored = all;
    int64_t stride = core::byte_size(all.dtype);
    for (int d = stage.rank - 1; d >= 0; --d) {
      stored.span |= dim_bit(d);
      stored.strides[d] = stride;
      stride *= stage.sizes[d];
    }
    split.store_instead(reductions[i].result, step.src[0], stored);
    // Unused now, they keep no dims apart.
    stage.values[step.dst].span = stage.values[reductions[i].result].span = 0;
  }
  stage.reduce_begin = stage.reduce_end = 0;
  merge_dims(stage);
  merge_dims(next);
}

}  // namespace dvm::vm
