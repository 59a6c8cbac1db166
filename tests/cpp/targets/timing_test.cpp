// The timing of simulated targets: against the arithmetic of its parameters, for instructions and
// transfers alone; by properties, for random Programs; and to the cycle, for one that is written
// down.
#include "sim/timing/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "core/error.h"
#include "sim/sim_target.h"
#include "targets/tile_program.h"
#include "vm/loop_programs.h"
#include "vm/program_generator.h"
#include "vm/sample_programs.h"

namespace dvm::testing {
namespace {

using sim::ProgramTiming;
using vm::CoreTiming;
using vm::Pipe;
using vm::Program;

const CoreTiming kTiming = vm::core_timing("ascend910b3");

ProgramTiming time_words(std::span<const uint64_t> words, const CoreTiming& timing = kTiming) {
  const Program program(words);
  std::vector<int64_t> buffers(program.globals().size());
  std::iota(buffers.begin(), buffers.end(), 0);
  const sim::TimedLaunch launch{program, buffers};
  return sim::time_programs({&launch, 1}, timing, true).front();
}

ProgramTiming time_text(std::string_view text, const CoreTiming& timing = kTiming) {
  return time_words(vm::assemble(text), timing);
}

// Since the first core began.
double run_time(const ProgramTiming& timing) { return timing.end - timing.begin - timing.launch; }

size_t at(Pipe pipe) { return static_cast<size_t>(pipe); }

std::string text_of(int64_t value) { return std::to_string(value); }

// A core for each tile, which repeats `body` so many times.
std::string repeated(int cores, int count, int64_t local_bytes, const std::string& globals,
                     const std::string& type, const std::string& body, int instructions = 1) {
  return "dvm.program v1 target=ascend910b3 {\n  // target=" + text_of(type == "aic") +
         ", block_dim=" + text_of(cores) + ", ffts_addr=0, tile_num=" + text_of(cores) +
         ", grid=[" + text_of(cores) + "], loops=[" + text_of(count) +
         "], local_bytes=" + text_of(local_bytes) + ", loop_flags=[]\n" + globals + "  vmain." +
         type + "(body_tile=1, tail_tile_diff=0) {\n    0: Loop." + text_of(count) + " // body(" +
         text_of(instructions) + ")\n         {scalar}\n      1: " + body + "\n  }\n}\n";
}

// `count` loads of `bytes` each by each core, one after the other in memory; nothing waits for any.
std::string loads(int cores, int count, int64_t bytes, bool same = false) {
  const int64_t all = same ? bytes : int64_t{cores} * count * bytes;
  return repeated(cores, count, 512 + bytes, "  g0: fp32 [0, " + text_of(all) + ") read\n", "aiv",
                  "load.u8." + text_of(bytes) + "x1 0x200, g0 // tile_stride(" +
                      text_of(same ? 0 : count * bytes) + ", " + text_of(same ? 0 : bytes) +
                      "), pad_size(0)\n         {load}");
}

// The same of an addition, which needs nothing from outside.
std::string vectors(int cores, int count, int64_t elements) {
  return repeated(cores, count, 512 + 4 * elements, "", "aiv",
                  "Add.fp32." + text_of(elements) + " 0x200, 2.0, 1.0\n         {simd}");
}

TEST(Timing, AnInstructionAloneTakesHeadSlopeAndTail) {
  const vm::TargetTraits& target = *vm::find_target("ascend910b3");
  int tried = 0;
  for (int i = 0; i < vm::kInsnCount; ++i) {
    const auto insn = static_cast<Insn>(i);
    const vm::InsnInfo& row = info(insn);
    const bool linear = row.format == vm::Format::unary || row.format == vm::Format::binary;
    if (row.pipe != Pipe::simd || !linear || !vm::contains(row.dtypes, DType::f32)) continue;
    for (const int64_t count : {1, 63, 64, 65, 640, 6400}) {
      ++tried;
      const std::vector<std::optional<uint64_t>> slots(static_cast<size_t>(row.operands - 1));
      const TileCase test = linear_case(insn, DType::f32, 0, count, count, slots);
      const auto size = static_cast<size_t>(count);
      Buffers buffers(static_cast<size_t>(row.operands - 1), std::vector<std::byte>(4 * size));
      buffers.emplace_back(row.boolean_result ? size : 4 * size);
      const ProgramTiming timing = time_words(build(target, test, buffers));
      const double repeats = std::ceil(static_cast<double>(count) * 4 / 256);
      const double mask = count * 4 % 256 == 0 ? 0 : kTiming.count_mode;
      const double whole = row.head + row.slope * repeats + mask;
      const auto event =
          std::find_if(timing.events.begin(), timing.events.end(),
                       [](const sim::PipeEvent& e) { return e.pipe == Pipe::simd && !e.waits; });
      ASSERT_NE(event, timing.events.end());
      EXPECT_NEAR(event->done - event->begin, whole, 1e-6) << row.name << " of " << count;
    }
  }
  EXPECT_GT(tried, 100);
}

// What was measured on a 910B3, as published: cycles per repeat, head and tail together.
TEST(Timing, SlopesAndHeadsAreThoseThatWereMeasured) {
  struct Measured {
    Insn insn;
    DType dtype;
    bool scalar;
    double slope, head;
  };
  const auto f16 = DType::f16, f32 = DType::f32;
  for (const auto& [insn, dtype, scalar, slope, head] : {
           Measured{Insn::add, f32, false, 2, 24}, {Insn::sub, f32, false, 2, 24},
           {Insn::mul, f32, false, 2, 25},         {Insn::mul, f16, false, 2, 25},
           {Insn::maximum, f32, false, 2, 24},     {Insn::minimum, f32, false, 2, 24},
           {Insn::div, f32, false, 4, 30},         {Insn::div, f16, false, 8, 30},
           {Insn::add, f32, true, 1, 31},          {Insn::mul, f32, true, 1, 26},
           {Insn::maximum, f32, true, 1, 23},      {Insn::minimum, f32, true, 1, 30},
           {Insn::abs, f32, false, 1, 29},         {Insn::exp, f32, false, 2, 31},
           {Insn::exp, f16, false, 4, 31},         {Insn::log, f32, false, 2, 33},
           {Insn::sqrt, f32, false, 2, 39},        {Insn::sqrt, f16, false, 4, 39},
           {Insn::cmp, f32, false, 2, 36},         {Insn::select, f32, false, 2, 27},
           {Insn::cast, f32, false, 2, 32},        {Insn::copy, f32, false, 1, 24},
           {Insn::broadcast, f32, false, 1, 24},   {Insn::sum, f32, false, 7, 46},
       }) {
    const vm::VectorCost cost = vm::vector_cost(insn, dtype, scalar);
    EXPECT_EQ(cost.slope, slope) << info(insn).name << scalar;
    EXPECT_EQ(cost.head, head) << info(insn).name << scalar;
  }
}

TEST(Timing, AScalarSourceMakesAnInstructionFaster) {
  const auto cycles = [](const std::string& sources) {
    const std::string text =
        repeated(1, 10, 512 + 4 * 6400, "", "aiv",
                 "Copy.fp32.6400 0x200, 1.0\n         {simd}\n      2: Sub.fp32.6400 0x200, " +
                     sources + "\n         {simd}",
                 2);
    return time_text(text).instructions[2].busy;
  };
  // A cycle less for each of 100 repeats, ten times.
  EXPECT_NEAR(cycles("0x200, 0x200") - cycles("0x200, 2.0"), 1000, 1e-6);
  EXPECT_EQ(cycles("2.0, 0x200"), cycles("0x200, 0x200"));  // no instruction subtracts from one
}

TEST(Timing, HalvesOfSlowInstructionsHaveTheirOwnSlope) {
  const auto cycles = [](DType dtype) {
    const TileCase test =
        linear_case(Insn::exp, dtype, 0, 6400, 6400, std::vector<std::optional<uint64_t>>(1));
    const auto bytes = static_cast<size_t>(6400 * core::byte_size(dtype));
    Buffers buffers(2, std::vector<std::byte>(bytes));
    const ProgramTiming timing = time_words(build(*vm::find_target("ascend910b3"), test, buffers));
    return timing.instructions[1].busy;
  };
  // Half as many repeats of twice the slope (facts: 0.0314 cycles per element of both).
  EXPECT_EQ(cycles(DType::f16), cycles(DType::f32));
}

TEST(Timing, VectorsReachTheirPeakRate) {
  const int count = 100;
  const int64_t elements = 64 * 200;
  const ProgramTiming timing = time_text(vectors(1, count, elements));
  const double least = count * 2.0 * 200;  // 2 cycles for 64 additions
  EXPECT_GE(run_time(timing), least);
  EXPECT_LE(run_time(timing), 1.03 * least + kTiming.fetch_cycles);
}

// A square of fractals in L0, multiplied again and again.
TEST(Timing, TheCubeReachesItsPeakRate) {
  const ProgramTiming timing = time_text(R"(dvm.program v1 target=ascend910b3 {
  // target=1, block_dim=1, ffts_addr=0, tile_num=1, grid=[1], loops=[50], local_bytes=0x200, loop_flags=[]
  g0: fp16 [0, 32768) read
  vmain.aic(body_tile=1, tail_tile_diff=0) {
    0: load.u8.32768x1 l0a:0x0, g0 // tile_stride(0, 0), pad_size(0)
         {load}
    1: load.u8.32768x1 l0b:0x0, g0 // tile_stride(0, 0), pad_size(0)
         {load, load_cube_sync(set, 0)}
    2: Loop.50 // body(1)
         {scalar, load_cube_sync(wait, 0)}
      3: Matmul.fp32.fp16.128x128x128 l0c:0x0, l0a:0x0, l0b:0x0 // adds(0)
         {cube}
  }
}
)");
  const double least = 50 * 8.0 * 8 * 8;  // 4096 multiplications of halves in a cycle
  EXPECT_GE(timing.instructions[3].busy, least);
  EXPECT_LE(timing.instructions[3].busy, least + kTiming.cube_head);
  EXPECT_EQ(timing.cores[0].pipes[at(Pipe::cube)].waits[at(Pipe::scalar)], 0);
}

TEST(Timing, OneCoreReachesTheBandwidthOfItsPipe) {
  const ProgramTiming timing = time_text(loads(1, 40, 65536));
  const double least = 40 * 65536 / kTiming.load_ub_bytes;
  EXPECT_GE(run_time(timing), least);
  EXPECT_LE(run_time(timing), 1.12 * least);  // 4 KiB each to start, and one latency
}

// The same elements again and again, to the same place in memory; making them anew is hidden.
std::string stores(int cores, int count, int64_t bytes) {
  const std::string all = text_of(bytes);
  return repeated(cores, count, 512 + bytes, "  g0: fp32 [0, " + all + ") written\n", "aiv",
                  "Copy.fp32." + text_of(bytes / 4) +
                      " 0x200, 1.0\n         {simd, simd_store_sync(set, 0)}\n      2: store.u8." +
                      all + "x1 g0, 0x200 // tile_stride(0, 0), pad_size(0)\n" +
                      "         {store, simd_store_sync(wait, 0)}",
                  2);
}

TEST(Timing, OneCoreReachesTheBandwidthOfItsStores) {
  const ProgramTiming timing = time_text(stores(1, 40, 65536));
  const double least = 40 * 65536 / kTiming.store_bytes;
  EXPECT_GE(run_time(timing), least);
  EXPECT_LE(run_time(timing), 1.12 * least);
}

// A product whose pipes work on many steps: each stage at its own rate, and none above it.
TEST(Timing, StagesOfAProductKeepToTheirRates) {
  const ProgramTiming timing = time_text(vm::kMatmulExample);
  const struct {
    Pipe pipe;
    double rate;
  } stages[] = {{Pipe::load, kTiming.load_l1_bytes},
                {Pipe::feed, kTiming.feed_a_bytes},
                {Pipe::fix, kTiming.drain_bytes}};
  for (const sim::CoreTimes& core : timing.cores) {
    for (const auto& [pipe, rate] : stages) {
      const sim::PipeTimes& times = core.pipes[at(pipe)];
      EXPECT_LE(static_cast<double>(times.bytes), rate * times.busy + 1e-6) << to_string(pipe);
    }
  }
}

TEST(Timing, AllCoresShareTheBandwidthOfMemory) {
  const int64_t bytes = 40LL * 20 * 65536;
  const ProgramTiming timing = time_text(loads(40, 20, 65536));
  EXPECT_EQ(timing.hbm_bytes, bytes);
  const double least = static_cast<double>(bytes) / kTiming.hbm_bytes;
  EXPECT_GE(run_time(timing), least);
  EXPECT_LE(run_time(timing), 1.05 * least);
  CoreTiming half = kTiming;
  half.hbm_bytes /= 2;
  EXPECT_NEAR(run_time(time_text(loads(40, 20, 65536), half)) / run_time(timing), 2, 0.1);
  CoreTiming twice = kTiming;
  twice.hbm_bytes *= 2;
  EXPECT_NEAR(run_time(timing) / run_time(time_text(loads(40, 20, 65536), twice)), 2, 0.1);
}

TEST(Timing, WhatOneCoreHasReadOthersFindInTheSecondCache) {
  // All read the same: from memory once, and 40 x 58.6 bytes per cycle are less than the cache has.
  const ProgramTiming timing = time_text(loads(40, 20, 65536, true));
  EXPECT_EQ(timing.hbm_bytes, 65536);
  const double least = 20 * 65536 / kTiming.load_ub_bytes;
  EXPECT_LE(run_time(timing), 1.2 * least + 40 * kTiming.core_cycles);
  CoreTiming slow = kTiming;
  slow.l2_bytes = 40 * kTiming.load_ub_bytes / 4;
  EXPECT_NEAR(run_time(time_text(loads(40, 20, 65536, true), slow)) / least, 4, 0.4);
}

// Of a core that is alone, and where all of them are behind one cache.
TEST(Timing, HalfTheBandwidthTakesTwiceTheTime) {
  CoreTiming whole = kTiming, half = kTiming;
  whole.ramp_bytes = half.ramp_bytes = 0;
  half.load_ub_bytes /= 2;
  const double latency = kTiming.miss_cycles + kTiming.fetch_cycles;
  EXPECT_NEAR((run_time(time_text(loads(1, 40, 65536), half)) - latency) /
                  (run_time(time_text(loads(1, 40, 65536), whole)) - latency),
              2, 0.01);
  whole.l2_bytes = 40 * kTiming.load_ub_bytes / 4;
  half = whole;
  half.l2_bytes /= 2;
  EXPECT_NEAR(run_time(time_text(loads(40, 20, 65536, true), half)) /
                  run_time(time_text(loads(40, 20, 65536, true), whole)),
              2, 0.02);
}

TEST(Timing, TwiceTheCoresTakeHalfTheTime) {
  CoreTiming together = kTiming;
  together.core_cycles = together.fetch_cycles = 0;
  const double one = run_time(time_text(vectors(10, 80, 64 * 200), together));
  const double two = run_time(time_text(vectors(20, 40, 64 * 200), together));
  EXPECT_NEAR(one / two, 2, 0.01);
}

// load, add, store of one tile: the flags are on the way from the first byte to the last.
TEST(Timing, FlagsCostTheirLatencyWhereTheyAreWaitedFor) {
  const auto time = [](double flags) {
    CoreTiming timing = kTiming;
    timing.flag_cycles = flags;
    const ProgramTiming result = time_text(vm::kWorkedExample, timing);
    return result.cores[0].end - result.cores[0].begin;
  };
  // load to simd, simd to store; and the flag that is carried behind the store.
  EXPECT_NEAR(time(15) - time(0), 3 * 15, 1e-6);
  EXPECT_NEAR(time(30) - time(0), 3 * 30, 1e-6);
}

// Where nothing shares a bandwidth, time is made of sums and maxima: no flag can cost more than its
// latency each time that it is waited for, and none make anything faster.
TEST(Timing, FlagsOfRandomProgramsCostNoMoreThanTheirLatency) {
  CoreTiming timing = kTiming;
  timing.l2_bytes = timing.hbm_bytes = 1e12;
  CoreTiming none = timing;
  none.flag_cycles = 0;
  vm::ProgramGenerator generator(11);
  int longer = 0;
  for (int i = 0; i < 100; ++i) {
    SCOPED_TRACE(i);
    const auto words = generator.generate(*vm::find_target("ascend910b3"));
    if (Program(words).header().tile_count > 500) continue;
    const ProgramTiming with = time_words(words, timing), without = time_words(words, none);
    ASSERT_EQ(with.cores.size(), without.cores.size());
    for (size_t id = 0; id < with.cores.size(); ++id) {
      const auto waits = std::count_if(
          with.flags.begin(), with.flags.end(),
          [&](const sim::FlagEvent& flag) { return flag.core == static_cast<int32_t>(id); });
      const double more = with.cores[id].end - without.cores[id].end;
      EXPECT_GE(more, -1e-6);
      EXPECT_LE(more, static_cast<double>(waits) * timing.flag_cycles + 1e-6);
      longer += more > 1;
    }
  }
  EXPECT_GT(longer, 20);
}

TEST(Timing, AddressesThatAreNotAlignedSlowTransfers) {
  const auto time = [](int64_t offset, double share) {
    CoreTiming timing = kTiming;
    timing.unaligned_share = share;
    timing.ramp_bytes = 0;
    std::string text = loads(1, 1, 512);
    const std::string at = "g0 //";
    text.replace(text.find(at), at.size(), "g0+" + std::to_string(offset) + " //");
    text.replace(text.find("[0, 512)"), 8, "[0, " + std::to_string(512 + offset) + ")");
    if (offset == 0) text = loads(1, 1, 512);
    return time_text(text, timing).instructions[1].busy;
  };
  EXPECT_NEAR(time(32, 0.7) / time(0, 0.7), 1 / 0.7, 1e-9);
  EXPECT_NEAR(time(32, 0.1) / time(0, 0.1), 2, 1e-9);  // two lines where one would do
  EXPECT_NEAR(time(32, 1) / time(0, 1), 1, 1e-9);      // of the A3
}

TEST(Timing, QueuesAreOfLimitedDepth) {
  // The scalar unit runs ahead by as much as a queue holds, and then at the pace of its pipe.
  CoreTiming deep = kTiming, shallow = kTiming;
  deep.queue_depth = 1000;
  shallow.queue_depth = 2;
  const auto room = [](const CoreTiming& timing) {
    const ProgramTiming result = time_text(vectors(1, 100, 64 * 200), timing);
    return result.cores[0].pipes[at(Pipe::scalar)].waits[static_cast<size_t>(sim::Wait::room)];
  };
  EXPECT_EQ(room(deep), 0);
  EXPECT_GT(room(shallow), room(kTiming));
  EXPECT_GT(room(kTiming), 0);
}

TEST(Timing, DecodingIsHiddenBehindExecution) {
  CoreTiming slow = kTiming;
  slow.decode_cycles = 100;
  // 400 cycles each: decoding in 100 costs the first one alone.
  EXPECT_NEAR(run_time(time_text(vectors(1, 100, 64 * 200), slow)) -
                  run_time(time_text(vectors(1, 100, 64 * 200))),
              70, 1e-6);
}

TEST(Timing, LongBytecodeIsCopied) {
  CoreTiming little = kTiming;
  little.argument_bytes = 64;
  EXPECT_EQ(time_text(vm::kWorkedExample, little).launch - time_text(vm::kWorkedExample).launch,
            kTiming.copy_cycles);
}

TEST(Timing, LaunchesWaitForTheHostAndForEachOther) {
  const auto words = vm::assemble(vm::kWorkedExample);
  const std::vector<int64_t> buffers = {0, 1, 2};
  const std::vector<sim::TimedLaunch> launches(3, {Program(words), buffers});
  CoreTiming timing = kTiming;
  timing.enqueue_cycles = 1e6;
  const auto late = sim::time_programs(launches, timing, false);
  EXPECT_EQ(late[2].begin, 2e6);
  timing.enqueue_cycles = 0;
  const auto soon = sim::time_programs(launches, timing, false);
  EXPECT_EQ(soon[1].begin, soon[0].end);
  EXPECT_EQ(soon[1].hbm_bytes, 0);  // what the first one read is in the second cache
  EXPECT_LT(soon[1].end - soon[1].begin, soon[0].end - soon[0].begin);
}

// What is stacked goes on when all cores have ended, without a launch of its own.
TEST(Timing, StackedProgramsAreOneLaunch) {
  const auto words = vm::assemble(vm::kWorkedExample);
  const std::vector<int64_t> buffers = {0, 1, 2};
  std::vector<sim::TimedLaunch> launches(2, {Program(words), buffers});
  const auto apart = sim::time_programs(launches, kTiming, false);
  launches[1].stacked = true;
  const auto stacked = sim::time_programs(launches, kTiming, false);
  EXPECT_EQ(stacked[1].begin, stacked[0].end);
  EXPECT_EQ(stacked[1].launch, kTiming.barrier_cycles);
  for (const sim::CoreTimes& core : stacked[1].cores) {
    EXPECT_EQ(core.begin, kTiming.barrier_cycles);
  }
  // A launch and the starts of 40 cores less, but for what the last of these overlaps with.
  const double saved = apart[1].end - stacked[1].end;
  EXPECT_GT(saved, kTiming.launch_cycles - kTiming.barrier_cycles);
  EXPECT_LE(saved, kTiming.launch_cycles + kTiming.enqueue_cycles + 40 * kTiming.core_cycles);
}

// To the cycle, so that it is the same on every host.
TEST(Timing, TheWorkedExampleTakesAsLongAsEver) {
  const ProgramTiming timing = time_text(vm::kWorkedExample);
  EXPECT_NEAR(timing.end, 6679.6928, 0.01);
  const ProgramTiming again = time_text(vm::kWorkedExample);
  EXPECT_EQ(timing.end, again.end);
  EXPECT_EQ(timing.events.size(), again.events.size());
}

TEST(Timing, ProductsGoThroughAllPipesOfTheCube) {
  for (const std::string_view text : {vm::kMatmulExample, vm::kNestedExample}) {
    const ProgramTiming timing = time_text(text);
    for (const Pipe pipe : {Pipe::load, Pipe::cube, Pipe::fix}) {
      EXPECT_GT(timing.cores[0].pipes[at(pipe)].busy, 0) << to_string(pipe);
    }
  }
}

TEST(Timing, OverridesAreCheckedByName) {
  CoreTiming timing = kTiming;
  vm::set_timing(timing, "hbm_bytes", 100);
  EXPECT_EQ(timing.hbm_bytes, 100);
  EXPECT_THROW(vm::set_timing(timing, "hbm_bites", 100), core::Error);
  EXPECT_THROW(vm::set_timing(timing, "hbm_bytes", 0), core::Error);
  EXPECT_THROW(vm::set_timing(timing, "hbm_bytes", NAN), core::Error);
  EXPECT_EQ(vm::core_timing("ascend910b4").mhz, 1500);
  EXPECT_EQ(vm::core_timing("ascend910b2").mhz, 1800);
}

// What holds for any Program.
void check_timing(const Program& program, const ProgramTiming& timing) {
  const double cores = static_cast<double>(timing.cores.size());
  const double span = run_time(timing);
  ASSERT_GE(span, 0);
  EXPECT_LE(static_cast<double>(timing.hbm_bytes), span * kTiming.hbm_bytes * (1 + 1e-9));
  EXPECT_LE(static_cast<double>(timing.moved_bytes), span * kTiming.l2_bytes * (1 + 1e-9));
  for (const sim::CoreTimes& core : timing.cores) {
    for (int p = 0; p < vm::kPipeCount; ++p) {
      const sim::PipeTimes& pipe = core.pipes[static_cast<size_t>(p)];
      double sum = pipe.busy;
      for (const double wait : pipe.waits) {
        EXPECT_GE(wait, -1e-6);
        sum += wait;
      }
      EXPECT_NEAR(sum, core.end - core.begin, 1e-6 * (1 + sum)) << to_string(static_cast<Pipe>(p));
      EXPECT_LE(pipe.slowed_by_hbm + pipe.slowed_by_l2, pipe.busy + 1e-6);
    }
  }
  // A pipe does one thing at a time.
  std::map<std::pair<int32_t, Pipe>, double> last;
  for (const sim::PipeEvent& event : timing.events) {
    double& end = last[{event.core, event.pipe}];
    EXPECT_GE(event.begin, end - 1e-6);
    EXPECT_GE(event.end, event.begin);
    EXPECT_GE(event.done, event.end);
    end = event.end;
  }
  for (const sim::FlagEvent& flag : timing.flags) {
    EXPECT_GE(flag.seen, flag.set + kTiming.flag_cycles - 1e-6);
  }
  const int64_t executed = std::accumulate(
      timing.instructions.begin(), timing.instructions.end(), int64_t{0},
      [](int64_t sum, const sim::InstructionTimes& insn) { return sum + insn.count; });
  EXPECT_GE(executed, program.header().tile_count);
  EXPECT_EQ(cores, program.header().block_dim);
}

TEST(Timing, RandomProgramsKeepToTheLimits) {
  vm::ProgramGenerator generator(7);
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(i);
    const auto words = generator.generate(*vm::find_target("ascend910b3"));
    const Program program(words);
    if (program.header().tile_count > 2000) continue;
    check_timing(program, time_words(words));
    if (::testing::Test::HasFailure()) return;
  }
  for (const std::string_view text : {vm::kMatmulExample, vm::kNestedExample}) {
    const auto words = vm::assemble(text);
    check_timing(Program(words), time_words(words));
  }
}

bool same(const sim::Trace& a, const sim::Trace& b) {
  const auto equal = [](const sim::TraceOp& x, const sim::TraceOp& y) {
    return x.kind == y.kind && x.pipe == y.pipe && x.other == y.other && x.event == y.event &&
           x.depends == y.depends && x.insn == y.insn && x.reach == y.reach && x.tile == y.tile &&
           x.bytes == y.bytes && x.repeats == y.repeats && x.indices == y.indices;
  };
  const auto as_far = [](const sim::Reach& x, const sim::Reach& y) {
    return x.global == y.global && x.writes == y.writes && x.begin == y.begin &&
           x.bytes == y.bytes && x.around == y.around;
  };
  return std::ranges::equal(a.ops, b.ops, equal) &&
         std::ranges::equal(a.reaches, b.reaches, as_far);
}

TEST(Timing, ACoreThatComputesLeavesTheSameTrace) {
  for (const std::string_view text : {vm::kWorkedExample, vm::kMatmulExample, vm::kNestedExample}) {
    const auto words = vm::assemble(text);
    const Program program(words);
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::byte*> globals;
    for (const vm::Global& global : program.globals()) {
      memory.emplace_back(static_cast<size_t>(global.high));
    }
    for (auto& one : memory) globals.push_back(one.data());
    sim::SimTarget target(*vm::find_target("ascend910b3"));
    std::vector<sim::Trace> traces;
    target.run_and_report(program, globals, &traces);
    const sim::InstructionIndex index(program);
    ASSERT_EQ(traces.size(), program.header().block_dim);
    for (size_t id = 0; id < traces.size(); ++id) {
      EXPECT_TRUE(same(traces[id], sim::trace_core(program, index, static_cast<int64_t>(id))));
    }
  }
}

}  // namespace
}  // namespace dvm::testing
