#include "vm/tile/stage_use.h"

#include <algorithm>

#include "core/ops/sum_order.h"
#include "vm/encode/chain_plan.h"
#include "vm/target/cost.h"
#include "vm/tile/liveness.h"

namespace dvm::vm {

namespace {

// Each value, but of a broadcast that may be no work what it repeats.
void find_roots(const Stage& stage, bool chains, int16_t* root) {
  for (int v = 0; v < stage.value_count; ++v) root[v] = static_cast<int16_t>(v);
  for (int i = 0; i < stage.step_count && chains; ++i) {
    const KernelStep& step = stage.steps[i];
    if (may_vanish(stage, step)) root[step.dst] = root[step.src[0]];
  }
}

class Counter {
 public:
  Counter(const Stage& stage, const TargetTraits& target) : stage_(stage), target_(target) {
    use_.unit = std::min(stage.reduced_elements(), core::kSumChunk);
  }

  StageUse run() {
    for (int v = 0; v < stage_.value_count; ++v) {
      outside_[v] = stage_.values[v].kind != StageValue::Kind::computed;
      reader_[v] = -1;
    }
    find_roots(stage_, target_.chains, root_);
    last_use_.compute(stage_, root_);
    if (target_.streams) {
      for (int a = 0; a < stage_.access_count; ++a) {
        use_.streamed += weight(stage_.accesses[a].dtype, stage_.accesses[a].span);
      }
      for (int k = 0; k < stage_.output_count; ++k) {
        const StageOutput& output = stage_.outputs[k];
        if (!is_far(stage_, output, target_)) outside_[output.value] = true;
      }
    }
    for (int i = 0; i < stage_.step_count;) {
      if (root_[stage_.steps[i].dst] != stage_.steps[i].dst) {
        ++i;
        continue;
      }
      const int end = run_end(i);
      end > i + 1 ? count_chain(i, end) : count_step(i);
      i = end;
    }
    for (int k = 0; k < stage_.output_count; ++k) {
      load(stage_.outputs[k].value);
      release(stage_.outputs[k].value, stage_.step_count);
    }
    return use_;
  }

 private:
  int64_t weight(DType dtype, DimMask span) const {
    if (span == 0) return 0;  // one element: the padding of slots has room for it
    const bool is_short = stage_.reduces() && (span & stage_.reduced()) == 0;
    return core::byte_size(dtype) * (is_short ? 1 : use_.unit);
  }
  int64_t weight(int16_t v) const { return weight(stage_.values[v].dtype, stage_.values[v].span); }

  // The end of the steps that become one instruction with step `begin`.
  int run_end(int begin) const {
    return std::max(begin + 1, target_.chains ? chain_end(stage_, root_, begin) : begin);
  }

  void count_step(int i) {
    const KernelStep& step = stage_.steps[i];
    const bool is_broadcast = step.insn == Insn::broadcast;
    born_[step.dst] = static_cast<int16_t>(i);
    for (int k = 0; k < step.arity; ++k) load(root_[step.src[k]]);
    if (!outside_[step.dst]) add(step.dst, 1);
    for (int k = 0; k < step.arity; ++k) read(root_[step.src[k]], i);
    if (!is_broadcast && !outside_[step.dst]) use_.moved += weight(step.dst);
    for (int k = 0; k < step.arity; ++k) release(root_[step.src[k]], i);
    release(step.dst, i);
    use_.instructions += !is_broadcast;
  }

  // What is born and dies within a chain is in registers, by and large.
  void count_chain(int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (root_[step.dst] != step.dst) continue;
      for (int k = 0; k < step.arity; ++k) {
        if (!is_inside(root_[step.src[k]], begin)) load(root_[step.src[k]]);
      }
      born_[step.dst] = static_cast<int16_t>(i);
      if (last_use_[step.dst] < end && !is_output(stage_, step.dst)) outside_[step.dst] = true;
      if (outside_[step.dst]) continue;
      add(step.dst, 1);
      use_.moved += weight(step.dst);
    }
    for (int i = begin; i < end; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (root_[step.dst] != step.dst) continue;
      for (int k = 0; k < step.arity; ++k) {
        if (is_inside(root_[step.src[k]], begin)) continue;
        read(root_[step.src[k]], begin);
        release(root_[step.src[k]], end - 1);
      }
    }
    use_.instructions += 1;
    use_.chains += 1;
    use_.micro_ops += end - begin;
  }
  // Whether step `begin` or one behind it computed the value.
  bool is_inside(int16_t v, int begin) const {
    return stage_.values[v].kind == StageValue::Kind::computed && born_[v] >= begin;
  }

  void add(int16_t v, int sign) {
    live_ += sign * weight(v);
    slots_ += sign;
    use_.live = std::max(use_.live, live_);
    use_.slots = std::max(use_.slots, slots_);
  }
  void load(int16_t v) {
    if (target_.streams || !outside_[v] || stage_.values[v].kind != StageValue::Kind::global) {
      return;
    }
    outside_[v] = false;
    add(v, 1);
  }
  // The first time an operand is read it comes from where it is anyway; instructions are known by
  // their first step.
  void read(int16_t v, int instruction) {
    const StageValue::Kind kind = stage_.values[v].kind;
    if (kind == StageValue::Kind::scalar || reader_[v] == instruction) return;
    if (kind == StageValue::Kind::computed && stage_.steps[born_[v]].insn == Insn::broadcast)
      return;
    if (kind == StageValue::Kind::computed || reader_[v] >= 0) use_.moved += weight(v);
    reader_[v] = static_cast<int16_t>(instruction);
  }
  void release(int16_t v, int step) {
    if (outside_[v] || last_use_[v] > step) return;
    outside_[v] = true;
    add(v, -1);
  }

  const Stage& stage_;
  const TargetTraits& target_;
  int16_t root_[kMaxStageValues];
  LastUse last_use_;
  StageUse use_;
  int64_t live_ = 0;
  int slots_ = 0;
  bool outside_[kMaxStageValues];    // not (or not yet) in a slot
  int16_t born_[kMaxStageValues];    // computed values: the step, once it has been met
  int16_t reader_[kMaxStageValues];  // the last instruction so far, or -1
};

// Whether a chain computes the value, where tiles span all dims; for targets that make chains.
bool is_of_chain(const Stage& stage, int16_t value) {
  int16_t root[kMaxStageValues];
  find_roots(stage, true, root);
  for (int i = 0; i < stage.step_count;) {
    const int end = chain_end(stage, root, i);
    for (int k = i; k < end; ++k) {
      if (stage.steps[k].dst == value) return true;
    }
    i = std::max(i + 1, end);
  }
  return false;
}

}  // namespace

bool is_far(const Stage& stage, const StageOutput& output, const TargetTraits& target) {
  if (target.policy != TilePolicy::caches) return false;
  const StageAccess& access = stage.accesses[output.access];
  if (stage.values[output.value].kind != StageValue::Kind::computed) return false;
  double bytes = core::byte_size(access.dtype);
  for (int d = 0; d < stage.rank; ++d) {
    if ((access.span & dim_bit(d)) != 0) bytes *= static_cast<double>(stage.sizes[d]);
  }
  // A chain has its results in registers: by way of a slot they would take longer.
  return bytes >= cost_table().store_far_bytes &&
         !(target.chains && is_of_chain(stage, output.value));
}

StageUse use_of(const Stage& stage, const TargetTraits& target) {
  return Counter(stage, target).run();
}

}  // namespace dvm::vm
