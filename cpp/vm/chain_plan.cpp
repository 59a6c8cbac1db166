#include "vm/chain_plan.h"

#include <algorithm>
#include <array>

namespace dvm::vm {

namespace {

// What targets have fast bodies for: a step that is none ends a chain.
constexpr auto kChained = [] {
  std::array<bool, kInsnCount> chained{};
  for (const Insn insn :
       {Insn::add,   Insn::sub,        Insn::mul,    Insn::div,      Insn::maximum, Insn::minimum,
        Insn::neg,   Insn::abs,        Insn::fabs,   Insn::positive, Insn::sqrt,    Insn::square,
        Insn::floor, Insn::ceil,       Insn::trunc,  Insn::rint,     Insn::copy,    Insn::cmp,
        Insn::isnan, Insn::reciprocal, Insn::select, Insn::exp,      Insn::tanh}) {
    chained[static_cast<size_t>(insn)] = true;
  }
  return chained;
}();

bool is_scalar(const Stage& stage, int16_t value) {
  return stage.values[value].kind == StageValue::Kind::scalar;
}

bool may_chain(const Stage& stage, const KernelStep& step) {
  return kChained[static_cast<size_t>(step.insn)] &&
         (step.dtype == DType::f32 || step.dtype == DType::f64) &&
         !(step.insn == Insn::select && is_scalar(stage, step.src[0]));
}

class Planner {
 public:
  Planner(const ChainContext& context, ChainPlan& plan)
      : context_(context), stage_(context.stage), plan_(plan) {}

  void run(int begin) {
    plan_.operand_count = plan_.step_count = 0;
    plan_.end = begin;
    const int end = find_end(begin);
    if (end == begin) return;
    end_ = end;
    std::fill_n(known_, stage_.value_count, Known{.uses = 0, .operand = kNone, .computed = false});
    for_steps(begin, end, [this](const KernelStep& step) {
      known_[step.dst].computed = true;
      for (int k = 0; k < step.arity; ++k) ++known_[value(step, k)].uses;
    });
    load_first(begin);
    for (int i = begin; i < end_; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (context_.root[step.dst] != step.dst) continue;
      if (is_full()) end_ = i;
      if (i < end_) add(step);
    }
    if (end_ < end) store_live();
    plan_.end = end_;
  }

 private:
  // What is known of a value. Uses are those that are still to come within the chain. Without
  // initial values: most calls find no chain, and need none of it.
  struct Known {
    uint8_t uses, operand;
    bool computed;
  };
  static constexpr uint8_t kNone = 0xff;

  int16_t value(const KernelStep& step, int k) const { return context_.root[step.src[k]]; }

  template <typename F>
  void for_steps(int begin, int end, F f) const {
    for (int i = begin; i < end; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (context_.root[step.dst] == step.dst) f(step);
    }
  }

  // The end of the run of steps over the same elements; `begin` where it has less than two.
  int find_end(int begin) const {
    const DimMask span = stage_.values[stage_.steps[begin].dst].span & context_.wide;
    int end = begin, steps = 0;
    for (; end < stage_.step_count; ++end) {
      const KernelStep& step = stage_.steps[end];
      if (context_.root[step.dst] != step.dst) continue;
      const bool same = (stage_.values[step.dst].span & context_.wide) == span;
      // All elements of a chain have one width, so that banks hold equally many of them.
      if (!same || !may_chain(stage_, step) || step.dtype != stage_.steps[begin].dtype) break;
      ++steps;
    }
    return steps < 2 ? begin : end;
  }

  // A step adds at most four operands and eight micro-ops.
  bool is_full() const {
    return plan_.operand_count + 4 > kMaxChainOperands ||
           plan_.step_count + 8 > ChainPlan::kMaxSteps;
  }

  void put(MicroOp op) { plan_.steps[plan_.step_count++] = op; }

  static uint8_t bank_place(int bank) { return static_cast<uint8_t>(kFirstBank + bank); }

  uint8_t operand_place(int16_t v, bool written) {
    uint8_t& operand = known_[v].operand;
    if (operand == kNone) {
      operand = static_cast<uint8_t>(plan_.operand_count++);
      plan_.operands[operand] = {v, written};
    }
    return static_cast<uint8_t>(kFirstOperand + operand);
  }

  int bank_of(int16_t v) const {
    for (int bank = 0; bank < kBanks; ++bank) {
      if (held_[bank] == v) return bank;
    }
    return -1;
  }
  int free_banks() const { return static_cast<int>(std::count(held_, held_ + kBanks, kFree)); }
  bool in_memory(int16_t v) const { return !known_[v].computed || known_[v].operand != kNone; }

  void load(int16_t v, int bank) {
    MicroOp op{.insn = Insn::copy, .dtype = stage_.values[v].dtype, .dst = bank_place(bank)};
    op.src[0] = operand_place(v, false);
    put(op);
    held_[bank] = v;
  }

  void store(int16_t v, int bank) {
    MicroOp op{.insn = Insn::copy, .dtype = stage_.values[v].dtype};
    op.src[0] = bank_place(bank);
    op.dst = operand_place(v, true);
    put(op);
  }

  // A bank for another value: a free one, else the one whose value is in memory anyway or is used
  // least, which goes there. Banks of `pinned` stay.
  int take_bank(unsigned pinned) {
    int best = -1, least = INT32_MAX;
    for (int bank = 0; bank < kBanks; ++bank) {
      if (held_[bank] == kFree) return bank;
      const int cost = known_[held_[bank]].uses + (in_memory(held_[bank]) ? 0 : 256);
      if ((pinned >> bank & 1) != 0 || cost >= least) continue;
      best = bank;
      least = cost;
    }
    if (!in_memory(held_[best])) store(held_[best], best);
    held_[best] = kFree;
    return best;
  }

  // The two operands that are read most often.
  void load_first(int begin) {
    int16_t chosen[2] = {kFree, kFree};
    auto uses = [&](int16_t v) { return v == kFree ? 1 : int{known_[v].uses}; };
    for_steps(begin, end_, [&](const KernelStep& step) {
      for (int k = 0; k < step.arity; ++k) {
        const int16_t v = value(step, k);
        const bool fits = stage_.values[v].dtype != DType::boolean && !is_scalar(stage_, v) &&
                          !known_[v].computed && v != chosen[0] && v != chosen[1];
        const int slot = uses(chosen[1]) < uses(chosen[0]);
        if (fits && uses(v) > uses(chosen[slot])) chosen[slot] = v;
      }
    });
    for (int k = 0; k < 2; ++k) {
      if (chosen[k] != kFree) load(chosen[k], k + 1);
    }
  }

  // Loads a value that a step reads into a bank where it has to be or that pays.
  void bring(int16_t v, bool wants_bank, unsigned& pinned) {
    int bank = bank_of(v);
    const bool pays = known_[v].uses > 1 && free_banks() > 1 && !is_scalar(stage_, v);
    if (bank < 0 && (wants_bank || pays)) {
      bank = take_bank(pinned);
      load(v, bank);
    }
    if (bank >= 0) pinned |= 1u << bank;
  }

  void add(const KernelStep& step) {
    MicroOp op{.insn = step.insn, .dtype = step.dtype, .aux = step.aux};
    const bool chooses = step.insn == Insn::select;
    unsigned pinned = 0;
    bool scalars = step.arity > 1;  // so far; two of them are too many
    for (int k = 0; k < step.arity; ++k) {
      const bool condition = chooses && k == 0;
      const int16_t v = value(step, k);
      if (!condition) scalars = scalars && is_scalar(stage_, v);
      const bool last = k + 1 == step.arity;
      bring(v, condition || (last && scalars), pinned);
    }
    int banks[3];
    for (int k = 0; k < step.arity; ++k) banks[k] = bank_of(value(step, k));
    for (int k = 0; k < step.arity; ++k) --known_[value(step, k)].uses;
    for (int16_t& v : held_) {
      if (v != kFree && known_[v].uses == 0) v = kFree;
    }
    const int bank = take_bank(0);
    op.dst = bank_place(bank);
    // Operands are numbered in order of first use: those of the loads and the store above come
    // first.
    for (int k = 0; k < step.arity; ++k) {
      op.src[k] = banks[k] < 0 ? operand_place(value(step, k), false) : bank_place(banks[k]);
    }
    put(op);
    held_[bank] = step.dst;
    if (context_.first_output[step.dst] >= 0 || context_.last_use[step.dst] >= end_) {
      store(step.dst, bank);
    }
    if (known_[step.dst].uses == 0) held_[bank] = kFree;
  }

  // Where the chain ends before its run does: what later steps read.
  void store_live() {
    for (int bank = 0; bank < kBanks; ++bank) {
      const int16_t v = held_[bank];
      if (v == kFree || in_memory(v) || context_.last_use[v] < end_) continue;
      store(v, bank);
    }
  }

  static constexpr int16_t kFree = -1;

  const ChainContext& context_;
  const Stage& stage_;
  ChainPlan& plan_;
  int end_ = 0;
  int16_t held_[kBanks] = {kFree, kFree, kFree};
  Known known_[kMaxStageValues];
};

}  // namespace

void plan_chain(const ChainContext& context, int begin, ChainPlan& plan) {
  Planner(context, plan).run(begin);
}

bool is_one_chain(const Stage& stage) {
  if (stage.rank != 1 || stage.reduces() || stage.step_count < 2) return false;
  for (int a = 0; a < stage.access_count; ++a) {
    const StageAccess& access = stage.accesses[a];
    if (access.span != dim_bit(0) || access.strides[0] != core::byte_size(access.dtype)) {
      return false;
    }
  }
  int16_t itself[kMaxStageValues];
  for (int v = 0; v < stage.value_count; ++v) itself[v] = static_cast<int16_t>(v);
  LastUse last_use;
  last_use.compute(stage, itself);
  int live = 0;  // computed values
  for (int i = 0; i < stage.step_count; ++i) {
    const KernelStep& step = stage.steps[i];
    if (!may_chain(stage, step) || step.dtype != stage.steps[0].dtype ||
        stage.values[step.dst].span != dim_bit(0)) {
      return false;
    }
    int loaded = 0;
    for (int k = 0; k < step.arity; ++k) {
      const StageValue& source = stage.values[step.src[k]];
      loaded += source.dtype == DType::boolean && source.kind == StageValue::Kind::global;
      const bool again = std::find(step.src, step.src + k, step.src[k]) != step.src + k;
      if (source.kind == StageValue::Kind::computed && last_use[step.src[k]] == i && !again) --live;
    }
    if (++live + loaded > kBanks) return false;
    if (last_use[step.dst] < 0) --live;
  }
  return true;
}

}  // namespace dvm::vm
