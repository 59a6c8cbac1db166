// Equal calls get the Programs of the first; whatever encode() depends on tells calls apart.
#include "vm/encode/memo.h"

#include <gtest/gtest.h>

#include <vector>

#include "region_util.h"

namespace dvm::vm {
namespace {

using Words = std::vector<uint64_t>;

Words words_of(const Compiled& compiled) {
  Words words;
  for (int k = 0; k < compiled.stage_count; ++k) {
    const auto program = compiled.stages[k].words();
    words.insert(words.end(), program.begin(), program.end());
  }
  return words;
}

Words encoded_alone(const Kernel& kernel, const Binding& binding, const TargetTraits& target) {
  Arena arena;
  return words_of(encode(kernel, binding, target, arena));
}

const core::Region& scaled() {
  static const core::Region region = region_of(R"(
    %0 = input f32[s0]
    %1 = scalar f64[]
    %2 = cast(%1) f32[]
    %3 = broadcast(%2) f32[s0]
    %4 = mul(%0, %3) f32[s0]
    return %4)");
  return region;
}

Call call_of(const Kernel& kernel, int64_t size, double factor) {
  Call call(scaled(), kernel, {size});
  call.scalars = {Scalar::of_float(factor)};
  return call;
}

TEST(Memo, AnEqualCallGetsTheSamePrograms) {
  Memo memo;
  const Kernel kernel = prepare(scaled());
  Call first = call_of(kernel, 100, 2.0), second = call_of(kernel, 100, 2.0);
  const auto& target = target_named("cpu");
  const uint64_t* words =
      memo.encode(kernel, first.binding(), target).compiled.stages[0].words().data();
  const Memo::Encoded& again = memo.encode(kernel, second.binding(), target);
  EXPECT_EQ(again.compiled.stages[0].words().data(), words);
  EXPECT_EQ(words_of(again.compiled), encoded_alone(kernel, second.binding(), target));
}

TEST(Memo, SizesStridesScalarsTargetsAndKernelsTellCallsApart) {
  Memo memo;
  const Kernel kernel = prepare(scaled()), twin = prepare(scaled());
  const auto& cpu = target_named("cpu");
  const auto expect_own = [&](const Kernel& of, Call call, const TargetTraits& target) {
    const Binding binding = call.binding();
    EXPECT_EQ(words_of(memo.encode(of, binding, target).compiled),
              encoded_alone(of, binding, target));
  };
  Call strided = call_of(kernel, 100, 2.0);
  strided.operands[0].strides[0] = 8;
  for (int round = 0; round < 2; ++round) {
    expect_own(kernel, call_of(kernel, 100, 2.0), cpu);
    expect_own(kernel, call_of(kernel, 101, 2.0), cpu);
    expect_own(kernel, call_of(kernel, 100, 3.0), cpu);
    expect_own(kernel, call_of(kernel, 100, -0.0), cpu);
    expect_own(kernel, call_of(kernel, 100, 0.0), cpu);
    expect_own(kernel, strided, cpu);
    expect_own(kernel, call_of(kernel, 100, 2.0), target_named("ascend910b3"));
    expect_own(twin, call_of(twin, 100, 2.0), cpu);
  }
}

// As a model has Regions: none takes another's place.
TEST(Memo, KeepsHundredsSideBySide) {
  Memo memo;
  const Kernel kernel = prepare(scaled());
  const auto& target = target_named("cpu");
  std::vector<uint64_t> stamps;
  for (int round = 0; round < 3; ++round) {
    for (int64_t size = 1; size <= 200; ++size) {
      Call call = call_of(kernel, size, 2.0);
      const uint64_t stamp = memo.encode(kernel, call.binding(), target).stamp;
      if (round == 0) stamps.push_back(stamp);
      EXPECT_EQ(stamp, stamps[static_cast<size_t>(size - 1)]) << size;
    }
  }
}

TEST(Memo, StartsOverWhenItIsFull) {
  Memo memo;
  const Kernel kernel = prepare(scaled());
  const auto& target = target_named("cpu");
  for (int64_t size = 1; size < 3000; ++size) {
    Call call = call_of(kernel, size, 2.0);
    const Binding binding = call.binding();
    ASSERT_EQ(words_of(memo.encode(kernel, binding, target).compiled),
              encoded_alone(kernel, binding, target))
        << size;
  }
}

// A Region with many Programs has more words than are kept free for one: rows too long for a tile,
// and reductions of several dtypes.
TEST(Memo, HasRoomForRegionsOfAnyLength) {
  std::string text;
  const char* const dtypes[] = {"f32", "f64", "i32", "i64"};
  for (int k = 0; k < 4; ++k)
    text += "%" + std::to_string(k) + " = input " + dtypes[k] + "[s0, s1]\n";
  std::string results;
  int v = 4;
  const char* const ops[] = {"sum", "max", "min", "prod"};
  for (int k = 0; k < 28; ++k, ++v) {
    const std::string name = "%" + std::to_string(v);
    text += name + " = " + ops[k / 4 % 4] + "(%" + std::to_string(k % 4) + ") " + dtypes[k % 4] +
            "[s0, 1] {axes = [1]}\n";
    results += (k == 0 ? "" : ", ") + name;
  }
  const core::Region region = region_of(text + "return " + results);
  const Kernel kernel = prepare(region);
  Memo memo;
  for (const char* name : {"cpu", "ascend910b1"}) {
    for (int64_t size = 40000; size < 40150; ++size) {
      Call call(region, kernel, {1, size});
      const Binding binding = call.binding();
      ASSERT_EQ(words_of(memo.encode(kernel, binding, target_named(name)).compiled),
                encoded_alone(kernel, binding, target_named(name)))
          << size;
    }
  }
  // And where no block that is there is long enough.
  Arena small(64);
  Call call(region, kernel, {1, 40000});
  EXPECT_EQ(words_of(encode(kernel, call.binding(), target_named("cpu"), small)),
            encoded_alone(kernel, call.binding(), target_named("cpu")));
}

TEST(Memo, RemembersTheFlagsThatCastsOfScalarsRaised) {
  Memo memo;
  const Kernel kernel = prepare(scaled());
  const auto& target = target_named("cpu");
  Call fits = call_of(kernel, 100, 2.0), overflows = call_of(kernel, 100, 1e300);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(memo.encode(kernel, fits.binding(), target).raised, 0);
    EXPECT_EQ(memo.encode(kernel, overflows.binding(), target).raised & core::kOverflow,
              core::kOverflow);
  }
}

TEST(Memo, WhoAsksForTimesGetsThem) {
  Memo memo;
  const Kernel kernel = prepare(scaled());
  Call call = call_of(kernel, 100, 2.0);
  const Binding binding = call.binding();
  memo.encode(kernel, binding, target_named("cpu"));
  PhaseTimes times;
  const Memo::Encoded& anew = memo.encode_anew(kernel, binding, target_named("cpu"), times);
  EXPECT_GT(times.bind + times.tile + times.emit, 0);
  EXPECT_EQ(words_of(anew.compiled), encoded_alone(kernel, binding, target_named("cpu")));
}

}  // namespace
}  // namespace dvm::vm
