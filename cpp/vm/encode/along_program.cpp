#include "vm/encode/along_program.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/math/integers.h"
#include "core/ops/elementwise.h"
#include "vm/encode/program_sketch.h"
#include "vm/tile/kernel.h"

namespace dvm::vm {

namespace {

using core::Op;

Scalar one(DType dtype) {
  return core::is_floating(dtype) ? Scalar::of_float(1) : Scalar::of_int(1);
}

// What arithmetic on a dtype is done in on that target.
DType arithmetic_in(DType dtype, const TargetTraits& target) {
  return target.native_halves.contains(dtype) ? dtype : core::computes_in(dtype);
}

// A vector unit takes as long for fewer bytes.
constexpr int64_t kLeastBytes = 256;

// Of how many elements slots of these dtypes have room.
int64_t room(const TargetTraits& target, std::span<const DType> slots) {
  int64_t bytes = 0;
  for (const DType slot : slots) bytes += core::byte_size(slot);
  const int64_t lost = static_cast<int64_t>(slots.size() + 1) * target.align;
  return (target.local_bytes - target.reserve_bytes - lost) / bytes;
}

// As many elements as all slots have room for, and every core something to do.
int64_t tile_elements(const AlongSpec& spec, const TargetTraits& target,
                      std::span<const DType> slots) {
  int64_t all = 1;
  for (const BoxDim& dim : spec.dims) all *= dim.size;
  const int64_t share = core::ceil_div(all, target.cores);
  return std::min(room(target, slots), std::max(share, kLeastBytes / core::byte_size(spec.dtype)));
}

class AlongEncoder {
 public:
  AlongEncoder(const AlongSpec& spec, const TargetTraits& target, std::vector<DType> slots)
      : spec_(spec),
        tiles_(spec.dims, tile_elements(spec, target, slots)),
        sketch_(target, tiles_.grid()) {
    for (const DType dtype : slots) {
      slots_.push_back({sketch_.slot(tiles_.elements(), dtype), dtype});
    }
  }

  // A slot and what its elements are.
  struct Value {
    Operand operand;
    DType dtype;
  };
  const Value& slot(size_t k) const { return slots_[k]; }
  Value number(DType dtype, Scalar value) { return {sketch_.scalar(dtype, value), dtype}; }

  void add_global(int operand, DType dtype, int64_t count, bool written = false) {
    Global global{.dtype = dtype, .written = written};
    if (count != 0) {
      global = tiles_.global(operand, dtype, written);
      BoxTiles::repeat(global, count, spec_.steps[operand]);
    }
    sketch_.add_global(global);
  }
  // At a position along the axis: in a loop of the first step, and those behind it follow.
  void load(const Value& to, int operand, int64_t position) {
    Instruction fixed{.insn = Insn::view_load, .dtype = to.dtype};
    std::vector<ViewDim> view = tiles_.set_view(fixed, operand);
    sketch_.append(fixed, {to.operand, stream(operand, position)}, std::move(view));
  }
  void store(int operand, int64_t position, const Value& from) {
    Instruction fixed{.insn = Insn::view_store, .dtype = from.dtype};
    std::vector<ViewDim> view = tiles_.set_view(fixed, operand);
    sketch_.append(fixed, {stream(operand, position), from.operand}, std::move(view));
  }
  // In the dtype of the operands.
  void compute(OpInsn op, const Value& to, const Value& a, const Value& b) {
    append({.insn = op.insn, .dtype = a.dtype, .aux = op.aux}, {to, a, b});
  }
  void copy(const Value& to, const Value& from) {
    append({.insn = Insn::copy, .dtype = to.dtype}, {to, from});
  }
  void select(const Value& to, const Value& condition, const Value& a, const Value& b) {
    append({.insn = Insn::select, .dtype = to.dtype}, {to, condition, a, b});
  }
  void cast(const Value& to, const Value& from) {
    append({.insn = Insn::cast, .dtype = to.dtype, .aux = static_cast<uint8_t>(from.dtype)},
           {to, from});
  }

  template <typename Body>
  void repeat(int64_t steps, Body body) {
    if (steps == 0) return;
    sketch_.begin_loop(steps);
    body();
    sketch_.end_loop();
  }

  Program finish(std::span<uint64_t> words) const { return sketch_.finish(words); }

 private:
  Operand stream(int operand, int64_t position) {
    const int64_t step = spec_.steps[operand];
    return sketch_.stream(operand, position * step, tiles_.stream(operand), step);
  }
  void append(Instruction fixed, std::initializer_list<Value> values) {
    tiles_.set_linear(fixed);
    std::vector<Operand> operands;
    for (const Value& value : values) operands.push_back(value.operand);
    sketch_.append(fixed, std::move(operands));
  }

  const AlongSpec& spec_;
  const BoxTiles tiles_;
  ProgramSketch sketch_;
  std::vector<Value> slots_;
};

// Each result is rounded to its dtype before the next step. Where a condition does not hold, ones
// are combined in place of the elements, which raises no flag with any op, and their result is
// dropped.
Program encode_fold(const AlongSpec& spec, const TargetTraits& target, std::span<uint64_t> words) {
  const bool scans = spec.op == Op::scan, where = spec.op == Op::fold_where;
  const bool loud = core::may_raise(spec.with, spec.dtype);
  const DType wide =
      core::computes_as_float(spec.with) ? arithmetic_in(spec.dtype, target) : spec.dtype;
  const bool widens = wide != spec.dtype;
  enum Slot : size_t { kTotal, kNext };
  std::vector<DType> slots = {spec.dtype, spec.dtype};
  const size_t tests = slots.size();
  if (where) slots.insert(slots.end(), {DType::boolean, spec.dtype});
  const size_t widened = slots.size();
  if (widens) slots.insert(slots.end(), {wide, wide});

  AlongEncoder along(spec, target, std::move(slots));
  const int rest = scans ? 0 : 1, result = rest + (where ? 2 : 1);
  const int64_t begin = scans ? 1 : 0;
  along.add_global(0, spec.dtype, scans ? spec.count : 1);
  if (!scans) along.add_global(rest, spec.dtype, spec.count);
  if (where) along.add_global(2, DType::boolean, spec.count);
  along.add_global(result, spec.dtype, scans ? spec.count : 1, true);

  const AlongEncoder::Value total = along.slot(kTotal), next = along.slot(kNext);
  along.load(total, 0, 0);
  if (scans) along.store(result, 0, total);
  along.repeat(spec.count - begin, [&] {
    along.load(next, rest, begin);
    AlongEncoder::Value before = total, after = total;
    if (where) {
      along.load(along.slot(tests), 2, 0);
      after = along.slot(tests + 1);
      if (loud) {
        const AlongEncoder::Value harmless = along.number(spec.dtype, one(spec.dtype));
        along.select(after, along.slot(tests), total, harmless);
        along.select(next, along.slot(tests), next, harmless);
        before = after;
      }
    }
    const OpInsn op = insn_of(spec.with).value();
    if (widens) {
      const AlongEncoder::Value a = along.slot(widened), b = along.slot(widened + 1);
      along.cast(a, before);
      along.cast(b, next);
      along.compute(op, a, a, b);
      along.cast(after, a);
    } else {
      along.compute(op, after, before, next);
    }
    if (where) along.select(total, along.slot(tests), after, total);
    if (scans) along.store(result, begin, total);
  });
  if (!scans) along.store(result, 0, total);
  return along.finish(words);
}

// The first element that no other beats stays, and so does the first NaN.
Program encode_extreme(const AlongSpec& spec, const TargetTraits& target,
                       std::span<uint64_t> words) {
  const DType wide = arithmetic_in(spec.dtype, target);
  const bool widens = wide != spec.dtype;
  enum Slot : size_t { kBest, kNext, kStays, kIsNan, kPlace, kPosition, kLoaded };
  std::vector<DType> slots = {wide, wide, DType::boolean, DType::boolean, DType::i64, DType::i64};
  if (widens) slots.push_back(spec.dtype);

  AlongEncoder along(spec, target, std::move(slots));
  along.add_global(0, spec.dtype, spec.count);
  along.add_global(1, DType::i64, 1, true);
  const auto load = [&](const AlongEncoder::Value& to, int64_t position) {
    along.load(widens ? along.slot(kLoaded) : to, 0, position);
    if (widens) along.cast(to, along.slot(kLoaded));
  };
  const auto compare = [](Compare order) { return OpInsn{Insn::cmp, static_cast<uint8_t>(order)}; };
  const AlongEncoder::Value best = along.slot(kBest), next = along.slot(kNext),
                            stays = along.slot(kStays), is_nan = along.slot(kIsNan),
                            place = along.slot(kPlace), position = along.slot(kPosition);
  load(best, 0);
  along.copy(place, along.number(DType::i64, Scalar::of_int(0)));
  along.copy(position, along.number(DType::i64, Scalar::of_int(0)));
  along.repeat(spec.count - 1, [&] {
    load(next, 1);
    along.compute({Insn::add}, position, position, along.number(DType::i64, Scalar::of_int(1)));
    along.compute(compare(spec.op == Op::argmax ? Compare::ge : Compare::le), stays, best, next);
    if (core::is_floating(spec.dtype)) {
      along.compute(compare(Compare::ne), is_nan, best, best);
      along.compute({Insn::logical_or}, stays, stays, is_nan);
    }
    along.select(best, stays, best, next);
    along.select(place, stays, place, position);
  });
  along.store(1, 0, place);
  return along.finish(words);
}

}  // namespace

Program encode_along(const AlongSpec& spec, const TargetTraits& target, std::span<uint64_t> words) {
  const bool extreme = spec.op == Op::argmax || spec.op == Op::argmin;
  return extreme ? encode_extreme(spec, target, words) : encode_fold(spec, target, words);
}

int64_t first_row(DType dtype, int64_t size, const TargetTraits& target) {
  const DType slots[] = {DType::i64, dtype};
  const int64_t most = std::min<int64_t>(2048, room(target, slots));
  const auto holds = [&](int64_t number) {
    const Scalar there = cast_scalar(Scalar::of_int(number), DType::i64, dtype);
    return cast_scalar(there, dtype, DType::i64) == Scalar::of_int(number);
  };
  int64_t row = 1;
  while (2 * row <= most && row * row < size && holds(2 * row - 1)) row *= 2;
  return std::min(row, size);
}

// All of it in one tile: a row of numbers, to which its length is added in every step.
Program encode_count(const CountSpec& spec, const TargetTraits& target, std::span<uint64_t> words) {
  const bool first = spec.begin == 0;
  const int64_t row = first ? 1 : spec.begin, left = spec.end - spec.begin;
  const auto size = static_cast<uint32_t>(row);
  ProgramSketch sketch(target, {1});
  const Operand numbers = sketch.slot(row, DType::i64), rounded = sketch.slot(row, spec.dtype);
  const auto add_global = [&](int64_t begin, int64_t count, bool written) {
    Global global{.low = begin * spec.step,
                  .high = begin * spec.step + core::byte_size(spec.dtype),
                  .dtype = spec.dtype,
                  .written = written};
    BoxTiles::repeat(global, count, spec.step);
    return sketch.add_global(global);
  };
  const auto integer = [&](int64_t value) {
    return sketch.scalar(DType::i64, Scalar::of_int(value));
  };
  if (first) {
    sketch.append({.insn = Insn::copy, .dtype = DType::i64, .size = size}, {numbers, integer(-1)});
  } else {
    const int from = add_global(0, row, false);
    sketch.append({.insn = Insn::view_load, .dtype = spec.dtype, .size = size},
                  {rounded, sketch.stream(from, 0, {0})}, {{row, spec.step}});
    sketch.append({.insn = Insn::cast,
                   .dtype = DType::i64,
                   .aux = static_cast<uint8_t>(spec.dtype),
                   .size = size},
                  {numbers, rounded});
  }
  const int to = add_global(spec.begin, left, true);
  sketch.begin_loop(core::ceil_div(left, row));
  sketch.append({.insn = Insn::add, .dtype = DType::i64, .size = size},
                {numbers, numbers, integer(row)});
  sketch.append({.insn = Insn::cast,
                 .dtype = spec.dtype,
                 .aux = static_cast<uint8_t>(DType::i64),
                 .size = size},
                {rounded, numbers});
  std::vector<Tail> tails;
  if (left % row != 0) {
    tails.push_back(
        {.extent = 1, .axis = kFirstLoopAxis, .value = static_cast<uint32_t>(left % row)});
  }
  sketch.append({.insn = Insn::view_store, .dtype = spec.dtype, .size = size},
                {sketch.stream(to, spec.begin * spec.step, {0}, row * spec.step), rounded},
                {{row, spec.step}}, std::move(tails));
  sketch.end_loop();
  return sketch.finish(words);
}

}  // namespace dvm::vm
