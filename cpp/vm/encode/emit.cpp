#include "vm/encode/emit.h"

#include <algorithm>
#include <bit>

#include "core/error.h"
#include "vm/encode/slots.h"
#include "vm/tile/chain_steps.h"

namespace dvm::vm {

namespace {

uint64_t operand_word(Mode mode, uint64_t index, uint64_t offset) {
  static_assert(std::endian::native == std::endian::little);
  return static_cast<uint64_t>(mode) | index << 16 | offset << 32;
}

class Emitter {
 public:
  Emitter(Schedules& schedules, const Tiling& tiling, Drafts& drafts)
      : stage_(schedules.stage()),
        tiling_(tiling),
        target_(schedules.target()),
        schedules_(schedules),
        schedule_(schedules.of(tiling, false)),
        slots_(target_),
        drafts_(drafts) {
    drafts_.count = drafts_.operands = drafts_.view_dims = drafts_.steps = 0;
    tail_ = tiling.last(tiling.split);
    for (int d = 0; d < tiling.rank; ++d) {
      if (d != tiling.split && tiling.tile[d] < tiling.sizes[d]) grid_dims_[grid_rank_++] = d;
    }
    grid_dims_[grid_rank_++] = tiling.split;
    if (tiling.uneven == 0) return;
    uneven_ = std::countr_zero(tiling.uneven);
    while (grid_dims_[grid_rank_ - 1 - uneven_axis_] != uneven_) ++uneven_axis_;
  }

  std::optional<Program> run(std::span<uint64_t> words) {
    place_values();
    for (int r = 0; r < schedule_.run_count; ++r) {
      const Schedule::Run& run = schedule_.runs[r];
      if (run.width == kNoChain) {
        emit_step(run);
        continue;
      }
      plan_chain(stage_, schedule_, r, drafts_.chain);
      if (drafts_.chain.end < run.end) schedules_.cut(schedule_, r, drafts_.chain.end);
      emit_chain(run.begin);
    }
    for (int k = 0; k < stage_.output_count; ++k) {
      const int16_t value = schedule_.root[stage_.outputs[k].value];
      if (!copy_through(value)) load(value);
      release(value, stage_.step_count);
    }
    if (overflow_) return std::nullopt;
    return write(words);
  }

 private:
  using Place = Drafts::Place;

  // What a tile holds of some dims: their elements, and what is left of them in the last tile along
  // the split dim, or along another uneven one.
  struct Extent {
    int64_t full = 1, tail = 1, other_tail = 1;
    bool split = false, uneven = false;
  };

  Extent extent(DimMask span, int begin, int end) const {
    Extent result;
    for (int d = begin; d < end; ++d) {
      if ((span & wide_ & dim_bit(d)) == 0) continue;
      result.full *= tiling_.tile[d];
      result.tail *= d == tiling_.split ? tail_ : tiling_.tile[d];
      result.split |= d == tiling_.split;
      result.other_tail *= d == uneven_ ? tiling_.last(d) : tiling_.tile[d];
      result.uneven |= d == uneven_;
    }
    return result;
  }
  Extent extent(DimMask span) const { return extent(span, 0, tiling_.rank); }
  int64_t bytes(int16_t value) const {
    return extent(stage_.values[value].span).full * core::byte_size(stage_.values[value].dtype);
  }

  void place_values() {
    for (int v = 0; v < stage_.value_count; ++v) {
      drafts_.home[v].place =
          stage_.values[v].kind == StageValue::Kind::scalar ? Place::scalar : Place::nowhere;
      drafts_.home[v].word = operand_word(Mode::scalar, static_cast<uint64_t>(v), 0);
    }
  }

  // Whose tiles are rows of the dims from `columns` on.
  Operand rows_operand(int access, int columns) const {
    const auto stride = tiling_.row_stride(stage_.accesses[access], wide_, columns);
    return vm::rows_operand(stream_operand(access), static_cast<uint32_t>(stride.value()));
  }

  // That an input is read by, or the one output of a value written.
  int access_of(int16_t value) const {
    const StageValue& of = stage_.values[value];
    if (of.kind == StageValue::Kind::global) return of.index;
    return stage_.outputs[schedule_.first_output[value]].access;
  }

  bool is_dense(int access) const { return schedule_.shape.is_dense(access); }

  static uint64_t stream_word(int access) {
    return operand_word(Mode::stream, static_cast<uint64_t>(access), 0);
  }
  static Operand stream_operand(int access) { return std::bit_cast<Operand>(stream_word(access)); }

  bool is_far(int output) const { return (schedule_.far >> output & 1) != 0; }

  bool take_slot(int16_t value) {
    const int64_t offset = slots_.take(bytes(value));
    if (offset == SlotAllocator::kNone) {
      overflow_ = true;
      return false;
    }
    drafts_.home[value] = {Place::slot, operand_word(Mode::slot, 0, static_cast<uint64_t>(offset))};
    return true;
  }

  void release(int16_t value, int step) {
    if (drafts_.home[value].place != Place::slot || schedule_.last_use[value] > step) return;
    slots_.release(drafts_.home[value].operand().offset);
    drafts_.home[value].place = Place::stream;  // nothing reads it any more
  }

  bool has_strided_output(int16_t value) const {
    for (int k = schedule_.first_output[value]; k >= 0; k = schedule_.next_output[k]) {
      if (!is_dense(stage_.outputs[k].access)) return true;
    }
    return false;
  }

  // Makes an input readable; its outputs, if any, are written at once.
  void load(int16_t value) {
    const StageValue& bound = stage_.values[value];
    if (drafts_.home[value].place != Place::nowhere || bound.kind != StageValue::Kind::global)
      return;
    const StageAccess& access = stage_.accesses[bound.index];
    const bool dense = is_dense(bound.index);
    if (target_.streams && dense && !has_strided_output(value)) {
      drafts_.home[value] = {Place::stream, stream_word(bound.index)};
    } else if (take_slot(value)) {
      transfer(dense ? Insn::load : Insn::view_load, access, drafts_.home[value].operand(),
               stream_operand(bound.index));
    }
    store_outputs(value, -1);
  }

  // An input that no step reads, straight to its outputs where one side is a run of memory.
  bool copy_through(int16_t value) {
    if (!target_.streams || drafts_.home[value].place != Place::nowhere ||
        !schedule_.is_only_copied(stage_, value)) {
      return false;
    }
    const StageAccess& from = stage_.accesses[stage_.values[value].index];
    const int16_t index = stage_.values[value].index;
    if (!is_dense(index) && has_strided_output(value)) return false;
    const Operand src = stream_operand(index);
    drafts_.home[value] = {Place::stream, stream_word(index)};
    for (int k = schedule_.first_output[value]; k >= 0; k = schedule_.next_output[k]) {
      const int16_t output = stage_.outputs[k].access;
      const StageAccess& to = stage_.accesses[output];
      if (!is_dense(output)) {
        transfer(Insn::view_store, to, stream_operand(output), src);
      } else if (!is_dense(index)) {
        transfer(Insn::view_load, from, stream_operand(output), src);
      } else {
        linear(Insn::copy, to.dtype, 0, {stream_operand(output), src}, to.span);
      }
    }
    return true;
  }

  void transfer(Insn insn, const StageAccess& access, Operand dst, Operand src) {
    Draft& draft = add_draft(insn, access.dtype, 0, {dst, src});
    const Extent all = extent(access.span);
    draft.fixed.size = static_cast<uint32_t>(all.full);
    if (insn == Insn::load || insn == Insn::store) {
      set_split(draft, Split::size, all);
    } else {
      add_view_dims(draft, access);
    }
    record_use(draft);
  }

  // Neighbouring dims that one stride walks are one view dim, but the split dim keeps its outer
  // neighbour strided: in a tail tile it does not fill its extent.
  void add_view_dims(Draft& draft, const StageAccess& access) {
    ViewDim* const dims = drafts_.view_dim + drafts_.view_dims;
    draft.first_view_dim = drafts_.view_dims;
    int count = 0;
    bool outer_of_split = false;
    for (int d = tiling_.rank - 1; d >= 0; --d) {  // innermost first, turned round below
      if ((access.span & wide_ & dim_bit(d)) == 0) continue;
      const bool joins = count > 0 && !outer_of_split &&
                         access.strides[d] == dims[count - 1].stride * dims[count - 1].extent;
      if (joins) {
        if (d == tiling_.split) draft.fixed.tail = static_cast<uint32_t>(dims[count - 1].extent);
        dims[count - 1].extent *= tiling_.tile[d];
      } else {
        if (d == tiling_.split) draft.fixed.tail = 1;
        dims[count++] = {tiling_.tile[d], access.strides[d]};
      }
      if (d == tiling_.split) {
        draft.fixed.tail *= static_cast<uint32_t>(tail_);
        draft.fixed.split = static_cast<uint8_t>(count);
      }
      if (d == uneven_) {
        const int64_t inner = dims[count - 1].extent / tiling_.tile[d];
        set_more(draft, count, inner * tiling_.last(d));
      }
      outer_of_split |= tiling_.ends_runs(d);
    }
    std::reverse(dims, dims + count);
    if (draft.fixed.split != 0) {
      draft.fixed.split = static_cast<uint8_t>(count + 1 - draft.fixed.split);
    }
    if (draft.more.value != 0) {
      draft.more.extent = static_cast<uint8_t>(count + 1 - draft.more.extent);
    }
    draft.fixed.aux = static_cast<uint8_t>(count);
    draft.view_dims = count;
    drafts_.view_dims += count;
  }

  void store_outputs(int16_t value, int written) {
    const Drafts::Home& home = drafts_.home[value];
    for (int k = schedule_.first_output[value]; k >= 0; k = schedule_.next_output[k]) {
      if (k == written || overflow_) continue;
      const int16_t index = stage_.outputs[k].access;
      const StageAccess& access = stage_.accesses[index];
      const bool dense = is_dense(index);
      const bool far = home.place == Place::slot && is_far(k);
      if (dense && target_.streams && !far) {
        linear(Insn::copy, access.dtype, 0, {stream_operand(index), home.operand()}, access.span);
      } else {
        transfer(dense ? Insn::store : Insn::view_store, access, stream_operand(index),
                 home.operand());
      }
    }
  }

  // Where a computed value is written: on targets that stream, straight to its first output.
  // Returns that output, or -1.
  int place_result(int16_t value) {
    const int output = schedule_.first_output[value];
    if (target_.streams && output >= 0 && !has_strided_output(value) && !is_far(output)) {
      drafts_.home[value] = {Place::stream, stream_word(stage_.outputs[output].access)};
      return output;
    }
    take_slot(value);
    return -1;
  }

  void emit_step(const Schedule::Run& run) {
    const int index = run.begin;
    const KernelStep& step = stage_.steps[index];
    const bool strided = run.reads_rows;
    for (int k = 0; k < step.arity && !strided; ++k) load(schedule_.root[step.src[k]]);
    const int written = place_result(step.dst);
    if (overflow_) return;
    const Operand dst = drafts_.home[step.dst].operand();
    if (step.insn == Insn::broadcast) {
      emit_broadcast(step, dst);
    } else if (step.axes != 0) {
      const DimMask span = stage_.values[step.src[0]].span;
      const Operand full = strided ? rows_operand(stage_.values[schedule_.root[step.src[0]]].index,
                                                  stage_.reduced_rows_begin())
                                   : expand(step.src[0], span);
      triple(step.insn, step.dtype, step.aux, {dst, full}, span, stage_.reduce_begin,
             stage_.reduce_end);
      if (!strided) release_expanded(step.src[0], full);
    } else {
      const DimMask span = stage_.values[step.dst].span;
      Operand operands[4] = {dst};
      for (int k = 0; k < step.arity; ++k) operands[k + 1] = expand(step.src[k], span);
      linear(step.insn, step.dtype, step.aux, {operands, size_t{step.arity} + 1}, span);
      for (int k = 0; k < step.arity; ++k) release_expanded(step.src[k], operands[k + 1]);
    }
    store_outputs(step.dst, written);
    for (int k = 0; k < step.arity; ++k) release(schedule_.root[step.src[k]], index);
    release(step.dst, index);
  }

  // Where the elements of `span` are, of a value that may stand for several of them.
  Operand expand(int16_t value, DimMask span) {
    const int16_t source = schedule_.root[value];
    const Operand from = drafts_.home[source].operand();
    if (stage_.values[source].kind == StageValue::Kind::scalar) return from;
    const Reach reach = reach_of(stage_.values[source].span, span, rows_).value_or(Reach::each);
    if (reach == Reach::each) return from;
    const DType dtype = stage_.values[source].dtype;
    const int64_t offset = slots_.take(extent(span).full * core::byte_size(dtype));
    overflow_ |= offset == SlotAllocator::kNone;
    if (overflow_) return from;
    const Operand to = slot_operand(static_cast<uint32_t>(offset));
    const int boundary = rows_.columns_begin();
    const int begin = reach == Reach::per_row ? boundary : 0;
    const int end = reach == Reach::per_column ? boundary : tiling_.rank;
    triple(Insn::broadcast, dtype, 0, {to, from}, span, begin, end);
    return to;
  }
  void release_expanded(int16_t value, const Operand& operand) {
    if (!overflow_ && operand != drafts_.home[schedule_.root[value]].operand()) {
      slots_.release(operand.offset);
    }
  }

  // The steps from `begin` on that drafts_.chain holds.
  void emit_chain(int begin) {
    const ChainPlan& plan = drafts_.chain;
    Operand operands[kMaxChainOperands];
    int written[kMaxChainOperands];  // the output that a value is written to, or -1
    bool has_rows = false;
    for (int k = 0; k < plan.operand_count; ++k) {
      if (!plan.operands[k].written && !plan.operands[k].strided) load(plan.operands[k].value);
    }
    for (int k = 0; k < plan.operand_count && !overflow_; ++k) {
      const auto [value, is_written, reach, strided] = plan.operands[k];
      if (is_written) written[k] = strided ? schedule_.first_output[value] : place_result(value);
      operands[k] = strided ? rows_operand(access_of(value), rows_.columns_begin())
                            : drafts_.home[value].operand();
      operands[k].access = Access::of(stage_.values[value].dtype, is_written, reach);
      has_rows = has_rows || strided || reach == Reach::per_row || reach == Reach::per_column;
    }
    if (overflow_) return;
    Draft& draft = add_draft(Insn::chain, DType{}, static_cast<uint8_t>(plan.operand_count),
                             {operands, static_cast<size_t>(plan.operand_count)});
    DVM_CHECK(drafts_.steps + plan.step_count <= kMaxDraftSteps, "too many steps in chains");
    draft.first_step = drafts_.steps;
    draft.steps = plan.step_count;
    std::copy_n(plan.steps, plan.step_count, drafts_.step + drafts_.steps);
    drafts_.steps += plan.step_count;
    const KernelStep& first = stage_.steps[begin];
    const DimMask span = stage_.values[first.axes != 0 ? first.src[0] : first.dst].span;
    const int boundary = has_rows || uneven_ >= 0 ? rows_.columns_begin() : 0;
    const Extent m = extent(span, 0, boundary), size = extent(span, boundary, tiling_.rank);
    draft.fixed.m = static_cast<uint32_t>(m.full);
    draft.fixed.size = static_cast<uint32_t>(size.full);
    set_split(draft, Split::m, m);
    set_split(draft, Split::size, size);
    for (int k = 0; k < plan.operand_count; ++k) {
      if (plan.operands[k].written) store_outputs(plan.operands[k].value, written[k]);
    }
    for (int k = 0; k < plan.operand_count; ++k) release(plan.operands[k].value, plan.end - 1);
  }

  // One instruction expands one run of neighbouring dims; several runs go through slots, the
  // innermost first, so that the largest copies are the longest runs of memory.
  void emit_broadcast(const KernelStep& step, Operand dst) {
    const DimMask goal = stage_.values[step.dst].span & wide_;
    const int16_t source = schedule_.root[step.src[0]];
    DimMask done = stage_.values[source].span & wide_;
    Operand from = drafts_.home[source].operand();
    bool temporary = false;
    for (int end = tiling_.rank; done != goal && !overflow_;) {
      while ((goal & ~done & dim_bit(end - 1)) == 0) --end;
      int begin = end - 1;
      // Dims outside `goal` have one element and interrupt nothing.
      while (begin > 0 && ((done & dim_bit(begin - 1)) == 0)) --begin;
      for (int d = begin; d < end; ++d) done |= goal & dim_bit(d);
      Operand to = dst;
      if (done != goal) {
        const int64_t offset = slots_.take(extent(done).full * core::byte_size(step.dtype));
        overflow_ |= offset == SlotAllocator::kNone;
        if (overflow_) return;
        to = slot_operand(static_cast<uint32_t>(offset));
      }
      triple(Insn::broadcast, step.dtype, 0, {to, from}, done, begin, end);
      if (temporary) slots_.release(from.offset);
      from = to;
      temporary = true;
    }
  }

  Draft& add_draft(Insn insn, DType dtype, uint8_t aux, std::initializer_list<Operand> operands) {
    return add_draft(insn, dtype, aux, std::span(operands.begin(), operands.size()));
  }
  Draft& add_draft(Insn insn, DType dtype, uint8_t aux, std::span<const Operand> operands) {
    DVM_CHECK(drafts_.count < kMaxDrafts, "too many instructions in a Stage");
    Draft& draft = drafts_.at[drafts_.count++];
    draft.fixed = Instruction{.insn = insn, .dtype = dtype, .aux = aux};
    draft.arity = static_cast<int>(operands.size());
    draft.first_operand = drafts_.operands;
    draft.view_dims = draft.steps = 0;
    draft.more = {};
    DVM_CHECK(drafts_.operands + draft.arity <= kMaxDraftOperands, "too many operands in a Stage");
    std::copy(operands.begin(), operands.end(), drafts_.operand + drafts_.operands);
    drafts_.operands += draft.arity;
    return draft;
  }

  void set_split(Draft& draft, Split split, const Extent& extent) const {
    if (extent.split) {
      draft.fixed.split = static_cast<uint8_t>(split);
      draft.fixed.tail = static_cast<uint32_t>(extent.tail);
    }
    if (!extent.uneven) return;
    DVM_CHECK(!extent.split, "an extent ends along two axes");
    set_more(draft, static_cast<int>(split), extent.other_tail);
  }
  void set_more(Draft& draft, int extent, int64_t value) const {
    draft.more = {.extent = static_cast<uint8_t>(extent),
                  .axis = static_cast<uint8_t>(uneven_axis_),
                  .value = static_cast<uint32_t>(value)};
  }

  void linear(Insn insn, DType dtype, uint8_t aux, std::span<const Operand> operands,
              DimMask span) {
    Draft& draft = add_draft(insn, dtype, aux, operands);
    const Extent all = extent(span);
    draft.fixed.size = static_cast<uint32_t>(all.full);
    set_split(draft, Split::size, all);
    record_use(draft);
  }
  void linear(Insn insn, DType dtype, uint8_t aux, std::initializer_list<Operand> operands,
              DimMask span) {
    linear(insn, dtype, aux, std::span(operands.begin(), operands.size()), span);
  }

  // [M, size, N] of the dims in `span`, `size` being those in [begin, end).
  void triple(Insn insn, DType dtype, uint8_t aux, std::initializer_list<Operand> operands,
              DimMask span, int begin, int end) {
    Draft& draft = add_draft(insn, dtype, aux, operands);
    const Extent m = extent(span, 0, begin), size = extent(span, begin, end),
                 n = extent(span, end, tiling_.rank);
    draft.fixed.m = static_cast<uint32_t>(m.full);
    draft.fixed.size = static_cast<uint32_t>(size.full);
    draft.fixed.n = static_cast<uint32_t>(n.full);
    set_split(draft, Split::m, m);
    set_split(draft, Split::size, size);
    set_split(draft, Split::n, n);
    record_use(draft);
  }

  // For the flags: the slots that the instruction just added touches.
  void record_use(const Draft& draft) {
    if (!target_.flags) return;
    SlotUse& use = drafts_.uses[drafts_.count - 1];
    use.pipe = info(draft.fixed.insn).pipe;
    use.reads = 0;
    use.around = SlotUse::kNoLoop;
    use.written = {};
    for (int k = 0; k < draft.arity; ++k) {
      const Operand& operand = drafts_.operand[draft.first_operand + k];
      if (operand.mode != Mode::slot) continue;
      const int64_t size =
          operand_elements(draft.fixed, k, false) * core::byte_size(operand_dtype(draft.fixed, k));
      const SlotUse::Range range{operand.offset, operand.offset + static_cast<uint32_t>(size)};
      (k == 0 ? use.written : use.read[use.reads++]) = range;
    }
  }

  Program write(std::span<uint64_t> words) {
    uint8_t loop_flags = 0;
    const auto count = static_cast<size_t>(drafts_.count);
    if (target_.flags) loop_flags = plan_flags({drafts_.uses, count}, {drafts_.syncs, count});
    const int64_t local = std::max(slots_.peak(), target_.reserve_bytes);
    return write_program({.stage = stage_,
                          .tiling = tiling_,
                          .target = target_,
                          .grid_dims = {grid_dims_, static_cast<size_t>(grid_rank_)},
                          .local_bytes = static_cast<uint32_t>(local),
                          .loop_flags = loop_flags,
                          .chunks_of_tile = 1},
                         drafts_, words);
  }

  const Stage& stage_;
  const Tiling& tiling_;
  const TargetTraits& target_;
  Schedules& schedules_;
  Schedule& schedule_;
  SlotAllocator slots_;
  Drafts& drafts_;
  const TileRows rows_ = schedule_.shape.rows;
  const DimMask wide_ = rows_.wide;
  int64_t tail_;                       // of the split dim
  int uneven_ = -1, uneven_axis_ = 0;  // another dim with tails, and its axis
  int grid_dims_[kMaxRank], grid_rank_ = 0;
  bool overflow_ = false;
};

}  // namespace

std::optional<Program> emit(Schedules& schedules, const Tiling& tiling, std::span<uint64_t> words,
                            Drafts& drafts) {
  return Emitter(schedules, tiling, drafts).run(words);
}

}  // namespace dvm::vm
