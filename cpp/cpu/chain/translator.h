// Translates a chain into a program for the bodies of chain_text.inc: a few nanoseconds per
// micro-op, so that it is done for each tile, with the tile's addresses. Pieces of a tile share the
// program: only the addresses and scalars in it change from one to the next.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "core/math/basis.h"
#include "core/ops/scalar_math.h"
#include "core/ops/sum_order.h"
#include "cpu/chain/bodies.h"
#include "cpu/chain/rules.h"
#include "vm/isa/chain.h"

namespace dvm::cpu::chains {

using core::DType;
using vm::ChainArgs;
using vm::MicroOp;

// An instruction has at most 252 words, and a micro-op becomes at most four steps.
inline constexpr int kMaxSteps = 4 * 256;
// The elements of which rows are made, where a chain has several.
inline constexpr int64_t kUnit = core::kSumLanes;

// Of a chain whose elements have the width of T, a floating dtype.
template <typename T>
class Translator {
 public:
  // Makes the program of `args`; false where there is no body for a micro-op. Of a chain like the
  // last one, only addresses and scalars are new; it is the last one itself where the instruction
  // has the same address in the same `era`. With `in_lanes` the operand of the sum that a chain
  // ends with is a SumCursor, and only whole blocks may run. With `row_bytes`, of each operand from
  // one row to the next, `args` is the first of rows that the program runs over one by one.
  bool prepare(const ChainBodies& bodies, const ChainArgs& args, uint64_t era, bool in_lanes,
               const int64_t* row_bytes = nullptr) {
    args_ = &args;
    row_bytes_ = row_bytes;
    const vm::Instruction& insn = *args.insn;
    const Form form = {in_lanes, args.rows == 1 && insn.m > 1, row_bytes != nullptr,
                       args.rows > 1 ? args.columns : 0};
    const bool same = &insn == insn_ && era == era_ && form == form_;
    insn_ = &insn;
    era_ = era;
    operands_ = insn.operands();
    if (same && renew()) return complete_;
    const size_t bytes = sizeof(vm::Instruction) + (insn.aux + insn.steps) * sizeof(uint64_t);
    if (bodies_ == &bodies && form == form_ && bytes == known_bytes_ &&
        std::memcmp(known_, &insn, bytes) == 0 && renew()) {
      return complete_;
    }
    bodies_ = &bodies;
    form_ = form;
    known_bytes_ = bytes;
    std::memcpy(known_, &insn, bytes);
    count_ = looked_at_count_ = foreign_count_ = 0;
    quiet_ = false;
    complete_ = translate_all();
    return complete_;
  }
  const ChainStep* program() const { return steps_; }
  // So many rows like the one that was prepared, with their `row_bytes`.
  ChainRowLoop rows(int64_t count) {
    ChainMove* end = moves_;
    for (int i = 0; i < foreign_count_ && count > 1; ++i) {
      const Foreign& foreign = foreign_[i];
      const int64_t stride = row_bytes_[foreign.place - vm::kFirstOperand];
      if (stride == 0) continue;
      const std::byte* from = args_->operands[foreign.place - vm::kFirstOperand];
      *end++ = {&steps_[foreign.step].operand, stride, foreign.scalar ? from : nullptr};
    }
    return {count, moves_, end};
  }
  // Whether what raises nothing may do so with the bodies of this level.
  bool may_fail() const { return quiet_ && bodies_->raise_too_much; }

 private:
  // What makes another program of the same chain: sums in registers; one row of several, of which
  // what is for each row is a scalar, and what is for each column lies like all else; that it is
  // run over several such rows; how long rows are that are run at once.
  struct Form {
    bool in_lanes = false, one_row = false, loops = false;
    int64_t columns = 0;
    bool operator==(const Form&) const = default;
  };
  // A bank, or what a step holds: an address or the bits of a scalar, and the place it is from.
  // Two registers large.
  struct Source {
    uint64_t operand = 0;
    uint8_t kind = 0, place = 0;
  };
  // False where a scalar that the program depends on has become one of another kind.
  bool renew() {
    for (int i = 0; i < looked_at_count_; ++i) {
      if (is_plain(source(looked_at_[i].place)) != looked_at_[i].plain) return false;
    }
    for (int i = 0; i < foreign_count_; ++i) {
      const Foreign& foreign = foreign_[i];
      steps_[foreign.step].operand = foreign.scalar ? bits(foreign.place) : address(foreign.place);
    }
    return true;
  }

  bool translate_all() {
    const std::span<const MicroOp> ops = args_->insn->micro_ops();
    if (form_.in_lanes) return put(kBeginSums, {}) && translate_sum(ops);
    if (!translate(ops)) return false;
    if (ops.back().insn != Insn::copy || is_bank(ops.back().dst) || !is_wide(ops.back().dtype)) {
      return put(kEnd, {});
    }
    set_bodies(steps_[count_ - 1], kStoreLast + bank(ops.back().src[0]));
    return true;
  }

  bool translate(std::span<const MicroOp> ops) {
    for (size_t i = 0; i < ops.size();) {
      const size_t loads = count_loads(ops.subspan(i));
      if (const std::optional<MicroOp> op = with_load(ops.subspan(i))) {
        if (!translate(*op)) return false;
        i += 2;
      } else if (divide_by_rows(ops.subspan(i))) {
        i += 2;
      } else if (loads > 1) {
        load_together(ops.subspan(i, loads));
        i += loads;
      } else if (!translate(ops[i++])) {
        return false;
      }
    }
    return true;
  }

  // The second of `ops` with the operand that the first one loads, where rows made that a step of
  // its own.
  std::optional<MicroOp> with_load(std::span<const MicroOp> ops) const {
    if (!form_.one_row || ops.size() < 2) return {};
    const MicroOp &load = ops[0], &user = ops[1];
    const bool plain = loads_operand(load) && own_reach(load.src[0]) == vm::Reach::each &&
                       !stride_of_rows(load.src[0]);
    if (!loads_operand(load) || plain || !is_source(load.src[0])) {
      return {};
    }
    const bool arithmetic = user.insn == Insn::add || user.insn == Insn::sub ||
                            user.insn == Insn::mul || user.insn == Insn::div;
    const int at = user.src[1] == load.dst;
    const uint8_t other = user.src[1 - at];
    if (!arithmetic || user.dtype != kFloat || user.src[at] != load.dst || other == load.dst ||
        (!is_bank(other) && !is_memory(other)) || is_read_behind(user, load.dst)) {
      return {};
    }
    MicroOp whole = user;
    whole.src[at] = load.src[0];
    return whole;
  }
  // Whether a bank still holds what a later micro-op reads, or the sum at the end.
  bool is_read_behind(const MicroOp& op, uint8_t bank) const {
    const std::span<const MicroOp> all = args_->insn->micro_ops();
    for (const MicroOp* p = &op; p != all.data() + all.size(); ++p) {
      if (p != &op && std::ranges::find(p->src, bank) != std::end(p->src)) return true;
      if (p->dst == bank) return false;
    }
    return false;
  }

  // A division by what the first of `ops` loads for each row is one step with it.
  bool divide_by_rows(std::span<const MicroOp> ops) {
    if (form_.one_row || ops.size() < 2) return false;
    const MicroOp &load = ops[0], &divide = ops[1];
    if (!loads_operand(load) || own_reach(load.src[0]) != vm::Reach::per_row ||
        divide.insn != Insn::div || divide.dtype != kFloat || divide.src[1] != load.dst ||
        divide.src[0] == load.dst || is_read_behind(divide, load.dst) ||
        !(is_bank(divide.src[0]) || is_adjacent(divide.src[0]))) {
      return false;
    }
    const Source a = source(divide.src[0]);
    const int entry = divisions(kDivideByRows, divide, a);
    if (!has(entry) || !has_whole_units()) return false;
    put(entry, memory(load.src[0]));
    put_reciprocal();
    if (a.kind == kMemory) put_operand(a);
    return true;
  }
  static int divisions(int first, const MicroOp& op, Source a) {
    return first + bank(op.dst) * (kBanks + 1) + a.kind;
  }
  bool divide(const MicroOp& op, Source a, Source b) {
    if (b.kind != kScalar || a.kind == kScalar || !has(divisions(kDivideByScalar, op, a))) {
      return binary(Binary::div, op, a, b);
    }
    put(divisions(kDivideByScalar, op, a), a.kind == kMemory ? a : b);
    if (a.kind == kMemory) put_operand(b);
    return true;
  }

  static constexpr DType kFloat = sizeof(T) == 4 ? DType::f32 : DType::f64;
  static constexpr DType kInteger = sizeof(T) == 4 ? DType::i32 : DType::i64;
  using Bits = core::math::Bits<T>;

  bool put(int entry, const Source& operand) {
    const bool exists = set_bodies(steps_[count_], entry);
    put_operand(operand);
    return exists;
  }
  bool set_bodies(ChainStep& step, int entry) const {
    const auto* base = reinterpret_cast<const std::byte*>(bodies_->table);
    const int32_t* offsets = bodies_->table + ptrdiff_t{2} * entry;
    step.block = base + offsets[0];
    step.vector = base + offsets[1];
    return offsets[0] != 0;
  }
  bool has(int entry) const { return bodies_->table[ptrdiff_t{2} * entry] != 0; }
  // Also a second operand of the step before.
  void put_operand(const Source& operand) {
    if (operand.place != 0) {
      foreign_[foreign_count_++] = {static_cast<uint16_t>(count_), operand.place,
                                    operand.kind == kScalar};
    }
    steps_[count_++].operand = operand.operand;
  }

  static int bank(uint8_t place) { return place - vm::kFirstBank; }
  static Source in_bank(uint8_t place) { return {0, static_cast<uint8_t>(bank(place))}; }
  static bool is_bank(uint8_t place) { return place < vm::kFirstOperand; }
  uint64_t address(uint8_t place) const {
    return reinterpret_cast<uint64_t>(args_->operands[place - vm::kFirstOperand]);
  }
  uint64_t bits(uint8_t place) const {
    Bits bits = 0;
    std::memcpy(&bits, args_->operands[place - vm::kFirstOperand], sizeof(bits));
    return bits;
  }
  Source memory(uint8_t place) const { return {address(place), kMemory, place}; }
  // What an operand holds; one element that stands for all is a scalar.
  vm::Reach own_reach(uint8_t place) const {
    return vm::Access::reach(operands_[place - vm::kFirstOperand].access);
  }
  std::optional<int64_t> stride_of_rows(uint8_t place) const {
    return vm::row_stride(operands_[place - vm::kFirstOperand]);
  }
  vm::Reach reach(uint8_t place) const {
    const vm::Reach whom = own_reach(place);
    if (form_.one_row && whom == vm::Reach::per_row) return vm::Reach::one;
    if (form_.one_row && whom == vm::Reach::per_column) return vm::Reach::each;
    // One row for all is what does not move from row to row: another way apart, as it were.
    if (!form_.one_row && stride_of_rows(place)) return vm::Reach::per_column;
    return whom;
  }
  bool is_memory(uint8_t place) const {
    if (is_bank(place)) return false;
    const vm::Operand& operand = operands_[place - vm::kFirstOperand];
    return operand.mode != vm::Mode::scalar && reach(place) != vm::Reach::one;
  }
  // Elements one after the other.
  bool is_adjacent(uint8_t place) const {
    return is_memory(place) && reach(place) == vm::Reach::each;
  }
  // Whether bodies take an operand where a bank could be: not what only a load knows how to read.
  bool is_source(uint8_t place) const {
    const uint8_t access = operands_[place - vm::kFirstOperand].access;
    const bool wide = is_wide(static_cast<DType>(vm::Access::dtype(access)));
    return reach(place) == vm::Reach::each || (reach(place) == vm::Reach::one && wide);
  }
  Source source(uint8_t place) const {
    if (is_bank(place)) return in_bank(place);
    return is_memory(place) ? memory(place) : Source{bits(place), kScalar, place};
  }
  static T value(const Source& scalar) {
    return std::bit_cast<T>(static_cast<Bits>(scalar.operand));
  }
  static bool is_wide(DType dtype) { return dtype == kFloat || dtype == kInteger; }
  static Source scalar(T x) { return {std::bit_cast<Bits>(x), kScalar}; }
  static constexpr Source kZero = {0, kScalar}, kAllBits = {~uint64_t{0}, kScalar};

  // A number other than 0, of which equals have the same bits.
  static bool is_plain(const Source& s) {
    return s.kind == kScalar && !std::isnan(value(s)) && value(s) != 0;
  }

  static bool loads_operand(const MicroOp& op) {
    return op.insn == Insn::copy && is_wide(op.dtype) && is_bank(op.dst) && !is_bank(op.src[0]);
  }
  bool is_load(const MicroOp& op) const { return loads_operand(op) && is_adjacent(op.src[0]); }
  // How many loads into different banks stand at the start of `ops`.
  size_t count_loads(std::span<const MicroOp> ops) const {
    size_t count = 0;
    int banks = 0;
    for (; count < ops.size() && is_load(ops[count]); ++count) {
      const int bit = 1 << bank(ops[count].dst);
      if (banks & bit) break;
      banks |= bit;
    }
    return count;
  }

  void load_together(std::span<const MicroOp> loads) {
    if (loads.size() == 2) {
      put(kLoadTwo + bank(loads[0].dst) * kBanks + bank(loads[1].dst), memory(loads[0].src[0]));
      put_operand(memory(loads[1].src[0]));
      return;
    }
    Source addresses[kBanks];
    for (const MicroOp& load : loads) addresses[bank(load.dst)] = memory(load.src[0]);
    put(kLoadThree, addresses[0]);
    put_operand(addresses[1]);
    put_operand(addresses[2]);
  }

  bool binary(Binary row, const MicroOp& op, Source a, Source b) {
    const int entry =
        ((static_cast<int>(row) * kBanks + bank(op.dst)) * kSources + a.kind) * kSources + b.kind;
    const bool exists = put(entry, a.kind >= kBanks ? a : b);
    if (a.kind >= kBanks && b.kind >= kBanks) put_operand(b);
    return exists;
  }
  bool unary(Unary row, const MicroOp& op, Source a) {
    return put(kUnaryRows + (static_cast<int>(row) * kBanks + bank(op.dst)) * kSources + a.kind, a);
  }
  bool function(Unary row, const MicroOp& op, Source a) {
    const Source to = in_bank(op.dst);
    if (row < kFirstInPlace) return unary(row, op, a);
    return (a.kind == to.kind || unary(Unary::copy, op, a)) && unary(row, op, to);
  }
  bool quiet_binary(Binary row, const MicroOp& op, Source a, Source b) {
    quiet_ = true;
    return binary(row, op, a, b);
  }

  bool look_at(const Source& s) {
    // Of what is another scalar for each row, only the first is known.
    if (form_.loops && s.place != 0 && row_bytes_[s.place - vm::kFirstOperand] != 0) return false;
    const bool plain = is_plain(s);
    if (s.kind == kScalar) looked_at_[looked_at_count_++] = {s.place, plain};
    return plain;
  }
  // Cheaper with a source that is no NaN.
  bool extreme(Binary row, Binary number, const MicroOp& op, Source a, Source b) {
    const bool plain_a = look_at(a), plain_b = look_at(b);
    if (plain_b) return quiet_binary(number, op, a, b);
    if (plain_a) return quiet_binary(number, op, b, a);
    return quiet_binary(row, op, a, b);
  }

  // The first of the entries that load a narrower dtype from memory; -1 without any.
  static int loads_of(DType dtype) {
    switch (dtype) {
#define DVM_CHAIN_STORED(name, where) \
  case DType::name:                   \
    return kStoredRows + static_cast<int>(Stored::name) * kStoredKinds * kBanks;
#include "cpu/chain/bodies.def"
      default:
        return -1;
    }
  }
  bool load_narrow(DType dtype, uint8_t dst, uint8_t place) {
    const int loads = loads_of(dtype);
    if (loads < 0 || !is_memory(place)) return false;
    quiet_ |= core::is_half(dtype);  // NaNs that signal
    if (is_adjacent(place)) return put(loads + bank(dst), memory(place));
    if (reach(place) != vm::Reach::per_column || !has_whole_units()) return false;
    if (!put(loads + 2 * kBanks + bank(dst), memory(place))) return false;
    put_reciprocal();
    put_row_bytes(core::byte_size(dtype), stride_of_rows(place).value_or(0));
    return true;
  }

  // Behind a step over rows: how it finds its row. 2**32 over units per row is exact for as many
  // units as a piece may have (chain_rows.h).
  void put_reciprocal() {
    const auto units = static_cast<uint64_t>(args_->columns / kUnit);
    put_operand({args_->insn->m > 1 ? ((uint64_t{1} << 32) + units - 1) / units : 0, kScalar});
  }
  bool is_row() const { return args_->insn->m == 1 || form_.one_row; }
  bool has_whole_units() const { return is_row() || args_->columns % kUnit == 0; }
  // Of a row, less those from one row to the next where rows lie apart.
  void put_row_bytes(int64_t element, int64_t stride = 0) {
    put_operand({static_cast<uint64_t>(args_->columns * element - stride), kScalar});
  }

  bool load_row_operand(const MicroOp& op) {
    const bool columns = reach(op.src[0]) == vm::Reach::per_column;
    const int entry = (columns ? kLoadPerColumn : kLoadPerRow) + bank(op.dst);
    if (!is_wide(op.dtype) || !has_whole_units() || !put(entry, memory(op.src[0]))) return false;
    put_reciprocal();
    if (columns) put_row_bytes(sizeof(T), stride_of_rows(op.src[0]).value_or(0));
    return true;
  }

  // Into lanes, which the caller adds up.
  bool sum(const MicroOp& op) {
    const int64_t columns = args_->columns;
    if (op.dtype != kFloat || !has_whole_units()) return false;
    const int from = bank(op.src[0]);
    if (is_row() || columns % core::kSumChunk == 0) {
      return put(kSumChunks + from, memory(op.dst));
    }
    const bool blocks = columns % (2 * kUnit) == 0;
    if (!put((blocks ? kSumBlocks : kSum) + from, memory(op.dst))) return false;
    put_reciprocal();
    put_row_bytes(sizeof(T));
    const auto lanes = static_cast<uint64_t>(core::sum_chunks(columns) * core::kSumLanes);
    put_operand({lanes * sizeof(T), kScalar});
    return true;
  }

  // The sum that `ops` end with, in registers; loads and squares are no steps of their own.
  bool translate_sum(std::span<const MicroOp> ops) {
    const MicroOp& sum = ops.back();
    if (sum.dtype != kFloat) return false;
    ops = ops.first(ops.size() - 1);
    uint8_t place = sum.src[0];
    int entry = kSumInLanes;
    if (!ops.empty() && ops.back().dst == place && is_square(ops.back())) {
      place = ops.back().src[0];
      ops = ops.first(ops.size() - 1);
      entry = kSumSquares;
    }
    if (ops.size() == 1 && ops[0].dst == place && is_load(ops[0])) {
      place = ops[0].src[0];
      ops = {};
    }
    const Source from = source(place);
    if (from.kind == kScalar || !translate(ops)) return false;
    const bool exists = put(entry + from.kind, memory(sum.dst));
    if (from.kind == kMemory) put_operand(from);
    return exists;
  }
  bool is_square(const MicroOp& op) const {
    const bool squares = op.insn == Insn::mul ? op.src[0] == op.src[1] : op.insn == Insn::square;
    return squares && (is_bank(op.src[0]) || is_adjacent(op.src[0]));
  }

  bool copy(const MicroOp& op) {
    if (is_bank(op.dst)) {
      const bool is_narrow = !is_wide(op.dtype) && !is_bank(op.src[0]);
      if (!is_narrow && !is_bank(op.src[0]) && !is_source(op.src[0])) {
        return is_memory(op.src[0]) && load_row_operand(op);
      }
      if (is_wide(op.dtype) || is_bank(op.src[0])) {
        return unary(Unary::copy, op, source(op.src[0]));
      }
      return load_narrow(op.dtype, op.dst, op.src[0]);
    }
    if (!is_bank(op.src[0])) return false;
    if (is_wide(op.dtype)) return put(kStore + bank(op.src[0]), memory(op.dst));
    const int loads = loads_of(op.dtype);
    return loads >= 0 && put(loads + kBanks + bank(op.src[0]), memory(op.dst));
  }

  // What a bank holds of a narrower dtype is a float or an integer of the chain's width.
  bool cast(const MicroOp& op) {
    const DType to = op.dtype, from = static_cast<DType>(op.aux);
    Source a{};
    if (!is_bank(op.src[0]) && !is_source(op.src[0])) return false;
    if (is_bank(op.src[0]) || is_wide(from)) {
      a = source(op.src[0]);
    } else {
      if (!load_narrow(from, op.dst, op.src[0])) return false;
      a = in_bank(op.dst);
    }
    const Source result = in_bank(op.dst);
    if (from == DType::boolean) {
      const Source one = core::is_floating(to) ? scalar(1) : Source{1, kScalar};
      return is_wide(to) && binary(Binary::and_bits, op, a, one);
    }
    const bool was_float = core::is_floating(from);
    if (to == DType::boolean) {
      return was_float ? quiet_binary(Binary::ne, op, a, kZero)
                       : binary(Binary::ne_integer, op, a, kZero);
    }
    if (core::is_floating(to)) {
      if (!was_float) return is_wide(to) && unary(Unary::to_float, op, a);
      if (to == DType::f16) return unary(Unary::round_f16, op, a);
      if (to == DType::bf16) return unary(Unary::round_bf16, op, a);
      if (!is_wide(to)) return unary(Unary::round_f32, op, a);
    } else {
      // Floats become narrow integers by way of i32.
      if (was_float && !unary(Unary::to_integer, op, a)) return false;
      if (was_float) a = result;
      if (to == DType::u8 && (!was_float || kInteger == DType::i32)) {
        return binary(Binary::and_bits, op, a, {0xff, kScalar});
      }
      if (to == DType::i32 && !is_wide(to)) return !was_float && unary(Unary::wrap_i32, op, a);
      if (!is_wide(to)) return false;
    }
    return a.kind == result.kind || unary(Unary::copy, op, a);
  }

  // Comparisons of floats are quiet.
  bool compare(const MicroOp& op, Source a, Source b) {
    const bool floats = op.dtype == kFloat;
    const auto ask = [&](Binary of_floats, Binary of_integers, Source x, Source y) {
      return floats ? quiet_binary(of_floats, op, x, y) : binary(of_integers, op, x, y);
    };
    switch (static_cast<vm::Compare>(op.aux)) {
      case vm::Compare::eq:
        return ask(Binary::eq, Binary::eq_integer, a, b);
      case vm::Compare::ne:
        return ask(Binary::ne, Binary::ne_integer, a, b);
      case vm::Compare::lt:
        return ask(Binary::lt, Binary::lt_integer, a, b);
      case vm::Compare::le:
        return ask(Binary::le, Binary::le_integer, a, b);
      case vm::Compare::gt:
        return ask(Binary::lt, Binary::lt_integer, b, a);
      case vm::Compare::ge:
        return ask(Binary::le, Binary::le_integer, b, a);
    }
    __builtin_unreachable();
  }

  bool translate(const MicroOp& op) {
    if (op.insn == Insn::copy) return copy(op);
    if (op.insn == Insn::cast) return cast(op);
    if (op.insn == Insn::sum) return sum(op);
    const bool bools = op.dtype == DType::boolean;
    if (!bools && !is_wide(op.dtype)) return false;
    const Rules& rules = bools ? kBoolRules : op.dtype == kFloat ? kFloatRules : kIntegerRules;
    const Rule rule = rules[static_cast<size_t>(op.insn)];
    quiet_ |= rule.quiet;
    const Source a = source(op.src[0]);
    const Source b = op.src[1] == 0 ? a : source(op.src[1]);
    if (bools && (a.kind >= kBanks || b.kind >= kBanks)) return false;
    for (const uint8_t place : op.src) {
      if (place >= vm::kFirstOperand && !is_source(place)) return false;
    }
    if (rule.kind == Rule::Kind::unary) return function(static_cast<Unary>(rule.row), op, a);
    if (rule.kind == Rule::Kind::binary) return binary(static_cast<Binary>(rule.row), op, a, b);
    return rule.kind == Rule::Kind::special && special(op, a, b);
  }

  bool special(const MicroOp& op, Source a, Source b) {
    switch (op.insn) {
      case Insn::cmp:
        return compare(op, a, b);
      case Insn::div:
        return divide(op, a, b);
      case Insn::select: {
        if (a.kind >= kBanks) return false;
        const auto row = static_cast<Binary>(static_cast<int>(Binary::select_a) + a.kind);
        return binary(row, op, b, source(op.src[2]));
      }
      case Insn::maximum:
        return extreme(Binary::maximum, Binary::maximum_number, op, a, b);
      case Insn::minimum:
        return extreme(Binary::minimum, Binary::minimum_number, op, a, b);
      case Insn::deg2rad:
        return binary(Binary::mul, op, a, scalar(core::math::deg2rad(T{1})));
      case Insn::rad2deg:
        return binary(Binary::mul, op, a, scalar(core::math::rad2deg(T{1})));
      case Insn::reciprocal:
        return binary(Binary::div, op, scalar(1), a);
      case Insn::isfinite:
        return magnitude_asks(Binary::lt, op, a);
      case Insn::isinf:
        return magnitude_asks(Binary::eq, op, a);
      case Insn::signbit:
        return binary(Binary::lt_integer, op, a, kZero);
      case Insn::neg:
        return binary(Binary::sub_integer, op, kZero, a);
      case Insn::invert:
      case Insn::logical_not:
        return binary(Binary::xor_bits, op, a, kAllBits);
      default:
        return false;
    }
  }
  // |a| <row> infinity
  bool magnitude_asks(Binary row, const MicroOp& op, Source a) {
    return unary(Unary::abs, op, a) &&
           quiet_binary(row, op, in_bank(op.dst), scalar(std::numeric_limits<T>::infinity()));
  }

  const ChainBodies* bodies_ = nullptr;
  const ChainArgs* args_ = nullptr;
  const vm::Operand* operands_ = nullptr;
  const int64_t* row_bytes_ = nullptr;
  Form form_;
  bool quiet_ = false, complete_ = false;
  const vm::Instruction* insn_ = nullptr;
  uint64_t era_ = 0;
  int count_ = 0, looked_at_count_ = 0, foreign_count_ = 0;
  size_t known_bytes_ = 0;
  ChainStep steps_[kMaxSteps];
  // What steps hold of operands.
  struct Foreign {
    uint16_t step;
    uint8_t place;
    bool scalar;
  } foreign_[kMaxSteps];
  ChainMove moves_[kMaxSteps];
  struct {
    uint8_t place;
    bool plain;
  } looked_at_[kMaxSteps];
  uint64_t known_[256];  // the instruction: it has at most 255 words
};

}  // namespace dvm::cpu::chains
