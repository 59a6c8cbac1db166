// What fuzzing can find depends on what the generator of Programs gives it to damage: every
// instruction in every dtype, by itself and in chains, and every step that the encoder makes chains
// of in one that runs in registers.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <tuple>

#include "chain_levels.h"
#include "core/ops/scalar_ops.h"
#include "cpu/chain/chain.h"
#include "vm/program_generator.h"

namespace dvm::vm {
namespace {

// An instruction, its dtype, and what a comparison or cast says besides.
using Kind = std::tuple<Insn, DType, uint8_t>;

std::string name_of(const Kind& kind) {
  const auto [insn, dtype, aux] = kind;
  std::string name = std::string(info(insn).name) + "." + std::string(core::to_string(dtype));
  if (info(insn).format == Format::cast) {
    name += " of " + std::string(core::to_string(static_cast<DType>(aux)));
  }
  if (info(insn).format == Format::compare) {
    name += " " + std::string(to_string(static_cast<Compare>(aux)));
  }
  return name;
}

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (int i = 0; i < kInsnCount; ++i) {
    const auto insn = static_cast<Insn>(i);
    const Pipe pipe = info(insn).pipe;
    if (!has_kernel(insn) || pipe == Pipe::feed) continue;  // there is no L1 on the cpu
    const Format format = info(insn).format;
    const bool of_matrices = pipe == Pipe::cube || pipe == Pipe::fix || is_attention(format);
    const int choices = format == Format::cast      ? core::kDTypeCount
                        : format == Format::compare ? kCompareCount
                                                    : 1;
    for (int d = 0; d < core::kDTypeCount; ++d) {
      if (!contains(info(insn).dtypes, static_cast<DType>(d))) continue;
      if (of_matrices && !core::adds_products(static_cast<DType>(d), static_cast<DType>(d)))
        continue;
      for (int aux = 0; aux < choices; ++aux) {
        kinds.emplace_back(insn, static_cast<DType>(d), static_cast<uint8_t>(aux));
      }
    }
  }
  return kinds;
}

bool may_be_chained(Insn insn) {
  return info(insn).pipe == Pipe::simd && info(info(insn).format).extents == ExtentKind::linear;
}

// Runs the chain over ones in every operand; false where it does not run in registers.
bool runs_in_registers(const Instruction& insn) {
  constexpr int64_t kSize = 20;
  std::vector<std::array<std::byte, (kSize + 8) * sizeof(double)>> tensors(insn.aux);
  ChainArgs args{&insn, 1, std::min<int64_t>(insn.size, kSize), {}};
  for (int k = 0; k < insn.aux; ++k) {
    auto& tensor = tensors[static_cast<size_t>(k)];
    core::dispatch(operand_dtype(insn, k), [&]<DType D>() {
      const auto one = core::scalar::cast<core::Storage<D>>(1.0);
      for (size_t at = 0; at < tensor.size(); at += sizeof(one)) {
        std::memcpy(tensor.data() + at, &one, sizeof(one));
      }
    });
    args.operands[k] = tensor.data();
  }
  cpu::begin_chains();
  return cpu::run_chain_in_registers(args);
}

TEST(Generator, MakesEveryInstructionOfEveryDType) {
  constexpr int kPrograms = 60000;
  std::map<Kind, int> alone, chained, in_registers;
  ProgramGenerator generator(1);
  for (int i = 0; i < kPrograms; ++i) {
    const auto words = generator.generate(*find_target("cpu"));
    for (auto rest = Program(words).code(); !rest.empty();) {
      const auto& insn = *reinterpret_cast<const Instruction*>(rest.data());
      rest = rest.subspan(insn.words);
      if (!insn.is_chain()) {
        const Format format = info(insn.insn).format;
        const bool says_more = format == Format::cast || format == Format::compare;
        ++alone[{insn.insn, insn.dtype, says_more ? insn.aux : uint8_t{0}}];
        continue;
      }
      const bool ran = runs_in_registers(insn);
      for (const MicroOp& op : insn.micro_ops()) {
        const Kind kind{op.insn, op.dtype, op.aux};
        ++chained[kind];
        if (ran) ++in_registers[kind];
      }
    }
  }
  for (const Kind& kind : all_kinds()) {
    EXPECT_GT(alone[kind], 0) << name_of(kind);
    if (may_be_chained(std::get<Insn>(kind))) {
      EXPECT_GT(chained[kind], 0) << name_of(kind) << " in a chain";
    }
  }
  if (!cpu::has_chain_registers()) return;
  for (const int width : {4, 8}) {
    for (const MicroOp& step : encoded_steps(width)) {
      const Kind kind{step.insn, step.dtype, step.aux};
      const bool casts_it = step.insn == Insn::cast && step.aux == static_cast<uint8_t>(DType::i64);
      if (testing::lacks_wide_integers() && (step.dtype == DType::i64 || casts_it)) continue;
      EXPECT_GT(in_registers[kind], 0) << name_of(kind) << " in registers";
    }
  }
}

}  // namespace
}  // namespace dvm::vm
