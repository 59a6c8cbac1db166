// Random chains of a Program: any steps, or those that the encoder makes chains of.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "vm/encoded_steps.h"
#include "vm/program_draft.h"

namespace dvm::vm {

class RandomChain {
 public:
  explicit RandomChain(ProgramDraft& draft) : draft_(draft) {}

  // Of any steps, or of those that the encoder makes chains of, whose elements have one width.
  void add() {
    static const std::vector<MicroOp> encoded[] = {encoded_steps(4), encoded_steps(8)};
    const std::vector<MicroOp>* steps = draft_.chance(65) ? &encoded[draft_.below(2)] : nullptr;
    Line line;
    line.fixed.insn = Insn::chain;
    line.fixed.dtype = DType{};
    const int64_t elements = draft_.random_value().elements;
    const int64_t rows = draft_.chance(50) ? draft_.divisor(elements) : 1;
    line.fixed.m = static_cast<uint32_t>(rows);
    line.fixed.size = static_cast<uint32_t>(elements / rows);
    draft_.choose_split(line);
    Held held;
    for (int64_t count = draft_.one_to(10); count > 0; --count) {
      MicroOp op = steps != nullptr ? (*steps)[draft_.below(steps->size())] : random_step();
      const Instruction step{.insn = op.insn, .dtype = op.dtype, .aux = op.aux};
      for (int k = 1; k < info(op.insn).operands; ++k) {
        op.src[k - 1] = chain_source(line, op, operand_dtype(step, k), held, steps != nullptr);
      }
      op.dst = static_cast<uint8_t>(kFirstBank + draft_.below(kBanks));
      line.steps.push_back(op);
      set_held(held, op.dst, operand_dtype(step, 0));
    }
    const MicroOp last = line.steps.back();
    const Instruction step{.insn = last.insn, .dtype = last.dtype, .aux = last.aux};
    chain_result(line, last.dst, operand_dtype(step, 0));
    if (draft_.chance(40)) add_sum(line, held);
    draft_.append(std::move(line));
  }

 private:
  using Line = ProgramDraft::Line;
  using Ref = ProgramDraft::Ref;
  using Value = ProgramDraft::Value;
  using Held = std::vector<std::pair<uint8_t, DType>>;  // places that may be read

  // Of the rows of what a bank holds.
  void add_sum(Line& line, const Held& held) {
    for (const auto& [place, dtype] : held) {
      if (place >= kFirstOperand || (dtype != DType::f32 && dtype != DType::f64)) continue;
      Ref ref;
      if (!draft_.take_slot(int64_t{line.fixed.m} * core::byte_size(dtype), ref)) return;
      draft_.values.push_back({ref.slot, dtype, line.fixed.m});
      MicroOp sum{.insn = Insn::sum, .dtype = dtype, .src = {place}};
      sum.dst = add_operand(line, ref, dtype, true, Reach::per_row);
      line.steps.push_back(sum);
      return;
    }
  }

  // Casts and comparisons more often than others: they are many, by what they are of.
  MicroOp random_step() {
    MicroOp op;
    do {
      op.insn = static_cast<Insn>(draft_.below(kInsnCount));
      if (draft_.chance(25)) op.insn = draft_.chance(60) ? Insn::cast : Insn::cmp;
    } while (info(op.insn).pipe != Pipe::simd || op.insn == Insn::chain ||
             info(info(op.insn).format).extents != ExtentKind::linear);
    const InsnInfo& row = info(op.insn);
    op.dtype = draft_.random_dtype(row.dtypes);
    if (row.format == Format::cast) op.aux = static_cast<uint8_t>(draft_.random_dtype());
    if (row.format == Format::compare) op.aux = static_cast<uint8_t>(draft_.below(kCompareCount));
    return op;
  }

  static void set_held(Held& held, uint8_t place, DType dtype) {
    std::erase_if(held, [&](const auto& entry) { return entry.first == place; });
    held.emplace_back(place, dtype);
  }

  uint8_t add_operand(Line& line, Ref ref, DType dtype, bool written, Reach reach = Reach::each) {
    ref.access = Access::of(dtype, written, reach);
    line.operands.push_back(std::move(ref));
    return static_cast<uint8_t>(kFirstOperand + line.operands.size() - 1);
  }

  // A place with that dtype for `op` to read. As the encoder does it, narrow elements come from
  // memory, into a bank for anything but a cast.
  uint8_t chain_source(Line& line, const MicroOp& op, DType dtype, Held& held, bool encoded) {
    const bool narrow = encoded && core::byte_size(dtype) < 4;
    std::vector<uint8_t> known;
    for (const auto& [place, type] : held) {
      const bool bank = place < kFirstOperand;
      if (type == dtype && (bank || !narrow)) known.push_back(place);
    }
    if (!known.empty() && draft_.chance(70)) return known[draft_.below(known.size())];
    Ref ref = draft_.make_scalar(dtype);
    std::vector<uint32_t> slots;
    for (const Value& value : draft_.values) {
      const bool fits = value.elements == int64_t{line.fixed.m} * line.fixed.size;
      if (value.dtype == dtype && fits) slots.push_back(value.slot);
    }
    if (draft_.target->streams && (draft_.chance(30) || (narrow && slots.empty()))) {
      ref = draft_.make_stream(line, dtype, false, false);
    } else if (!slots.empty() && (narrow || draft_.chance(80))) {
      ref = {};
      ref.slot = slots[draft_.below(slots.size())];
    }
    // Any elements that lie there may stand for others.
    const bool some = ref.mode == Mode::slot && draft_.chance(30);
    const Reach reach = some ? static_cast<Reach>(1 + draft_.below(3)) : Reach::each;
    const uint8_t place = add_operand(line, ref, dtype, false, reach);
    set_held(held, place, dtype);
    if (!narrow || op.insn == Insn::cast) return place;
    MicroOp load{.insn = Insn::copy, .dtype = dtype, .src = {place}};
    do {
      load.dst = static_cast<uint8_t>(kFirstBank + draft_.below(kBanks));
    } while (std::ranges::find(op.src, load.dst) != std::end(op.src));
    line.steps.push_back(load);
    set_held(held, load.dst, dtype);
    return load.dst;
  }

  // Copies what a bank holds to memory, sometimes in place, and sometimes reads it back.
  void chain_result(Line& line, uint8_t bank, DType dtype) {
    Ref ref;
    const int64_t elements = int64_t{line.fixed.m} * line.fixed.size;
    const int64_t bytes = elements * core::byte_size(dtype);
    const auto in_place = std::ranges::find_if(line.operands, [&](const Ref& operand) {
      const bool also_some = std::ranges::any_of(line.operands, [&](const Ref& other) {
        return other.slot == operand.slot && Access::reach(other.access) != Reach::each;
      });
      return operand.mode == Mode::slot && operand.access == Access::of(dtype, false) && !also_some;
    });
    if (draft_.target->streams && draft_.chance(40)) {
      ref = draft_.make_stream(line, dtype, false, true);
    } else if (in_place != line.operands.end() && draft_.chance(40)) {
      ref.slot = in_place->slot;
    } else if (draft_.take_slot(bytes, ref)) {
      draft_.values.push_back({ref.slot, dtype, elements});
    } else {
      return;
    }
    MicroOp store{.insn = Insn::copy, .dtype = dtype};
    store.src[0] = bank;
    store.dst = add_operand(line, ref, dtype, true);
    line.steps.push_back(store);
    if (!draft_.chance(30)) return;
    store.src[0] = store.dst;
    store.dst = bank;
    line.steps.push_back(store);
  }

  ProgramDraft& draft_;
};

}  // namespace dvm::vm
