#include "vm/encode/chain_plan.h"

#include <algorithm>
#include <bit>

#include "vm/tile/chain_steps.h"

namespace dvm::vm {

namespace {

bool is_scalar(const Stage& stage, int16_t value) {
  return stage.values[value].kind == StageValue::Kind::scalar;
}

class ChainPlanner {
 public:
  ChainPlanner(const Stage& stage, const Schedule& schedule, int run, ChainPlan& plan)
      : stage_(stage), schedule_(schedule), run_(run), plan_(plan) {}

  void run() {
    const auto [begin, end, width, reads_rows] = schedule_.runs[run_];
    const KernelStep& first = stage_.steps[begin];
    plan_.operand_count = plan_.step_count = 0;
    end_ = end;
    width_ = width;
    span_ = stage_.values[first.axes != 0 ? value(first, 0) : first.dst].span &
            schedule_.shape.rows.wide;
    std::fill_n(known_, stage_.value_count, Known{.uses = 0, .operand = kNone, .computed = false});
    for_steps(begin, end, [this](const KernelStep& step) {
      known_[step.dst].computed = true;
      for (int k = 0; k < step.arity; ++k) ++known_[value(step, k)].uses;
    });
    load_first(begin);
    for (int i = begin; i < end_; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (schedule_.root[step.dst] != step.dst) continue;
      if (is_full()) end_ = i;
      if (i < end_) add(step);
    }
    if (end_ < end) store_live();
    plan_.end = end_;
    for (int k = 0; k < plan_.operand_count; ++k) {
      ChainPlan::Operand& operand = plan_.operands[k];
      operand.strided = operand.written ? is_written_as_rows(operand) : operand.strided;
    }
  }

 private:
  // What is known of a value. Uses are those that are still to come within the chain. Without
  // initial values: most calls find no chain, and need none of it.
  struct Known {
    uint8_t uses, operand;
    bool computed;
  };
  static constexpr uint8_t kNone = 0xff;

  int16_t value(const KernelStep& step, int k) const { return schedule_.root[step.src[k]]; }
  Reach reach(int16_t v) const {
    if (is_scalar(stage_, v)) return Reach::each;
    return reach_of(stage_.values[v].span, span_, schedule_.shape.rows).value_or(Reach::each);
  }
  // In memory, and one for all elements of the chain.
  bool is_one(int16_t v) const { return reach(v) == Reach::one; }
  bool is_single(int16_t v) const { return is_scalar(stage_, v) || is_one(v); }
  // What only a load knows how to read, and only with the width of the chain.
  bool is_of_rows(int16_t v) const { return is_repeated_by_rows(v) || is_strided(v); }
  bool is_repeated_by_rows(int16_t v) const {
    return reach(v) == Reach::per_row || reach(v) == Reach::per_column;
  }
  bool is_written_as_rows(const ChainPlan::Operand& operand) const {
    return operand.reach == Reach::each &&
           schedule_.is_written_as_rows(stage_, operand.value, end_, width_);
  }
  bool is_strided(int16_t v) const {
    return schedule_.is_rows(stage_, v, run_, width_) && reach(v) == Reach::each;
  }

  template <typename F>
  void for_steps(int begin, int end, F f) const {
    for (int i = begin; i < end; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (schedule_.root[step.dst] == step.dst) f(step);
    }
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
      plan_.operands[operand] = {v, written, reach(v), !written && is_strided(v)};
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

  bool is_tensor(int16_t v) const {
    return stage_.values[v].dtype != DType::boolean && !is_scalar(stage_, v) &&
           reach(v) == Reach::each && !known_[v].computed;
  }

  // The two operands that are read most often; or the one that is read more than once, and the
  // one that the first step reads beside it, since memory wants to be read in turns.
  void load_first(int begin) {
    int16_t chosen[2] = {kFree, kFree};
    auto uses = [&](int16_t v) { return v == kFree ? 1 : int{known_[v].uses}; };
    for_steps(begin, end_, [&](const KernelStep& step) {
      for (int k = 0; k < step.arity; ++k) {
        const int16_t v = value(step, k);
        const bool fits = is_tensor(v) && v != chosen[0] && v != chosen[1];
        const int slot = uses(chosen[1]) < uses(chosen[0]);
        if (fits && uses(v) > uses(chosen[slot])) chosen[slot] = v;
      }
    });
    const KernelStep& first = stage_.steps[begin];
    if (first.arity == 2 && (chosen[0] == kFree) != (chosen[1] == kFree)) {
      int16_t& other = chosen[chosen[1] == kFree];
      const int16_t a = value(first, 0), b = value(first, 1);
      const int16_t only = chosen[chosen[0] == kFree];
      if (a != b && (a == only || b == only) && is_tensor(a) && is_tensor(b)) {
        other = a == only ? b : a;
      }
    }
    for (int k = 0; k < 2; ++k) {
      if (chosen[k] != kFree) load(chosen[k], k + 1);
    }
  }

  // Loads a value that a step reads into a bank where it has to be or that pays.
  void bring(int16_t v, bool wants_bank, unsigned& pinned) {
    int bank = bank_of(v);
    const bool pays = known_[v].uses > 1 && free_banks() > 1 && !is_single(v);
    if (bank < 0 && (wants_bank || pays)) {
      bank = take_bank(pinned);
      load(v, bank);
    }
    if (bank >= 0) pinned |= 1u << bank;
  }

  // The last step: the sums of what a bank holds.
  void add_sum(const KernelStep& step) {
    MicroOp op{.insn = step.insn, .dtype = step.dtype, .aux = step.aux};
    unsigned pinned = 0;
    const int16_t v = value(step, 0);
    bring(v, true, pinned);
    op.src[0] = bank_place(bank_of(v));
    op.dst = static_cast<uint8_t>(kFirstOperand + plan_.operand_count);
    plan_.operands[plan_.operand_count++] = {step.dst, true, Reach::per_row, false};
    put(op);
  }

  void add(const KernelStep& step) {
    if (step.axes != 0) return add_sum(step);
    MicroOp op{.insn = step.insn, .dtype = step.dtype, .aux = step.aux};
    unsigned pinned = 0;
    bool scalars = step.arity > 1;  // so far; two of them are too many
    for (int k = 0; k < step.arity; ++k) {
      const int16_t v = value(step, k);
      const bool is_bool = stage_.values[v].dtype == DType::boolean;
      if (!is_bool) scalars = scalars && is_single(v);
      const bool last = k + 1 == step.arity;
      // Functions of one element for all are too rare for bodies.
      const bool alone = (last && scalars) || (step.arity == 1 && is_one(v));
      bring(v, is_bool || alone || is_of_rows(v), pinned);
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
    if (schedule_.has_output(step.dst) || schedule_.last_use[step.dst] >= end_) {
      store(step.dst, bank);
    }
    if (known_[step.dst].uses == 0) held_[bank] = kFree;
  }

  // Where the chain ends before its run does: what later steps read.
  void store_live() {
    for (int bank = 0; bank < kBanks; ++bank) {
      const int16_t v = held_[bank];
      if (v == kFree || in_memory(v) || schedule_.last_use[v] < end_) continue;
      store(v, bank);
    }
  }

  static constexpr int16_t kFree = -1;

  const Stage& stage_;
  const Schedule& schedule_;
  const int run_;
  ChainPlan& plan_;
  int end_ = 0;
  int width_ = kAnyWidth;
  DimMask span_ = 0;  // of the chain, of dims that tiles span
  int16_t held_[kBanks] = {kFree, kFree, kFree};
  Known known_[kMaxStageValues];
};

}  // namespace

void plan_chain(const Stage& stage, const Schedule& schedule, int run, ChainPlan& plan) {
  ChainPlanner(stage, schedule, run, plan).run();
}

}  // namespace dvm::vm
