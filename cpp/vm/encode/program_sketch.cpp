#include "vm/encode/program_sketch.h"

#include <algorithm>

#include "core/error.h"
#include "vm/encode/encode.h"

namespace dvm::vm {

int ProgramSketch::add_global(const Global& global) {
  globals_.push_back(global);
  return static_cast<int>(globals_.size()) - 1;
}

ProgramSketch::ProgramSketch(const TargetTraits& target, std::vector<int64_t> grid)
    : target_(target), grid_(std::move(grid)) {
  for (int space = 0; space < kSpaceCount; ++space) {
    slots_.emplace_back(target, static_cast<Space>(space));
  }
}

Operand ProgramSketch::slot(int64_t elements, DType dtype, Space space) {
  const int64_t offset = slots_[static_cast<size_t>(space)].take(elements * core::byte_size(dtype));
  DVM_CHECK(offset != SlotAllocator::kNone, "a tile exceeds local memory");
  return slot_operand(static_cast<uint32_t>(offset), space);
}

Operand ProgramSketch::scalar(DType dtype, Scalar value) {
  scalars_.push_back(scalar_pool_bits(dtype, value));
  return {Mode::scalar, 0, static_cast<uint16_t>(scalars_.size() - 1), 0};
}

Operand ProgramSketch::stream(int global, int64_t offset, std::vector<int64_t> grid_strides,
                              int64_t loop_stride) {
  const int loop = around_ == SlotUse::kNoLoop ? SlotUse::kNoLoop
                                               : lines_[static_cast<size_t>(around_)].fixed.aux;
  streams_.push_back({global, offset, std::move(grid_strides), loop, loop_stride});
  return {Mode::stream, 0, static_cast<uint16_t>(streams_.size() - 1), 0};
}

void ProgramSketch::append(const Instruction& fixed, std::vector<Operand> operands,
                           std::vector<ViewDim> view, std::vector<Tail> tails) {
  lines_.push_back({fixed, around_, std::move(operands), std::move(view), std::move(tails)});
}

void ProgramSketch::append_attention(const Instruction& fixed, std::vector<Operand> operands,
                                     const AttentionWords& words, std::vector<Tail> tails) {
  lines_.push_back({fixed, around_, std::move(operands), {}, std::move(tails), words});
}

void ProgramSketch::begin_loop(int64_t steps) {
  const auto line = static_cast<int16_t>(lines_.size());
  append({.insn = Insn::loop, .aux = static_cast<uint8_t>(loops_.size())}, {});
  loops_.push_back(steps);
  around_ = line;
}

void ProgramSketch::end_loop() { around_ = lines_[static_cast<size_t>(around_)].around; }

namespace {

constexpr uint32_t kMostBytes = 1 << 24;  // of a memory

SlotUse use_of(const Instruction& insn, int16_t around) {
  SlotUse use{.pipe = info(insn.insn).pipe, .around = around};
  for (int k = 0; k < insn.operand_count(); ++k) {
    const Operand& operand = insn.operands()[k];
    if (operand.mode != Mode::slot) continue;
    const auto bytes = static_cast<uint32_t>(operand_elements(insn, k, 0) *
                                             core::byte_size(operand_dtype(insn, k)));
    // Memories one behind the other, each with more room than it takes.
    const uint32_t begin = uint32_t{operand.index} * kMostBytes + operand.offset;
    const SlotUse::Range range{begin, begin + bytes};
    (k == 0 ? use.written : use.read[use.reads++]) = range;
  }
  return use;
}

}  // namespace

Operand ProgramSketch::enter(ProgramBuilder& builder, const Operand& operand) const {
  if (operand.mode == Mode::slot) return operand;
  if (operand.mode == Mode::scalar) return builder.scalar_bits(scalars_[operand.index]);
  const Course& course = streams_[operand.index];
  std::vector<int64_t> strides = course.grid_strides;
  strides.resize(grid_.size() + loops_.size(), 0);
  if (course.loop >= 0)
    strides[grid_.size() + static_cast<size_t>(course.loop)] = course.loop_stride;
  Operand entered = builder.stream(course.global, course.offset, strides);
  entered.mode = operand.mode;
  entered.offset = operand.offset;
  return entered;
}

Program ProgramSketch::build(std::span<uint64_t> words, std::vector<SlotUse>& uses,
                             std::span<const SyncList> syncs, uint8_t loop_flags) const {
  ProgramBuilder builder(target_, words, grid_, loops_);
  for (const Global& global : globals_) builder.add_global(global);
  int16_t open = SlotUse::kNoLoop;
  const auto close = [&](int16_t around) {
    for (; open != around; open = lines_[static_cast<size_t>(open)].around) builder.end_loop();
  };
  for (size_t i = 0; i < lines_.size(); ++i) {
    const Line& line = lines_[i];
    std::span<const Sync> flags;
    if (!syncs.empty()) flags = {syncs[i].at, syncs[i].count};
    close(line.around);
    if (line.fixed.is_loop()) {
      builder.begin_loop(flags);
      open = static_cast<int16_t>(i);
      uses.push_back({.pipe = Pipe::scalar, .around = line.around});
      continue;
    }
    std::vector<Operand> operands;
    for (const Operand& operand : line.operands) operands.push_back(enter(builder, operand));
    const Instruction& made =
        line.fixed.is_attention()
            ? builder.append_attention(line.fixed, operands, line.attention, flags, line.tails)
            : builder.append(line.fixed, operands, flags, line.view, line.tails);
    uses.push_back(use_of(made, line.around));
  }
  close(SlotUse::kNoLoop);
  const int64_t local = std::max(slots_.front().peak(), target_.reserve_bytes);
  return builder.finish(static_cast<uint32_t>(local), loop_flags);
}

Program ProgramSketch::finish(std::span<uint64_t> words, int own) const {
  std::vector<SlotUse> uses;
  Program program = build(words, uses, {}, 0);
  if (target_.flags) {
    std::vector<SyncList> syncs(uses.size());
    const uint8_t loop_flags = plan_flags(uses, syncs);
    program = build(words, uses, syncs, loop_flags);
  }
  verify_if_asked(program, target_, own);
  return program;
}

}  // namespace dvm::vm
