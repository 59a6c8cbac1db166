// A chain to be run in registers and by the plain kernels, with its memory.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "core/ops/fp_flags.h"
#include "cpu/chain/chain.h"
#include "cpu/kernels.h"
#include "cpu/simd_level.h"
#include "oracle.h"

namespace dvm::testing {

using vm::Access;
using vm::Insn;
using vm::Instruction;
using vm::kFirstBank;
using vm::kFirstOperand;
using vm::MicroOp;
using vm::Mode;
using vm::Operand;
using vm::Reach;

template <typename T>
constexpr DType kDType = std::is_integral_v<T> ? (sizeof(T) == 4 ? DType::i32 : DType::i64)
                                               : (sizeof(T) == 4 ? DType::f32 : DType::f64);

// A chain with its memory. Tensors start `offset` bytes into their buffers, and a guard follows.
class Chain {
 public:
  Chain(int64_t size, size_t offset) : Chain(1, size, offset) {}
  Chain(int64_t rows, int64_t columns, size_t offset)
      : rows_(rows), columns_(columns), offset_(offset) {}

  uint8_t input(DType dtype, const std::byte* data, Reach reach = Reach::each) {
    const size_t size = bytes(dtype, reach);
    const uint8_t place = add({.access = Access::of(dtype, false, reach)}, size);
    std::memcpy(tensors_.back().data() + offset_, data, size);
    return place;
  }
  // Rows that begin so many elements apart.
  uint8_t rows_apart(DType dtype, const std::byte* data, int64_t stride) {
    const int64_t elements = (rows_ - 1) * stride + columns_;
    const auto size = static_cast<size_t>(elements * core::byte_size(dtype));
    const uint8_t place = add({.mode = Mode::rows,
                               .access = Access::of(dtype, false),
                               .offset = static_cast<uint32_t>(stride * core::byte_size(dtype))},
                              size);
    std::memcpy(tensors_.back().data() + offset_, data, size);
    return place;
  }
  uint8_t output_apart(DType dtype, int64_t stride) {
    const int64_t elements = (rows_ - 1) * stride + columns_;
    return add({.mode = Mode::rows,
                .access = Access::of(dtype, true),
                .offset = static_cast<uint32_t>(stride * core::byte_size(dtype))},
               static_cast<size_t>(elements * core::byte_size(dtype)));
  }
  uint8_t output(DType dtype, Reach reach = Reach::each) {
    return add({.access = Access::of(dtype, true, reach)}, bytes(dtype, reach));
  }
  template <typename T>
  uint8_t scalar(T value) {
    const uint8_t place =
        add({.mode = Mode::scalar, .access = Access::of(kDType<T>, false)}, sizeof(value));
    std::memcpy(tensors_.back().data() + offset_, &value, sizeof(value));
    return place;
  }
  // One element in memory that stands for all.
  template <typename T>
  uint8_t one(T value) {
    return input(kDType<T>, reinterpret_cast<const std::byte*>(&value), Reach::one);
  }
  void step(Insn insn, DType dtype, uint8_t aux, uint8_t dst, std::initializer_list<uint8_t> src) {
    MicroOp op{.insn = insn, .dtype = dtype, .aux = aux, .dst = dst};
    std::copy(src.begin(), src.end(), op.src);
    steps_.push_back(op);
  }

  struct Result {
    bool ran = true;
    core::FpFlags flags = 0;
    std::vector<std::vector<std::byte>> tensors;
  };
  // As the cpu runs it: a chain that raised too much once more, over what it has written.
  Result in_registers() const {
    bool ran = true;
    Result result = run([&](const vm::ChainArgs& args) {
      ran = cpu::run_chain_in_registers(args);
      if (!ran) run_plain(args);
    });
    result.ran = ran;
    return result;
  }
  Result plain() const { return run(run_plain); }
  // The second operand lies where the first does.
  Result over_itself() const {
    return run([](vm::ChainArgs args) {
      args.operands[1] = args.operands[0];
      cpu::run_chain(args, cpu::kernel_table(cpu::simd_level()));
    });
  }

 private:
  static void run_plain(const vm::ChainArgs& args) {
    vm::run_chain(args, [](const Instruction& insn, const vm::TileArgs& step) {
      cpu::kernel_table(cpu::simd_level())(insn)(step);
    });
  }
  size_t bytes(DType dtype, Reach reach) const {
    const int64_t elements = reach == Reach::each      ? rows_ * columns_
                             : reach == Reach::per_row ? rows_
                             : reach == Reach::one     ? 1
                                                       : columns_;
    return static_cast<size_t>(elements * core::byte_size(dtype));
  }
  uint8_t add(Operand operand, size_t size) {
    operands_.push_back(operand);
    tensors_.emplace_back(offset_ + size + 64, std::byte{0x5a});
    return static_cast<uint8_t>(kFirstOperand + operands_.size() - 1);
  }

  template <typename Run>
  [[gnu::noinline]] Result run(Run execute) const {
    std::vector<uint64_t> words(sizeof(Instruction) / 8 + operands_.size() + steps_.size());
    Instruction fixed{.insn = Insn::chain, .dtype = DType{}};
    fixed.aux = static_cast<uint8_t>(operands_.size());
    fixed.steps = static_cast<uint16_t>(steps_.size());
    fixed.m = static_cast<uint32_t>(rows_);
    fixed.size = static_cast<uint32_t>(columns_);
    std::memcpy(words.data(), &fixed, sizeof(fixed));
    std::memcpy(words.data() + 3, operands_.data(), operands_.size() * 8);
    std::memcpy(words.data() + 3 + operands_.size(), steps_.data(), steps_.size() * 8);
    Result result{.tensors = tensors_};
    vm::ChainArgs args;
    args.insn = reinterpret_cast<const Instruction*>(words.data());
    args.rows = rows_;
    args.columns = columns_;
    for (size_t k = 0; k < operands_.size(); ++k) {
      args.operands[k] = result.tensors[k].data() + offset_;
    }
    cpu::begin_chains();
    const core::WatchFpFlags watch;
    execute(args);
    result.flags = watch.raised();
    return result;
  }

  int64_t rows_, columns_;
  size_t offset_;
  std::vector<Operand> operands_;
  std::vector<std::vector<std::byte>> tensors_;
  std::vector<MicroOp> steps_;
};

// With one SIMD level after the other.
class AtEachLevel : public ::testing::TestWithParam<cpu::SimdLevel> {
 protected:
  AtEachLevel() { cpu::set_simd_level(GetParam()); }
  ~AtEachLevel() override { cpu::set_simd_level(before_); }

 private:
  cpu::SimdLevel before_ = cpu::simd_level();
};

}  // namespace dvm::testing
