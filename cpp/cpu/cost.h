// What work costs on the cpu, in nanoseconds: the one place with such numbers. They only decide
// whether and how finely a Program is spread over threads, never what it computes.
//
// Measured by benchmarks/cpp/bench_interpreter.cpp (Xeon, AVX-512 kernels, operands in L1) and, for
// threads, by facts/cpu-performance.md section 3.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "cpu/tile_ops.h"
#include "vm/interpreter.h"

namespace dvm::cpu {

enum class CostClass : uint8_t {
  move,
  strided,
  arithmetic,
  division,
  function,
  library,
  cast,
  reduce
};

struct CostTable {
  // Per element, by class and column_of(dtype).
  float element_ns[8][7];
  float instruction_ns;  // decoding and calling
  float chain_share;     // of element_ns, for a micro-op of a chain in registers
  float tile_ns;         // addresses of a tile
  // Work below which handing part of it to a worker does not pay.
  float fork_spinning_ns, fork_asleep_ns;
  // A chunk takes at least this long, so that taking it from the shared counter is cheap.
  float chunk_ns;
  // Chunks per thread when there are tiles enough: what is left to even out their finish.
  int chunks_per_thread;
  // How long an idle thread looks for work before it sleeps.
  float spin_ns;
};

constexpr int column_of(core::DType dtype) {
  const int width = std::countr_zero(static_cast<unsigned>(core::byte_size(dtype)));
  return core::is_floating(dtype) ? 3 + width : width;
}

inline constexpr CostTable kCost = {
    .element_ns =
        {
            // 1, 2, 4, 8 bytes; f16, f32, f64
            {0.01f, 0.02f, 0.03f, 0.06f, 0.02f, 0.03f, 0.06f},  // move
            {0.40f, 0.40f, 0.40f, 0.45f, 0.40f, 0.40f, 0.45f},  // strided
            {0.01f, 0.02f, 0.04f, 0.09f, 0.15f, 0.04f, 0.09f},  // arithmetic
            {0.00f, 0.00f, 0.00f, 0.00f, 0.35f, 0.20f, 0.65f},  // division
            {0.00f, 0.00f, 0.00f, 0.00f, 0.50f, 0.35f, 0.80f},  // function: a polynomial
            {2.50f, 2.50f, 2.50f, 5.00f, 6.00f, 6.00f, 9.00f},  // library; integers: division
            {0.03f, 0.03f, 0.05f, 0.10f, 0.60f, 0.05f, 0.10f},  // cast
            {0.02f, 0.03f, 0.04f, 0.08f, 0.08f, 0.04f, 0.08f},  // reduce
        },
    .instruction_ns = 3,
    .chain_share = 0.3f,
    .tile_ns = 5,
    .fork_spinning_ns = 3000,
    .fork_asleep_ns = 60000,
    .chunk_ns = 2000,
    .chunks_per_thread = 8,
    .spin_ns = 50000,
};

constexpr CostClass cost_class(vm::Insn insn) {
  switch (insn) {
    case vm::Insn::load:
    case vm::Insn::store:
    case vm::Insn::copy:
    case vm::Insn::broadcast:
    case vm::Insn::select:
      return CostClass::move;
    case vm::Insn::view_load:
    case vm::Insn::view_store:
      return CostClass::strided;
    case vm::Insn::div:
    case vm::Insn::sqrt:
      return CostClass::division;
    case vm::Insn::cast:
      return CostClass::cast;
    case vm::Insn::sum:
    case vm::Insn::prod:
    case vm::Insn::max:
    case vm::Insn::min:
      return CostClass::reduce;
    default:
      break;
  }
    // What calls the math library, element by element, has no body in tile_ops.h.
#define DVM_ELEMENTWISE(name, ...)                                                             \
  if (insn == vm::Insn::name && !tile_ops::Written<tile_ops::name>) return CostClass::library; \
  if (insn == vm::Insn::name && tile_ops::Function<tile_ops::name>) return CostClass::function;
#include "core/elementwise.def"
#undef DVM_ELEMENTWISE
  return CostClass::arithmetic;
}

// Nanoseconds that one body tile takes when its operands are in cache.
inline double tile_cost(const vm::Program& program) {
  static constexpr auto kClasses = [] {
    std::array<CostClass, vm::kInsnCount> classes{};
    for (int i = 0; i < vm::kInsnCount; ++i) {
      classes[static_cast<size_t>(i)] = cost_class(static_cast<vm::Insn>(i));
    }
    return classes;
  }();
  double total = kCost.tile_ns;
  const auto code = program.code();
  for (const uint64_t *p = code.data(), *stop = p + code.size(); p != stop;) {
    const auto& insn = *reinterpret_cast<const vm::Instruction*>(p);
    p += insn.words;
    const auto elements = static_cast<double>(insn.m) * insn.size * insn.n;
    const auto element_ns = [](vm::Insn of, core::DType dtype) {
      const auto row = static_cast<size_t>(kClasses[static_cast<size_t>(of)]);
      return static_cast<double>(kCost.element_ns[row][column_of(dtype)]);
    };
    total += kCost.instruction_ns;
    if (!insn.is_chain()) total += elements * element_ns(insn.insn, insn.dtype);
    for (const vm::MicroOp& op : insn.micro_ops()) {
      total += elements * static_cast<double>(kCost.chain_share) * element_ns(op.insn, op.dtype);
    }
  }
  return total;
}

}  // namespace dvm::cpu
