#include "vm/chain_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>

namespace dvm::vm {

namespace {

// What targets have fast bodies for: a step that is none ends a chain.
using InsnSet = std::array<bool, kInsnCount>;
constexpr InsnSet set_of(std::initializer_list<Insn> insns) {
  InsnSet set{};
  for (const Insn insn : insns) set[static_cast<size_t>(insn)] = true;
  return set;
}
constexpr InsnSet kOfFloats = set_of(
    {Insn::add,   Insn::sub,      Insn::mul,   Insn::div,        Insn::maximum, Insn::minimum,
     Insn::neg,   Insn::abs,      Insn::fabs,  Insn::positive,   Insn::sqrt,    Insn::square,
     Insn::floor, Insn::ceil,     Insn::trunc, Insn::rint,       Insn::copy,    Insn::cmp,
     Insn::isnan, Insn::isfinite, Insn::isinf, Insn::reciprocal, Insn::select,  Insn::exp,
     Insn::tanh,  Insn::signbit,  Insn::expm1, Insn::exp2,       Insn::log,     Insn::log1p,
     Insn::log2,  Insn::log10,    Insn::sin,   Insn::cos,        Insn::erf,     Insn::fmax,
     Insn::fmin,  Insn::copysign, Insn::sign,  Insn::deg2rad,    Insn::rad2deg});
constexpr InsnSet kOfIntegers =
    set_of({Insn::add,    Insn::sub,    Insn::mul,         Insn::maximum,    Insn::minimum,
            Insn::neg,    Insn::abs,    Insn::positive,    Insn::square,     Insn::copy,
            Insn::cmp,    Insn::select, Insn::bitwise_and, Insn::bitwise_or, Insn::bitwise_xor,
            Insn::invert, Insn::fmax,   Insn::fmin,        Insn::left_shift, Insn::right_shift});
constexpr InsnSet kOfBools =
    set_of({Insn::add, Insn::mul, Insn::maximum, Insn::minimum, Insn::logical_and, Insn::logical_or,
            Insn::logical_xor, Insn::logical_not, Insn::bitwise_and, Insn::bitwise_or,
            Insn::bitwise_xor, Insn::invert});

bool is_scalar(const Stage& stage, int16_t value) {
  return stage.values[value].kind == StageValue::Kind::scalar;
}

// All elements of a chain are computed with in one width, so that banks hold equally many of them;
// narrower ones only come from memory, go there, or are made of others by a cast.
constexpr int kNever = -1, kAnyWidth = 0;

bool is_wide(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
}

int width_of_cast(DType to, DType from) {
  const int width = std::max(core::byte_size(to), core::byte_size(from));
  const auto wide = [&](DType d) { return is_wide(d) && core::byte_size(d) == width; };
  const auto narrow = [&](DType d) {
    return d == DType::u8 || (width == 4 ? d == DType::f16 : d == DType::f32 || d == DType::i32);
  };
  if (from == DType::boolean) return wide(to) ? width : kNever;
  if (to == DType::boolean) return wide(from) ? width : kNever;
  if (wide(to)) return wide(from) || narrow(from) ? width : kNever;
  // Floats become narrow integers by way of i32, and integers narrow floats in one rounding.
  const bool by_way = core::is_floating(from) != core::is_floating(to);
  const bool works = !by_way || (from == DType::f32 && to == DType::u8);
  return wide(from) && narrow(to) && works ? width : kNever;
}

// In bytes.
int chain_width(const Stage& stage, const KernelStep& step) {
  const auto within = [&](const InsnSet& set) { return set[static_cast<size_t>(step.insn)]; };
  for (int k = 0; k < step.arity; ++k) {
    const StageValue& source = stage.values[step.src[k]];
    const bool narrow = !is_wide(source.dtype);
    if (narrow && is_scalar(stage, step.src[k])) return kNever;
  }
  if (step.insn == Insn::cast) return width_of_cast(step.dtype, static_cast<DType>(step.aux));
  switch (step.dtype) {
    case DType::boolean:
      return within(kOfBools) ? kAnyWidth : kNever;
    case DType::i32:
    case DType::i64:
      return within(kOfIntegers) ? core::byte_size(step.dtype) : kNever;
    case DType::f32:
    case DType::f64:
      return within(kOfFloats) ? core::byte_size(step.dtype) : kNever;
    default:
      return kNever;
  }
}

// Whether the step may stand in a chain of that width, which it may determine.
bool joins(const Stage& stage, const KernelStep& step, int& width) {
  const int own = chain_width(stage, step);
  if (own == kNever || (own != kAnyWidth && width != kAnyWidth && own != width)) return false;
  if (width == kAnyWidth) width = own;
  return true;
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
  // In memory, and one for all elements of the chain.
  bool is_one(int16_t v) const {
    return !is_scalar(stage_, v) && (stage_.values[v].span & context_.wide) == 0 && span_ != 0;
  }
  bool is_single(int16_t v) const { return is_scalar(stage_, v) || is_one(v); }

  template <typename F>
  void for_steps(int begin, int end, F f) const {
    for (int i = begin; i < end; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (context_.root[step.dst] == step.dst) f(step);
    }
  }

  // The end of the run of steps over the same elements; `begin` where it has less than two.
  int find_end(int begin) {
    span_ = stage_.values[stage_.steps[begin].dst].span & context_.wide;
    int end = begin, steps = 0, width = kAnyWidth;
    bool ones = false;
    for (; end < stage_.step_count; ++end) {
      const KernelStep& step = stage_.steps[end];
      if (context_.root[step.dst] != step.dst) continue;
      const bool same = (stage_.values[step.dst].span & context_.wide) == span_;
      if (!same || !joins(stage_, step, width)) break;
      for (int k = 0; k < step.arity; ++k) ones = ones || is_one(value(step, k));
      ++steps;
    }
    return steps < 2 && !ones ? begin : end;
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
      plan_.operands[operand] = {v, written, is_one(v)};
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
    return stage_.values[v].dtype != DType::boolean && !is_single(v) && !known_[v].computed;
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

  void add(const KernelStep& step) {
    MicroOp op{.insn = step.insn, .dtype = step.dtype, .aux = step.aux};
    unsigned pinned = 0;
    bool scalars = step.arity > 1;  // so far; two of them are too many
    for (int k = 0; k < step.arity; ++k) {
      const int16_t v = value(step, k);
      const bool is_bool = stage_.values[v].dtype == DType::boolean;
      if (!is_bool) scalars = scalars && is_single(v);
      const bool last = k + 1 == step.arity;
      // Functions of one element for all are too rare for bodies.
      bring(v, is_bool || (last && scalars) || (step.arity == 1 && is_one(v)), pinned);
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
  DimMask span_ = 0;  // of the chain, of dims that tiles span
  int16_t held_[kBanks] = {kFree, kFree, kFree};
  Known known_[kMaxStageValues];
};

}  // namespace

void plan_chain(const ChainContext& context, int begin, ChainPlan& plan) {
  Planner(context, plan).run(begin);
}

bool broadcasts_one(const Stage& stage, const KernelStep& step, DimMask wide) {
  if (step.insn != Insn::broadcast || !is_wide(step.dtype)) return false;
  const StageValue &from = stage.values[step.src[0]], &to = stage.values[step.dst];
  if ((from.span & wide) != 0 || (to.span & wide) == 0) return false;
  return !is_output(stage, step.dst);
}

bool may_vanish(const Stage& stage, const KernelStep& step) {
  if (step.insn != Insn::broadcast) return false;
  const DimMask from = stage.values[step.src[0]].span, to = stage.values[step.dst].span;
  const bool by_rows = stage.whole_rows == Stage::Rows::must;
  if (by_rows && (to & ~from & stage.reduced()) == 0) return !is_output(stage, step.dst);
  const int outer = std::bit_width(from);
  return broadcasts_one(stage, step, static_cast<DimMask>(~(dim_bit(outer) - 1)));
}

int chain_end(const Stage& stage, const int16_t* root, int begin) {
  const DimMask span = stage.values[stage.steps[begin].dst].span;
  int end = begin, steps = 0, width = kAnyWidth;
  bool ones = false;
  for (; end < stage.step_count; ++end) {
    const KernelStep& step = stage.steps[end];
    if (root[step.dst] != step.dst) continue;
    if (stage.values[step.dst].span != span || !joins(stage, step, width)) break;
    for (int k = 0; k < step.arity; ++k) ones = ones || root[step.src[k]] != step.src[k];
    ++steps;
  }
  return steps < 2 && !ones ? begin : end;
}

}  // namespace dvm::vm
