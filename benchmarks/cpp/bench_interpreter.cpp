// The cpu target from the inside: what a Program costs before it computes (time of the whole run),
// per further instruction, and per element of each kind of instruction. cpu/cost.h is filled from
// the last one. Everything runs on the calling thread.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "cpu/cpu_target.h"
#include "vm/isa/program_builder.h"

namespace dvm {
namespace {

using vm::DType;
using vm::Insn;
using vm::Instruction;
using vm::Operand;

struct Built {
  std::vector<uint64_t> words = std::vector<uint64_t>(8192);
  vm::Program program;
};

// Tiles of `size` elements: g1 = op(op(... op(g0, g0) ..)), `steps` instructions of which all but
// the first work in place on a slot.
void build_chain(Built& built, Insn insn, DType dtype, uint32_t size, int steps, int64_t tiles) {
  const vm::TargetTraits& cpu = *vm::find_target("cpu");
  const int64_t bytes = int64_t{size} * core::byte_size(dtype);
  vm::ProgramBuilder builder(cpu, built.words, std::span(&tiles, 1));
  builder.add_global({.low = 0, .high = bytes * tiles, .dtype = dtype, .written = 0});
  builder.add_global({.low = 0, .high = bytes * tiles, .dtype = dtype, .written = 1});
  const Operand out = steps > 1 ? vm::slot_operand(0) : builder.stream(1, 0, std::span(&bytes, 1));
  const Operand in = builder.stream(0, 0, std::span(&bytes, 1));
  for (int step = 0; step < steps; ++step) {
    Instruction fixed{.insn = insn, .dtype = dtype};
    fixed.size = size;
    const Operand a = step == 0 ? in : vm::slot_operand(0);
    std::vector<Operand> operands{out, a, in};
    if (step > 0 && step == steps - 1) operands[0] = builder.stream(1, 0, std::span(&bytes, 1));
    operands.resize(static_cast<size_t>(vm::info(insn).operands));
    builder.append(fixed, operands);
  }
  built.program = builder.finish(32768);
}

void run(benchmark::State& state, const vm::Program& program, std::vector<std::byte>& in,
         std::vector<std::byte>& out) {
  cpu::set_thread_count(1);
  const auto target = cpu::make_cpu_target();
  std::byte* globals[] = {in.data(), out.data()};
  for (auto _ : state) {
    target->run(program, globals);
    benchmark::ClobberMemory();
  }
}

void instructions(benchmark::State& state) {
  Built built;
  build_chain(built, Insn::add, DType::f32, static_cast<uint32_t>(state.range(1)),
              static_cast<int>(state.range(0)), 1);
  std::vector<std::byte> in(65536), out(65536);
  run(state, built.program, in, out);
}
BENCHMARK(instructions)
    ->ArgNames({"count", "elements"})
    ->ArgsProduct({{0, 1, 2, 11}, {0, 16, 1024}});

void tiles(benchmark::State& state) {
  Built built;
  build_chain(built, Insn::add, DType::f32, 16, 1, state.range(0));
  std::vector<std::byte> in(65536), out(65536);
  run(state, built.program, in, out);
}
BENCHMARK(tiles)->ArgName("count")->Arg(1)->Arg(2)->Arg(102);

// ns per element with everything in L1.
void element(benchmark::State& state, Insn insn, DType dtype) {
  constexpr int64_t kElements = 1024;
  Built built;
  build_chain(built, insn, dtype, kElements, 1, 1);
  // Ones in every dtype's eyes: small positive numbers.
  std::vector<std::byte> in(8 * kElements), out(8 * kElements);
  core::dispatch(dtype, [&]<DType D>() {
    using T = core::Storage<D>;
    auto* data = reinterpret_cast<T*>(in.data());
    for (int64_t i = 0; i < kElements; ++i) {
      if constexpr (core::is_half(D)) {
        data[i] = core::to_half<T>(0.5F + static_cast<float>(i) * 1e-3F);
      } else {
        data[i] = static_cast<T>(D == DType::boolean ? static_cast<double>(i & 1)
                                                     : 0.5 + static_cast<double>(i) * 1e-3);
      }
    }
  });
  run(state, built.program, in, out);
  state.counters["ns/element"] =
      benchmark::Counter(kElements * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                                               benchmark::Counter::kInvert);
}

// Every pair of some dtypes.
void cast(benchmark::State& state) {
  const auto from = static_cast<DType>(state.range(0)), to = static_cast<DType>(state.range(1));
  constexpr int64_t kElements = 1024;
  Built built;
  const vm::TargetTraits& cpu = *vm::find_target("cpu");
  vm::ProgramBuilder builder(cpu, built.words, {});
  builder.add_global({.low = 0, .high = 8 * kElements, .dtype = from, .written = 0});
  builder.add_global({.low = 0, .high = 8 * kElements, .dtype = to, .written = 1});
  Instruction fixed{.insn = Insn::cast, .dtype = to, .aux = static_cast<uint8_t>(from)};
  fixed.size = kElements;
  const Operand d = builder.stream(1, 0, {});
  builder.append(fixed, std::vector{d, builder.stream(0, 0, {})});
  built.program = builder.finish(0);
  std::vector<std::byte> in(8 * kElements), out(8 * kElements);
  run(state, built.program, in, out);
  state.SetLabel(std::string(core::to_string(from)) + " to " + std::string(core::to_string(to)));
  state.SetItemsProcessed(state.iterations() * kElements);
}
BENCHMARK(cast)->ArgsProduct({{1, 3, 4, 9, 10, 11}, {1, 3, 4, 9, 10, 11}});

// [m,size,n], all in L1 or L2.
void sum(benchmark::State& state) {
  Built built;
  vm::ProgramBuilder builder(*vm::find_target("cpu"), built.words, {});
  const auto dtype = static_cast<DType>(state.range(3));
  const int64_t elements = state.range(0) * state.range(1) * state.range(2);
  builder.add_global({.low = 0, .high = elements * 8, .dtype = dtype, .written = 0});
  builder.add_global({.low = 0, .high = elements * 8, .dtype = dtype, .written = 1});
  const bool lanes = state.range(2) == 1;
  Instruction fixed{
      .insn = Insn::sum,
      .dtype = dtype,
      .aux = static_cast<uint8_t>(lanes ? vm::ReduceOrder::lanes : vm::ReduceOrder::sequential)};
  fixed.m = static_cast<uint32_t>(state.range(0));
  fixed.size = static_cast<uint32_t>(state.range(1));
  fixed.n = static_cast<uint32_t>(state.range(2));
  const Operand d = builder.stream(1, 0, {});
  builder.append(fixed, std::vector{d, builder.stream(0, 0, {})});
  built.program = builder.finish(0);
  std::vector<std::byte> in(static_cast<size_t>(elements * 8)), out(in.size());
  run(state, built.program, in, out);
  state.SetLabel(std::string(core::to_string(dtype)));
  state.SetItemsProcessed(state.iterations() * elements);
}
BENCHMARK(sum)
    ->ArgNames({"m", "size", "n", "dtype"})
    ->ArgsProduct({{4}, {1024}, {1, 4, 16, 64}, {3, 4, 9, 10, 11}})
    ->Args({128, 32, 1, 4})
    ->Args({1, 4096, 1, 4});

[[maybe_unused]] const bool kRegistered = [] {
  for (const Insn insn : {Insn::copy, Insn::add, Insn::mul, Insn::div, Insn::maximum, Insn::neg,
                          Insn::sqrt, Insn::exp, Insn::expm1, Insn::log, Insn::log1p, Insn::tanh,
                          Insn::sin, Insn::isnan, Insn::logical_and, Insn::bitwise_xor}) {
    for (int d = 0; d < core::kDTypeCount; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!vm::contains(vm::info(insn).dtypes, dtype)) continue;
      const std::string name =
          "element/" + std::string(vm::info(insn).name) + "." + std::string(core::to_string(dtype));
      benchmark::RegisterBenchmark(name.c_str(), element, insn, dtype);
    }
  }
  return true;
}();

}  // namespace
}  // namespace dvm
