// What the simulated AI Core refuses, with the texts pinned. The Programs are built by hand, since
// no encoder and no verified file would contain such mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "core/error.h"
#include "sim/sim_target.h"
#include "tile_program.h"

namespace dvm::testing {
namespace {

using vm::Instruction;
using vm::Operand;
using vm::Pipe;
using vm::slot_operand;
using vm::Sync;

constexpr Sync set(Pipe src, Pipe dst, uint8_t event = 0) { return {1, src, dst, event, 0}; }
constexpr Sync wait(Pipe src, Pipe dst, uint8_t event = 0) { return {0, src, dst, event, 0}; }

// d = -a over three tiles of 64 floats, the last one 32 long, one tile per core. Tests change one
// thing each.
struct NegProgram {
  static constexpr int64_t kMaxTiles = 20;  // the destination's room
  int64_t grid = 3;
  uint32_t a = 512, d = 768;  // slots
  int64_t offset = 0, stride = 256, high = 640, dst_stride = 256;
  std::optional<int64_t> dst_high;  // as far as tiles write, or further
  uint8_t written = 1, loop_flags = vm::simd_to_load | vm::store_to_simd;
  std::vector<Sync> load = {wait(Pipe::simd, Pipe::load), set(Pipe::load, Pipe::simd)};
  std::vector<Sync> neg = {wait(Pipe::load, Pipe::simd), wait(Pipe::store, Pipe::simd),
                           set(Pipe::simd, Pipe::load), set(Pipe::simd, Pipe::store)};
  std::vector<Sync> store = {wait(Pipe::simd, Pipe::store), set(Pipe::store, Pipe::simd)};
  bool streamed_source = false;
  std::vector<float> input = std::vector<float>(160);
  std::vector<float> output = std::vector<float>(kMaxTiles * 64);
  sim::SimReport report;
  const TargetTraits* traits = vm::find_target("ascend910b3");

  // The message of the fault, or "" when the Program runs.
  std::string run() {
    std::iota(input.begin(), input.end(), 1.0F);
    std::vector<uint64_t> words(256);
    vm::ProgramBuilder builder(*traits, words, std::span(&grid, 1));
    builder.add_global({.low = 0, .high = high, .dtype = DType::f32, .written = 0});
    builder.add_global(
        {.low = 0,
         .high = dst_high.value_or((grid - 1) * std::max<int64_t>(dst_stride, 128) + 128),
         .dtype = DType::f32,
         .written = written});
    const auto fixed = [&](Insn insn) {
      Instruction result{.insn = insn, .dtype = DType::f32};
      result.size = 64;
      result.tail = 32;
      result.split = static_cast<uint8_t>(vm::Split::size);
      return result;
    };
    const Operand source = builder.stream(0, offset, std::span(&stride, 1));
    const Operand target = builder.stream(1, 0, std::span(&dst_stride, 1));
    builder.append(fixed(Insn::load), std::vector{slot_operand(a), source}, load);
    const Operand operand = streamed_source ? source : slot_operand(a);
    builder.append(fixed(Insn::neg), std::vector{slot_operand(d), operand}, neg);
    builder.append(fixed(Insn::store), std::vector{target, slot_operand(d)}, store);
    const vm::Program program = builder.finish(1024, loop_flags);
    std::byte* globals[] = {reinterpret_cast<std::byte*>(input.data()),
                            reinterpret_cast<std::byte*>(output.data())};
    sim::SimTarget sim(*traits);
    try {
      report = sim.run_and_report(program, globals);
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::sim_fault);
      return error.message();
    }
    return "";
  }
};

// All tiles on one core.
struct OneCore : NegProgram {
  vm::TargetTraits single = *vm::find_target("ascend910b3");
  OneCore() {
    single.cores = 1;
    traits = &single;
  }
};

TEST(SimFault, AnOrderlyProgramRunsAndIsReported) {
  NegProgram spread;
  EXPECT_EQ(spread.run(), "");
  for (size_t i = 0; i < 160; ++i) ASSERT_EQ(spread.output[i], -static_cast<float>(i + 1));
  ASSERT_EQ(spread.report.cores.size(), 3u);
  for (const sim::CoreReport& core : spread.report.cores) {
    EXPECT_EQ(core.tiles, 1);
    EXPECT_EQ(core.instructions[static_cast<size_t>(Insn::neg)], 1);
  }
  OneCore one;
  EXPECT_EQ(one.run(), "");
  EXPECT_EQ(one.output, spread.output);
  ASSERT_EQ(one.report.cores.size(), 1u);
  EXPECT_EQ(one.report.cores[0].tiles, 3);
  EXPECT_EQ(one.report.cores[0].instructions[static_cast<size_t>(Insn::load)], 3);
  EXPECT_EQ(one.report.cores[0].instructions[static_cast<size_t>(Insn::add)], 0);
}

TEST(SimFault, NoTwoTilesWriteTheSame) {
  NegProgram p;
  p.dst_stride = 0;
  p.dst_high = 256;
  EXPECT_EQ(p.run(),
            "core 1, tile 1, instruction 2 (store): writes byte 0 of global g1, as another tile "
            "does");
  NegProgram half;
  half.dst_stride = 128;
  half.dst_high = 512;
  EXPECT_EQ(half.run(),
            "core 1, tile 1, instruction 2 (store): writes byte 128 of global g1, as another tile "
            "does");
}

TEST(SimFault, TilesWriteTheFirstAndTheLastElement) {
  NegProgram p;
  p.dst_high = 2 * 256 + 132;
  EXPECT_EQ(p.run(), "the last element of global g1 was written by no tile");
}

TEST(SimFault, CoresTakeContiguousTiles) {
  NegProgram p;
  vm::TargetTraits two = *p.traits;
  two.cores = 2;
  p.traits = &two;
  EXPECT_EQ(p.run(), "");
  ASSERT_EQ(p.report.cores.size(), 2u);
  EXPECT_EQ(p.report.cores[0].tiles, 2);
  EXPECT_EQ(p.report.cores[1].tiles, 1);
}

TEST(SimFault, WaitWithoutSet) {
  NegProgram p;
  p.load = {wait(Pipe::simd, Pipe::load)};
  EXPECT_EQ(p.run(), "core 0, tile 0, instruction 1 (neg): wait without set: load_simd flag 0");
  NegProgram event;
  event.neg[0].event = 3;
  EXPECT_EQ(event.run(), "core 0, tile 0, instruction 1 (neg): wait without set: load_simd flag 3");
  NegProgram loop;
  loop.neg.erase(loop.neg.begin() + 2);
  EXPECT_EQ(loop.run(), "core 0, wait without set: simd_load flag 0 after the last tile");
}

TEST(SimFault, UnpairedSet) {
  NegProgram p;
  p.load.push_back(set(Pipe::load, Pipe::store, 5));
  EXPECT_EQ(p.run(), "core 0, unpaired set: nothing waits for load_store flag 5");
  OneCore many;
  many.grid = OneCore::kMaxTiles;
  many.stride = 0;  // all tiles read the same
  many.store.push_back(set(Pipe::store, Pipe::load, 7));
  EXPECT_EQ(many.run(),
            "core 0, tile 16, instruction 2 (store): sets store_load flag 7 more than 16 times "
            "without a wait");
}

TEST(SimFault, MissingFlagLoadToSimd) {
  NegProgram p;
  p.load.pop_back();
  p.neg.erase(p.neg.begin());
  EXPECT_EQ(p.run(),
            "core 0, tile 0, instruction 1 (neg): simd pipe reads local bytes [512, 768) (operand "
            "1), which the load pipe writes in instruction 0 (load) of tile 0, and no flag orders "
            "them");
}

TEST(SimFault, MissingFlagSimdToStore) {
  NegProgram p;
  p.neg.pop_back();
  p.store.erase(p.store.begin());
  EXPECT_EQ(p.run(),
            "core 0, tile 0, instruction 2 (store): store pipe reads local bytes [768, 1024) "
            "(operand 1), which the simd pipe writes in instruction 1 (neg) of tile 0, and no flag "
            "orders them");
}

TEST(SimFault, MissingFlagsBetweenTiles) {
  OneCore write_after_read;
  write_after_read.load.erase(write_after_read.load.begin());
  write_after_read.neg.erase(write_after_read.neg.begin() + 2);
  write_after_read.loop_flags = vm::store_to_simd;
  EXPECT_EQ(write_after_read.run(),
            "core 0, tile 1, instruction 0 (load): load pipe writes local bytes [512, 768) "
            "(operand 0), which the simd pipe reads in instruction 1 (neg) of tile 0, and no flag "
            "orders them");
  OneCore store;
  store.neg.erase(store.neg.begin() + 1);
  store.store.pop_back();
  store.loop_flags = vm::simd_to_load;
  EXPECT_EQ(store.run(),
            "core 0, tile 1, instruction 1 (neg): simd pipe writes local bytes [768, 1024) "
            "(operand 0), which the store pipe reads in instruction 2 (store) of tile 0, and no "
            "flag orders them");
}

TEST(SimFault, OverlapOfSlotsIsAHazardOnTheBytesShared) {
  OneCore p;
  p.d = 640;  // the upper half of a
  EXPECT_EQ(p.run(),
            "core 0, tile 1, instruction 0 (load): load pipe writes local bytes [640, 768) "
            "(operand 0), which the store pipe reads in instruction 2 (store) of tile 0, and no "
            "flag orders them");
}

TEST(SimFault, ReadsWhatNothingWrote) {
  const TargetTraits& traits = *vm::find_target("ascend910b3");
  std::vector<uint64_t> words(256);
  const int64_t grid = 1, stride = 0;
  vm::ProgramBuilder builder(traits, words, std::span(&grid, 1));
  builder.add_global({.low = 0, .high = 256, .dtype = DType::f32, .written = 1});
  Instruction store{.insn = Insn::store, .dtype = DType::f32};
  store.size = 64;
  builder.append(store,
                 std::vector{builder.stream(0, 0, std::span(&stride, 1)), slot_operand(512)});
  std::vector<float> output(64);
  std::byte* globals[] = {reinterpret_cast<std::byte*>(output.data())};
  sim::SimTarget sim(traits);
  try {
    sim.run(builder.finish(1024), globals);
    FAIL() << "nothing was reported";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message(),
              "core 0, tile 0, instruction 0 (store): store pipe reads local bytes [512, 768), "
              "which nothing has written");
  }
}

TEST(SimFault, LocalMemory) {
  NegProgram misaligned;
  misaligned.a = 528;
  EXPECT_EQ(misaligned.run(),
            "core 0, tile 0, instruction 0 (load): operand 0 at local byte 528 is not aligned to "
            "32");
  NegProgram reserve;
  reserve.a = 480;
  EXPECT_EQ(reserve.run(),
            "core 0, tile 0, instruction 0 (load): operand 0 at local byte 480 is in the reserve "
            "[0, 512)");
  NegProgram beyond;
  beyond.d = 196608 - 32;
  EXPECT_EQ(beyond.run(),
            "core 0, tile 0, instruction 1 (neg): operand 0 takes local bytes [196576, 196832), "
            "memory ends at 196608");
}

TEST(SimFault, GlobalMemory) {
  NegProgram beyond;
  beyond.stride = 512;
  EXPECT_EQ(beyond.run(),
            "core 1, tile 1, instruction 0 (load): operand 1 touches bytes [512, 768) of global "
            "g0, which has [0, 640)");
  NegProgram before;
  before.offset = -256;
  EXPECT_EQ(before.run(),
            "core 0, tile 0, instruction 0 (load): operand 1 touches bytes [-256, 0) of global g0, "
            "which has [0, 640)");
  NegProgram misaligned;
  misaligned.offset = 2;
  EXPECT_EQ(misaligned.run(),
            "core 0, tile 0, instruction 0 (load): operand 1 at byte 2 of global g0 is not aligned "
            "to its elements of 4 bytes");
  NegProgram constant;
  constant.written = 0;
  EXPECT_EQ(constant.run(),
            "core 0, tile 0, instruction 2 (store): writes global g1, which is read-only");
  NegProgram streamed;
  streamed.streamed_source = true;
  EXPECT_EQ(streamed.run(),
            "core 0, tile 0, instruction 1 (neg): operand 1 is a stream, which the simd pipe of "
            "ascend910b3 cannot access");
}

}  // namespace
}  // namespace dvm::testing
