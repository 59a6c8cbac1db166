#include "vm/encode/drafts.h"

#include <algorithm>

#include "core/ops/sum_order.h"
#include "vm/isa/program_builder.h"

namespace dvm::vm {

namespace {

class ProgramWriter {
 public:
  ProgramWriter(const ProgramFrame& frame, Drafts& drafts)
      : stage_(frame.stage), frame_(frame), drafts_(drafts) {}

  Program run(std::span<uint64_t> words) {
    int64_t grid[kMaxRank];
    const size_t rank = frame_.grid_dims.size();
    for (size_t g = 0; g < rank; ++g) grid[g] = frame_.tiling.tiles(frame_.grid_dims[g]);
    ProgramBuilder builder(frame_.target, words, {grid, rank});
    add_globals(builder);
    for (int i = 0; i < drafts_.count; ++i) append(builder, i);
    return builder.finish(frame_.local_bytes, frame_.loop_flags);
  }

 private:
  // Every operand of the Region, used or not: a caller passes them all.
  void add_globals(ProgramBuilder& builder) const {
    for (int g = 0; g < stage_.global_count; ++g) {
      Global global;
      for (int a = 0; a < stage_.access_count; ++a) {
        if (stage_.accesses[a].global == g) include(global, stage_.accesses[a]);
      }
      for (int k = 0; k < stage_.output_count; ++k) {
        if (stage_.accesses[stage_.outputs[k].access].global == g) global.written = 1;
      }
      builder.add_global(global);
    }
  }

  // The bytes an access may touch, relative to the operand's base.
  void include(Global& global, const StageAccess& access) const {
    int64_t low = access.offset, high = access.offset + core::byte_size(access.dtype);
    for (int d = 0; d < stage_.rank; ++d) {
      int64_t last = 0, stride = access.strides[d];
      if ((access.span & dim_bit(d)) != 0) last = stage_.sizes[d] - 1;
      if ((access.per_tile & dim_bit(d)) != 0) {
        last = core::sum_chunks(stage_.reduced_elements()) - 1;
        stride /= frame_.chunks_of_tile;
      }
      (stride < 0 ? low : high) += last * stride;
    }
    const bool first = global.low == global.high;
    global.low = first ? low : std::min(global.low, low);
    global.high = first ? high : std::max(global.high, high);
    global.dtype = access.dtype;
  }

  void append(ProgramBuilder& builder, int index) {
    const Draft& draft = drafts_.at[index];
    const auto arity = static_cast<size_t>(draft.arity);
    Operand* const operands = drafts_.operand + draft.first_operand;
    for (size_t k = 0; k < arity; ++k) {
      const uint8_t access = operands[k].access;
      operands[k] = enter(builder, operands[k]);
      operands[k].access = access;
    }
    const std::span<const Tail> tails(&draft.more, draft.more.value != 0 ? 1 : 0);
    if (draft.steps != 0) {
      builder.append_chain(draft.fixed, {operands, arity},
                           {drafts_.step + draft.first_step, static_cast<size_t>(draft.steps)}, {},
                           tails);
      return;
    }
    std::span<const Sync> syncs;
    if (frame_.target.flags) syncs = {drafts_.syncs[index].at, drafts_.syncs[index].count};
    std::span<const ViewDim> view_dims;
    if (draft.view_dims != 0) {
      view_dims = {drafts_.view_dim + draft.first_view_dim, static_cast<size_t>(draft.view_dims)};
    }
    builder.append(draft.fixed, {operands, arity}, syncs, view_dims, tails);
  }

  Operand enter(ProgramBuilder& builder, const Operand& operand) {
    if (operand.mode == Mode::slot) return operand;
    if (operand.mode == Mode::scalar) {
      const StageValue& value = stage_.values[operand.index];
      return builder.scalar(value.dtype, stage_.scalars[value.index]);
    }
    Operand& entered = entered_[operand.index];
    if (!is_stream(entered)) entered = enter_stream(builder, operand.index);
    return operand.mode == Mode::rows ? rows_operand(entered, operand.offset) : entered;
  }
  Operand enter_stream(ProgramBuilder& builder, int index) const {
    const StageAccess& access = stage_.accesses[index];
    const size_t rank = frame_.grid_dims.size();
    int64_t strides[kMaxRank];
    for (size_t g = 0; g < rank; ++g) {
      const int d = frame_.grid_dims[g];
      const bool per_tile = (access.per_tile & dim_bit(d)) != 0;
      strides[g] = access.strides[d] * (per_tile ? 1 : frame_.tiling.tile[d]);
    }
    return builder.stream(access.global, access.offset, {strides, rank});
  }

  const Stage& stage_;
  const ProgramFrame& frame_;
  Drafts& drafts_;
  Operand entered_[kMaxStageAccesses];  // streams, once they are in the table
};

}  // namespace

Program write_program(const ProgramFrame& frame, Drafts& drafts, std::span<uint64_t> words) {
  return ProgramWriter(frame, drafts).run(words);
}

}  // namespace dvm::vm
