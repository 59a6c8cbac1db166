#include "vm/encode/chain_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>

#include "core/ops/sum_order.h"

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
// Those that are long enough to be a chain by themselves: in registers the computations of several
// vectors overlap.
constexpr InsnSet kAlone =
    set_of({Insn::exp, Insn::exp2, Insn::expm1, Insn::log, Insn::log1p, Insn::log2, Insn::log10,
            Insn::tanh, Insn::sin, Insn::cos, Insn::erf});
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

int width_of_cast(DType to, DType from) {
  const int width = std::max(core::byte_size(to), core::byte_size(from));
  const auto wide = [&](DType d) { return is_wide(d) && core::byte_size(d) == width; };
  const auto narrow = [&](DType d) {
    return d == DType::u8 || (width == 4 ? core::is_half(d) : d == DType::f32 || d == DType::i32);
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

// Whether the step sums rows of what a chain of that width computes, in the order that chains have.
bool sums_rows(const Stage& stage, const KernelStep& step, int width) {
  return step.insn == Insn::sum && stage.reduce_end == stage.rank &&
         step.aux == static_cast<uint8_t>(ReduceOrder::lanes) &&
         (step.dtype == DType::f32 || step.dtype == DType::f64) &&
         core::byte_size(step.dtype) == width;
}

// Of short rows, lanes are as much work as their elements.
bool sums_long_rows(const Stage& stage, const KernelStep& step) {
  constexpr int64_t kLong = 4 * core::kSumLanes;
  return sums_rows(stage, step, core::byte_size(step.dtype)) && stage.reduced_elements() >= kLong;
}

// Whether the step may stand in a chain of that width, which it may determine.
bool joins(const Stage& stage, const KernelStep& step, int& width) {
  const int own = chain_width(stage, step);
  if (own == kNever || (own != kAnyWidth && width != kAnyWidth && own != width)) return false;
  if (width == kAnyWidth) width = own;
  return true;
}

// Whether one of the steps [begin, end) does.
bool computes(const Stage& stage, int begin, int end, int16_t value) {
  return std::any_of(stage.steps + begin, stage.steps + end,
                     [&](const KernelStep& step) { return step.dst == value; });
}

// Whether so many steps are worth a chain, of which the last one that was seen is given.
bool pays(int steps, bool ones, Insn last) {
  return steps > 1 || (steps == 1 && (ones || kAlone[static_cast<size_t>(last)]));
}

class ChainPlanner {
 public:
  ChainPlanner(const ChainContext& context, ChainPlan& plan)
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
  Reach reach(int16_t v) const {
    if (is_scalar(stage_, v)) return Reach::each;
    return reach_of(stage_.values[v].span, span_, context_.rows).value_or(Reach::each);
  }
  // In memory, and one for all elements of the chain.
  bool is_one(int16_t v) const { return reach(v) == Reach::one; }
  bool is_single(int16_t v) const { return is_scalar(stage_, v) || is_one(v); }
  // What only a load knows how to read, and only with the width of the chain.
  bool is_of_rows(int16_t v) const { return is_repeated_by_rows(v) || is_apart(v); }
  bool is_repeated_by_rows(int16_t v) const {
    return reach(v) == Reach::per_row || reach(v) == Reach::per_column;
  }
  bool is_apart(int16_t v) const {
    return context_.apart[v] && core::byte_size(stage_.values[v].dtype) == width_ &&
           reach(v) == Reach::each;
  }

  template <typename F>
  void for_steps(int begin, int end, F f) const {
    for (int i = begin; i < end; ++i) {
      const KernelStep& step = stage_.steps[i];
      if (context_.root[step.dst] == step.dst) f(step);
    }
  }

  // The end of the run of steps over the same elements; `begin` where it makes no chain.
  int find_end(int begin) {
    if (stage_.steps[begin].axes != 0) {
      width_ = core::byte_size(stage_.steps[begin].dtype);
      return begin + sums_memory(stage_.steps[begin]);
    }
    span_ = stage_.values[stage_.steps[begin].dst].span & context_.rows.wide;
    int end = begin, steps = 0, width = kAnyWidth;
    bool by_rows = false;
    Insn last{};
    for (; end < stage_.step_count; ++end) {
      const KernelStep& step = stage_.steps[end];
      if (context_.root[step.dst] != step.dst) continue;
      const bool same = (stage_.values[step.dst].span & context_.rows.wide) == span_;
      int joined = width;
      if (!same || !joins(stage_, step, joined) || !fits_rows(step, joined)) break;
      width = joined;
      for (int k = 0; k < step.arity; ++k) {
        const int16_t v = value(step, k);
        by_rows = by_rows || reach(v) != Reach::each || context_.apart[v];
      }
      last = step.insn;
      ++steps;
    }
    if (steps > 0 && end < stage_.step_count && sums_up(stage_.steps[end], begin, end, width)) {
      ++end;
      ++steps;
    }
    width_ = width;
    return pays(steps, by_rows, last) ? end : begin;
  }
  bool fits_rows(const KernelStep& step, int width) const {
    for (int k = 0; k < step.arity; ++k) {
      const DType dtype = stage_.values[step.src[k]].dtype;
      if (is_repeated_by_rows(value(step, k)) &&
          (!is_wide(dtype) || core::byte_size(dtype) != width)) {
        return false;
      }
    }
    return true;
  }
  // Whether the step is the sum of rows of what the steps [begin, end) compute.
  bool sums_up(const KernelStep& step, int begin, int end, int width) const {
    if (!sums_rows(stage_, step, width) || !sums_rows_of_tile(step)) return false;
    return computes(stage_, begin, end, value(step, 0));
  }
  // Whether the step is a chain by itself: the sums of long rows, which bodies read in order.
  bool sums_memory(const KernelStep& step) {
    const StageValue& source = stage_.values[value(step, 0)];
    span_ = source.span & context_.rows.wide;
    return sums_long_rows(stage_, step) && sums_rows_of_tile(step);
  }
  // Whether the dims that make the rows of a tile are those that the sum leaves.
  bool sums_rows_of_tile(const KernelStep& step) const {
    const DimMask wide = context_.rows.wide, columns = context_.rows.columns;
    const DimMask rows = columns == 0 ? DimMask{0} : static_cast<DimMask>(span_ & ~columns);
    const bool expanded = stage_.values[value(step, 0)].span != stage_.values[step.src[0]].span;
    return !expanded && (stage_.values[step.dst].span & wide) == rows &&
           (stage_.values[value(step, 0)].span & wide) == span_;
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
      plan_.operands[operand] = {v, written, reach(v), !written && is_apart(v)};
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
  int width_ = kAnyWidth;
  DimMask span_ = 0;  // of the chain, of dims that tiles span
  int16_t held_[kBanks] = {kFree, kFree, kFree};
  Known known_[kMaxStageValues];
};

}  // namespace

void plan_chain(const ChainContext& context, int begin, ChainPlan& plan) {
  ChainPlanner(context, plan).run(begin);
}

bool may_join_chain(const Stage& stage, const KernelStep& step) {
  return step.axes == 0 && chain_width(stage, step) != kNever;
}

int chain_end(const Stage& stage, const int16_t* root, int begin) {
  const DimMask span = stage.values[stage.steps[begin].dst].span;
  int end = begin, steps = 0, width = kAnyWidth;
  bool repeats = false;
  Insn last{};
  for (; end < stage.step_count; ++end) {
    const KernelStep& step = stage.steps[end];
    if (root[step.dst] != step.dst) continue;
    if (stage.values[step.dst].span != span || !joins(stage, step, width)) break;
    for (int k = 0; k < step.arity; ++k) repeats = repeats || root[step.src[k]] != step.src[k];
    last = step.insn;
    ++steps;
  }
  // Sums of other rows join where a tile is one row.
  if (steps > 0 && end < stage.step_count && sums_rows(stage, stage.steps[end], width) &&
      may_be_rows(stage.reduced_elements()) &&
      computes(stage, begin, end, root[stage.steps[end].src[0]])) {
    ++end;
    ++steps;
  }
  return pays(steps, repeats, last) ? end : begin;
}

}  // namespace dvm::vm
