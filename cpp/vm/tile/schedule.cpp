#include "vm/tile/schedule.h"

#include <algorithm>

#include "core/ops/sum_order.h"
#include "vm/isa/reduce_source.h"
#include "vm/tile/chain_steps.h"
#include "vm/tile/tiling.h"

namespace dvm::vm {

namespace {

using Kind = StageValue::Kind;

class Scheduler {
 public:
  // `counts`: not only decides but counts what that uses.
  Scheduler(const Stage& stage, const TargetTraits& target, const StageFacts& facts, Schedule& made,
            bool counts)
      : stage_(stage),
        target_(target),
        facts_(facts),
        made_(made),
        wide_(made.shape.rows.wide),
        counts_(counts) {
    std::fill_n(born_, stage.value_count, int16_t{-1});
    if (!counts) return;
    std::fill_n(reader_, stage.value_count, int16_t{-1});
    for (int v = 0; v < stage.value_count; ++v)
      outside_[v] = stage.values[v].kind != Kind::computed;
  }

  void run() {
    find_roots();
    made_.last_use.compute(stage_, made_.root);
    list_outputs();
    std::fill_n(made_.loaded_by, stage_.access_count, Schedule::kNever);
    find_rows();
    made_.used_as_rows = 0;
    made_.counted = counts_;
    if (counts_) made_.use = {};
    made_.run_count = 0;
    add_runs(0);
  }

  void add_runs(int begin) {
    for (int i = begin; i < stage_.step_count;) {
      if (made_.root[stage_.steps[i].dst] != stage_.steps[i].dst) {
        ++i;
        continue;
      }
      i = add_run(i);
    }
    for (int k = 0; k < stage_.output_count; ++k) {
      const int16_t value = made_.root[stage_.outputs[k].value];
      if (stage_.values[value].kind == Kind::global) set_loaded(stage_.values[value].index);
      if (!counts_) continue;
      load(value);
      release(value, stage_.step_count);
    }
  }

 private:
  DimMask span(int16_t value) const { return stage_.values[value].span; }
  int16_t source(const KernelStep& step, int k) const { return made_.root[step.src[k]]; }
  bool is_step(int i) const { return made_.root[stage_.steps[i].dst] == stage_.steps[i].dst; }

  // Broadcasts along dims of which a tile holds one element are no work, nor are those that chains
  // can read as they are.
  void find_roots() {
    for (int v = 0; v < stage_.value_count; ++v) made_.root[v] = static_cast<int16_t>(v);
    for (int i = 0; i < stage_.step_count; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (step.insn != Insn::broadcast) continue;
      const int16_t from = source(step, 0);
      const DimMask missing = span(step.dst) & ~span(from) & wide_;
      if (missing == 0 || vanishes(step)) made_.root[step.dst] = from;
    }
  }
  bool vanishes(const KernelStep& step) const {
    if (!target_.chains || !is_wide(step.dtype) || is_output(stage_, step.dst)) return false;
    const auto reach = reach_of(span(step.src[0]), span(step.dst), made_.shape.rows);
    return reach && *reach != Reach::each;
  }

  void list_outputs() {
    std::fill_n(made_.first_output, stage_.value_count, int16_t{-1});
    made_.far = 0;
    for (int k = stage_.output_count - 1; k >= 0; --k) {
      int16_t& first = made_.first_output[made_.root[stage_.outputs[k].value]];
      made_.next_output[k] = first;
      first = static_cast<int16_t>(k);
    }
  }

  void find_rows() {
    made_.may_be_rows = 0;
    if (made_.shape.column_rows == 0) return;
    for (int16_t v = 0; v < stage_.value_count; ++v) {
      const StageValue& value = stage_.values[v];
      if (value.kind != Kind::global || made_.has_output(v)) continue;
      made_.may_be_rows |= made_.shape.column_rows & uint64_t{1} << value.index;
    }
  }

  int add_run(int begin) {
    Schedule::Run& run = made_.runs[made_.run_count];
    run = {static_cast<int16_t>(begin), static_cast<int16_t>(begin + 1), kNoChain, false};
    if (!target_.chains && !target_.streams && !counts_) {  // there is nothing to decide
      ++made_.run_count;
      return begin + 1;
    }
    const int end = target_.chains ? chain_end(begin, run.width) : begin;
    if (end > begin + 1) {
      run.end = static_cast<int16_t>(end);
      add_chain(run);
    } else {
      if (end == begin) run.width = kNoChain;
      add_step(run);
    }
    ++made_.run_count;
    return run.end;
  }

  // The end of the steps over the same elements that make a chain with step `begin`, which is its
  // end where there is none.
  int chain_end(int begin, int8_t& chosen) {
    const KernelStep& first = stage_.steps[begin];
    if (first.axes != 0 || facts_.width[begin] == kNoChain) return begin;
    span_ = span(first.dst) & wide_;
    int end = begin, steps = 0;
    int8_t width = kAnyWidth;
    bool by_rows = false;
    const bool is_plain = facts_.one_span && made_.may_be_rows == 0;
    const KernelStep* last = &first;
    for (; end < stage_.step_count; ++end) {
      const KernelStep& step = stage_.steps[end];
      if (!is_step(end)) continue;
      const int8_t own = facts_.width[end];
      if ((span(step.dst) & wide_) != span_ || own == kNoChain) break;
      if (own != kAnyWidth && width != kAnyWidth && own != width) break;
      const int8_t joined = width == kAnyWidth ? own : width;
      if (!is_plain && !fits_rows(step, joined, by_rows)) break;
      width = joined;
      last = &step;
      ++steps;
    }
    if (steps > 0 && end < stage_.step_count && sums_up(stage_.steps[end], begin, end, width)) {
      ++end;
      ++steps;
    }
    chosen = width;
    // One step is worth a chain where it is a function, or reads an element for several, or where
    // it lies.
    const auto is_worth_it = [&] {
      return by_rows || target_.chains->of(ChainElements::floats, last->insn).alone ||
             made_.is_written_as_rows(stage_, last->dst, end, width);
    };
    return steps > 1 || (steps == 1 && is_worth_it()) ? end : begin;
  }
  // Whether a chain of that width can read what the step reads; sets `by_rows` where it reads
  // operands otherwise than element by element, if it can.
  bool fits_rows(const KernelStep& step, int width, bool& by_rows) const {
    bool rows = by_rows;
    for (int k = 0; k < step.arity; ++k) {
      const int16_t v = source(step, k);
      const Reach whom = reach(v);
      const DType dtype = stage_.values[step.src[k]].dtype;
      if ((whom == Reach::per_row || whom == Reach::per_column) &&
          (!is_wide(dtype) || core::byte_size(dtype) != width)) {
        return false;
      }
      rows = rows || whom != Reach::each || made_.is_rows(stage_, v, made_.run_count, width);
    }
    by_rows = rows;
    return true;
  }
  Reach reach(int16_t v) const {
    if (stage_.values[v].kind == Kind::scalar || (span(v) & wide_) == span_) return Reach::each;
    return reach_of(span(v), span_, made_.shape.rows).value_or(Reach::each);
  }
  // Whether the step is the sum of rows of what the steps [begin, end) compute.
  bool sums_up(const KernelStep& step, int begin, int end, int width) const {
    if (!sums_rows(stage_, step, width) || !sums_rows_of_tile(step)) return false;
    const int16_t value = source(step, 0);
    return std::any_of(stage_.steps + begin, stage_.steps + end,
                       [&](const KernelStep& of) { return of.dst == value; });
  }
  // Whether the dims that make the rows of a tile are those that the sum leaves.
  bool sums_rows_of_tile(const KernelStep& step) const {
    const DimMask columns = made_.shape.rows.columns;
    const DimMask rows = columns == 0 ? DimMask{0} : static_cast<DimMask>(span_ & ~columns);
    const int16_t value = source(step, 0);
    return span(value) == span(step.src[0]) && (span(step.dst) & wide_) == rows &&
           (span(value) & wide_) == span_;
  }

  // An input that the chain reads: as rows, or loaded.
  void load_for_chain(const Schedule::Run& run, int16_t v) {
    const StageValue& value = stage_.values[v];
    if (made_.is_rows(stage_, v, made_.run_count, run.width) && reach(v) == Reach::each) {
      made_.used_as_rows |= uint64_t{1} << value.index;
    } else {
      set_loaded(value.index);
    }
  }
  void write_rows(int16_t v, const Schedule::Run& run) {
    if (!made_.is_written_as_rows(stage_, v, run.end, run.width)) return;
    made_.used_as_rows |= uint64_t{1} << stage_.outputs[made_.first_output[v]].access;
  }
  void load_for_step(Schedule::Run& run, int16_t v) {
    const KernelStep& step = stage_.steps[run.begin];
    const int16_t access = stage_.values[v].index;
    const uint64_t bit = uint64_t{1} << access;
    if (step.axes != 0 && (made_.shape.reduced_rows & bit) != 0 && !made_.has_output(v) &&
        made_.loaded_by[access] == Schedule::kNever) {
      run.reads_rows = true;
      made_.used_as_rows |= bit;
    } else {
      set_loaded(access);
    }
  }
  void set_loaded(int access) {
    int16_t& by = made_.loaded_by[access];
    by = std::min(by, static_cast<int16_t>(made_.run_count));
  }

  int64_t weight(int16_t v) const { return facts_.weight(stage_.values[v].dtype, span(v)); }

  // Whether a computed value is written straight to where it leaves the tile.
  bool leaves(int16_t v, bool is_chain) {
    const int output = made_.first_output[v];
    if (!target_.streams || output < 0) return false;
    // A chain has its results in registers: by way of a slot they would take longer.
    const bool far = !is_chain && (facts_.large >> output & 1) != 0;
    for (int k = output; far && k >= 0; k = made_.next_output[k]) made_.far |= OutputMask{1} << k;
    return !far;
  }

  // A step by itself, or a chain of one.
  void add_step(Schedule::Run& run) {
    const int i = run.begin;
    const KernelStep& step = stage_.steps[i];
    const bool is_chain = run.width != kNoChain;
    born_[step.dst] = static_cast<int16_t>(i);
    for (int k = 0; k < step.arity && target_.streams; ++k) {
      const int16_t v = source(step, k);
      if (stage_.values[v].kind != Kind::global) continue;
      is_chain ? load_for_chain(run, v) : load_for_step(run, v);
    }
    if (is_chain) write_rows(step.dst, run);
    const bool outside = leaves(step.dst, is_chain);
    if (!counts_) return;
    for (int k = 0; k < step.arity; ++k) load(source(step, k));
    outside_[step.dst] = outside;
    if (!outside) add(weight(step.dst), 1);
    if (step.insn == Insn::broadcast) {
      count_expanded(step.dst, step.dtype);
    } else {
      if (!is_chain && target_.chains) count_operands(step);
      if (!outside) made_.use.moved += weight(step.dst);
    }
    for (int k = 0; k < step.arity && target_.streams; ++k) read(source(step, k), i);
    for (int k = 0; k < step.arity; ++k) release(source(step, k), i);
    release(step.dst, i);
    ++made_.use.instructions;
    if (!is_chain) return;
    ++made_.use.chains;
    ++made_.use.micro_ops;
  }
  void count_expanded(int16_t value, DType dtype) {
    made_.use.expanded[cost_column(dtype)] += weight(value) / core::byte_size(dtype);
  }
  // What stands for several elements is expanded for a step that is no chain.
  void count_operands(const KernelStep& step) {
    const DimMask of = step.axes != 0 ? span(step.src[0]) : span(step.dst);
    int64_t held = 0;
    int slots = 0;
    for (int k = 0; k < step.arity; ++k) {
      const StageValue& value = stage_.values[source(step, k)];
      if (value.kind == Kind::scalar || ((value.span ^ of) & wide_) == 0) continue;
      count_expanded(step.src[k], value.dtype);
      held += weight(step.src[k]);
      ++slots;
      ++made_.use.instructions;
    }
    if (slots == 0) return;
    add(held, slots);
    add(-held, -slots);
  }

  // What is born and dies within a chain is in registers, by and large.
  void add_chain(const Schedule::Run& run) {
    for (int i = run.begin; i < run.end; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (!is_step(i)) continue;
      for (int k = 0; k < step.arity; ++k) {
        const int16_t v = source(step, k);
        if (is_inside(v, run.begin)) continue;
        if (stage_.values[v].kind == Kind::global) load_for_chain(run, v);
        if (!counts_) continue;
        load(v);
        read(v, run.begin);
      }
      born_[step.dst] = static_cast<int16_t>(i);
      write_rows(step.dst, run);
      const bool dies = made_.last_use[step.dst] < run.end && !made_.has_output(step.dst);
      const bool outside = dies || leaves(step.dst, true);
      if (!counts_) continue;
      outside_[step.dst] = outside;
      if (outside) continue;
      add(weight(step.dst), 1);
      made_.use.moved += weight(step.dst);
    }
    if (!counts_) return;
    for (int i = run.begin; i < run.end && slots_ > 0; ++i) {
      const KernelStep& step = stage_.steps[i];
      for (int k = 0; k < step.arity && is_step(i); ++k) {
        if (!is_inside(source(step, k), run.begin)) release(source(step, k), run.end - 1);
      }
    }
    made_.use.instructions += 1;
    made_.use.chains += 1;
    made_.use.micro_ops += run.end - run.begin;
  }
  // Whether step `begin` or one behind it computed the value.
  bool is_inside(int16_t v, int begin) const { return born_[v] >= begin; }

  void add(int64_t bytes, int slots) {
    live_ += bytes;
    slots_ += slots;
    made_.use.live = std::max(made_.use.live, live_);
    made_.use.slots = std::max(made_.use.slots, slots_);
  }
  void load(int16_t v) {
    const StageValue& value = stage_.values[v];
    if (value.kind != Kind::global) return;
    if (target_.streams || !outside_[v]) return;
    outside_[v] = false;
    add(weight(v), 1);
  }
  // The first time an operand is read it comes from where it is anyway; instructions are known by
  // their first step.
  void read(int16_t v, int instruction) {
    const Kind kind = stage_.values[v].kind;
    if (kind == Kind::scalar || reader_[v] == instruction) return;
    if (born_[v] >= 0 && stage_.steps[born_[v]].insn == Insn::broadcast) return;
    if (kind == Kind::computed || reader_[v] >= 0) made_.use.moved += weight(v);
    reader_[v] = static_cast<int16_t>(instruction);
  }
  void release(int16_t v, int step) {
    if (outside_[v] || made_.last_use[v] > step) return;
    outside_[v] = true;
    add(-weight(v), -1);
  }

  const Stage& stage_;
  const TargetTraits& target_;
  const StageFacts& facts_;
  Schedule& made_;
  const DimMask wide_;
  const bool counts_;
  DimMask span_ = 0;  // of the chain at hand, of dims that tiles span
  int64_t live_ = 0;
  int slots_ = 0;
  bool outside_[kMaxStageValues];    // not (or not yet) in a slot
  int16_t born_[kMaxStageValues];    // computed values: the step, once it has been met
  int16_t reader_[kMaxStageValues];  // the last instruction so far, or -1
};

// Whether the output is so large that its tiles are stored past the caches.
bool is_large(const Stage& stage, const StageOutput& output) {
  const StageAccess& access = stage.accesses[output.access];
  if (stage.values[output.value].kind != Kind::computed) return false;
  double bytes = core::byte_size(access.dtype);
  for (int d = 0; d < stage.rank; ++d) {
    // Where it stands still, what is made for one tile lies over that of another.
    const bool moves = (access.span & dim_bit(d)) != 0 && access.strides[d] != 0;
    if (moves) bytes *= static_cast<double>(stage.sizes[d]);
  }
  return bytes >= cost_table().store_far_bytes;
}

void find_facts(const Stage& stage, const TargetTraits& target, StageFacts& facts) {
  facts.unit = std::min(stage.reduced_elements(), core::kSumChunk);
  facts.reduced = stage.reduces() ? stage.reduced() : static_cast<DimMask>(~0);
  facts.streamed = 0;
  facts.reductions = 0;
  facts.large = 0;
  facts.one_span = true;
  const DimMask first = stage.step_count == 0 ? DimMask{0} : stage.values[stage.steps[0].dst].span;
  for (int i = 0; i < stage.step_count; ++i) {
    const KernelStep& step = stage.steps[i];
    facts.reductions += step.axes != 0;
    if (target.chains) facts.width[i] = chain_width(*target.chains, stage, step);
    facts.one_span = facts.one_span && stage.values[step.dst].span == first;
    for (int k = 0; k < step.arity && facts.one_span; ++k) {
      const StageValue& value = stage.values[step.src[k]];
      facts.one_span = value.kind == Kind::scalar || value.span == first;
    }
  }
  if (target.streams) {
    for (int a = 0; a < stage.access_count; ++a) {
      facts.streamed += facts.weight(stage.accesses[a].dtype, stage.accesses[a].span);
    }
  }
  if (target.policy != TilePolicy::caches) return;
  for (int k = 0; k < stage.output_count; ++k) {
    if (is_large(stage, stage.outputs[k])) facts.large |= OutputMask{1} << k;
  }
}

}  // namespace

void Schedules::begin(const Stage& stage, const TargetTraits& target) {
  stage_ = &stage;
  target_ = &target;
  made_ = 0;
  find_facts(stage, target, facts_);
}

Schedule& Schedules::of(const Tiling& tiling, bool counted) {
  const TileShape shape = shape_of(*stage_, tiling, *target_);
  // Of what decides nothing here, shapes may differ.
  TileShape key = shape;
  key.dense = 0;
  if (facts_.one_span) key.rows = {};
  int k = 0;
  while (k < std::min(made_, kKept) && keys_[k] != key) ++k;
  const bool known = k < std::min(made_, kKept);
  if (!known) k = made_++ % kKept;
  kept_[k].shape = shape;
  if (!known || (counted && !kept_[k].counted)) {
    keys_[k] = key;
    Scheduler(*stage_, *target_, facts_, kept_[k], counted).run();
  }
  return kept_[k];
}

void Schedules::cut(Schedule& schedule, int run, int end) const {
  for (int a = 0; a < stage_->access_count; ++a) {
    if (schedule.loaded_by[a] > run) schedule.loaded_by[a] = Schedule::kNever;
  }
  schedule.runs[run].end = static_cast<int16_t>(end);
  schedule.run_count = run + 1;
  Scheduler(*stage_, *target_, facts_, schedule, false).add_runs(end);
}

}  // namespace dvm::vm
