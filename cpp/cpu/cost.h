// How long the tiles of a Program take, from the constants of vm/target/cost.def: what decides
// whether and how finely it is spread over threads, never what it computes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cpu/elementwise/tile_ops.h"
#include "cpu/simd_level.h"
#include "vm/encode/product_tiling.h"
#include "vm/run/interpreter.h"
#include "vm/target/cost.h"

namespace dvm::cpu {

using vm::CostClass;

constexpr CostClass cost_class(vm::Insn insn) {
  switch (insn) {
    case vm::Insn::load:
    case vm::Insn::store:
    case vm::Insn::feed:
    case vm::Insn::copy:
    case vm::Insn::broadcast:
    case vm::Insn::select:
      return CostClass::move;
    case vm::Insn::view_load:
    case vm::Insn::view_store:
    case vm::Insn::drain:
    case vm::Insn::gather:
    case vm::Insn::take_along:
      return CostClass::strided;
    case vm::Insn::div:
    case vm::Insn::sqrt:
      return CostClass::division;
    case vm::Insn::cast:
      return CostClass::cast;
    case vm::Insn::matmul:
      return CostClass::product;
    default:
      break;
  }
  if (vm::is_reduction(insn)) return CostClass::reduce;
    // What calls the math library, element by element, has no body in tile_ops.h.
#define DVM_ELEMENTWISE(name, ...)                                                             \
  if (insn == vm::Insn::name && !tile_ops::Written<tile_ops::name>) return CostClass::library; \
  if (insn == vm::Insn::name && tile_ops::Function<tile_ops::name>) return CostClass::function;
#include "core/ops/elementwise.def"
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
  const vm::CostTable& cost = vm::cost_table();
  double total = cost.tile_ns, steps = 1;
  const auto code = program.code();
  const uint64_t* body_end = nullptr;  // of the outermost loop around an instruction
  for (const uint64_t *p = code.data(), *stop = p + code.size(); p != stop;) {
    const auto& insn = *reinterpret_cast<const vm::Instruction*>(p);
    if (p == body_end) steps = 1, body_end = nullptr;
    p += insn.words;
    if (insn.is_loop()) {
      steps *= static_cast<double>(program.loops()[insn.aux]);
      if (body_end == nullptr) body_end = p + insn.body_words();
      continue;
    }
    const bool gathers = vm::kInsnFormats[static_cast<size_t>(insn.insn)] == vm::Format::gather;
    const auto elements =
        gathers ? static_cast<double>(insn.size) : static_cast<double>(insn.m) * insn.size * insn.n;
    const auto element_ns = [&](vm::Insn of, core::DType dtype) {
      const auto row = static_cast<size_t>(kClasses[static_cast<size_t>(of)]);
      return cost.element_ns[row][vm::cost_column(dtype)];
    };
    total += steps * cost.instruction_ns;
    if (insn.insn == vm::Insn::matmul) {
      const auto aux = vm::MatrixAux::of(insn.dtype, insn.aux);
      const vm::ProductRates rates =
          vm::product_rates(insn.dtype, aux.source, aux.precision, has_matrix_tiles(simd_level()));
      const double copied = vm::copied_share(insn.operands()[2].mode == vm::Mode::packed,
                                             insn.has_windows() ? &insn.windows() : nullptr);
      total += steps * vm::product_tile_ns(rates, insn.m, insn.n, insn.size, copied);
      continue;
    }
    if (!insn.is_chain()) total += steps * elements * element_ns(insn.insn, insn.dtype);
    for (const vm::MicroOp& op : insn.micro_ops()) {
      total += steps * elements * cost.chain_share * element_ns(op.insn, op.dtype);
    }
  }
  return total;
}

// Nanoseconds that one thread waits for memory, which are the longer ones of simple programs.
inline double memory_cost(const vm::Program& program) {
  const vm::CostTable& cost = vm::cost_table();
  double bytes = 0;
  for (const vm::Global& global : program.globals()) {
    bytes += static_cast<double>(global.high - global.low);
  }
  return bytes < cost.far_bytes ? 0 : bytes * cost.far_ns;
}

// Nanoseconds of one tile among all, wherever its operands are, and of what follows on it.
inline double shared_tile_cost(const vm::Launch& launch) {
  const auto tiles = static_cast<double>(launch.program.header().tile_count);
  double cost = tile_cost(launch.program), far = memory_cost(launch.program) / tiles;
  for (const vm::Follower& follower : launch.followers) {
    const auto own = static_cast<double>(follower.program.header().tile_count);
    cost += tile_cost(follower.program) * own / tiles;
    far += memory_cost(follower.program) / tiles;
  }
  return std::max(cost, far);
}

}  // namespace dvm::cpu
