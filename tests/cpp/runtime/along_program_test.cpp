// What goes along an axis as Programs of simulated AI Cores, against the loops of the host: all
// dtypes and ops, all sizes of tiles, strides of both signs, broadcast operands, special values.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "core/ops/elementwise.h"
#include "core/ops/fp_flags.h"
#include "core/ops/scalar_ops.h"
#include "cpu/cpu_target.h"
#include "runtime/strided_array.h"
#include "runtime/whole/fold.h"
#include "runtime/whole/whole_ops.h"
#include "sim/sim_target.h"
#include "vm/isa/program_builder.h"

namespace dvm::runtime {
namespace {

using core::DType;
using core::Op;

std::vector<Op> ops_that_combine(DType dtype) {
  std::vector<Op> ops;
  for (size_t i = 0; i < core::all_ops().size(); ++i) {
    if (core::combines(static_cast<Op>(i), dtype)) ops.push_back(static_cast<Op>(i));
  }
  return ops;
}

// What a run writes and raises.
struct Computed {
  bool done;
  core::FpFlags raised;
  bool operator==(const Computed&) const = default;
};

class Draws {
 public:
  explicit Draws(uint32_t seed) : rng_(seed) {}
  std::mt19937& rng() { return rng_; }
  int64_t below(int64_t end) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(end)); }
  template <typename T>
  const T& one_of(const std::vector<T>& from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }

  // Small numbers meet, and the special ones are found.
  enum Kind : int64_t { special, fewer, few, bits, whole };
  StridedArray array(DType dtype, const std::vector<int64_t>& shape) {
    return array(dtype, shape, static_cast<Kind>(below(4)));
  }
  StridedArray array(DType dtype, const std::vector<int64_t>& shape, Kind kind) {
    StridedArray array(dtype, shape, rng_, false);
    array.for_each(
        [&](std::byte* at) { core::dispatch(dtype, [&]<DType D>() { fill<D>(at, kind); }); });
    return array;
  }

  std::vector<int64_t> shape() {
    std::vector<int64_t> shape;
    for (int64_t rank = 1 + below(3); static_cast<int64_t>(shape.size()) < rank;) {
      shape.push_back(below(12) == 0 ? below(2) : 1 + below(9));
    }
    if (below(3) == 0) one_of_places(shape) = 1 + below(200);
    return shape;
  }

 private:
  int64_t& one_of_places(std::vector<int64_t>& shape) {
    return shape[static_cast<size_t>(below(static_cast<int64_t>(shape.size())))];
  }

  // Signalling NaNs are no part of what targets agree on.
  template <DType D>
  void fill(std::byte* at, Kind kind) {
    using T = core::Storage<D>;
    T value{};
    std::memcpy(&value, at, sizeof(T));
    if constexpr (D == DType::boolean) {
      value = static_cast<T>(below(2));
    } else if constexpr (core::is_floating(D)) {
      constexpr double kSpecial[] = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, NAN, 1.0, -1.0, 1e300, 1e-300};
      const bool is_nan = core::scalar::ne{}(value, value) != 0;
      double number = static_cast<double>(below(9) - 4);
      if (kind != whole) number /= 2;
      if (kind == special && below(3) == 0) {
        number = kSpecial[static_cast<size_t>(below(std::size(kSpecial)))];
      }
      if (kind != bits || is_nan) value = core::scalar::cast<T>(number);
    } else if (kind != bits) {
      value = static_cast<T>(below(kind == special ? 3 : 9) - (std::is_signed_v<T> ? 2 : 0));
    }
    std::memcpy(at, &value, sizeof(T));
  }

  std::mt19937 rng_;
};

// Of little local memory in most cases.
vm::TargetTraits simulated(Draws& random, int test) {
  vm::TargetTraits traits = *vm::find_target("ascend910b3");
  if (test % 3 != 0) traits.local_bytes = 512 + 8 * 32 + 32 * random.below(80);
  return traits;
}

// Counts the Programs that it is given.
class Counting final : public vm::Target {
 public:
  explicit Counting(const vm::TargetTraits& traits) : traits_(traits) {}
  const vm::TargetTraits& traits() const override { return traits_; }
  vm::RunStatus run(std::span<const vm::Launch> launches) override {
    programs += static_cast<int>(launches.size());
    return sim::SimTarget(traits_).run(launches);
  }
  int programs = 0;

 private:
  const vm::TargetTraits& traits_;
};

// Of two NaNs the processor's multiplication gives the first, and the compiler decides which that
// is.
std::vector<std::byte> without_signs_of_nans(const StridedArray& array) {
  std::vector<std::byte> memory = array.memory;
  core::dispatch(array.view.dtype, [&]<DType D>() {
    if constexpr (core::is_floating(D)) {
      using T = core::Storage<D>;
      for (size_t at = 0; at + sizeof(T) <= memory.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, memory.data() + at, sizeof(T));
        if (core::scalar::ne{}(value, value) == 0) continue;
        memory[at + sizeof(T) - 1] &= std::byte{0x7f};
      }
    }
  });
  return memory;
}

// Returns how many Programs it took.
template <typename Run>
int expect_alike(const StridedArray& result, const vm::TargetTraits& traits, Run run) {
  const StridedArray again = result.again();
  const auto cpu = cpu::make_cpu_target();
  Counting sim(traits);
  const auto on = [&](vm::Target& target, const StridedArray& to) {
    const core::WatchFpFlags watch;
    const bool done = run(target, to.view);
    return Computed{done, watch.raised()};
  };
  const Computed host = on(*cpu, result), program = on(sim, again);
  EXPECT_EQ(host.done, program.done);
  EXPECT_EQ(int{host.raised}, int{program.raised});
  EXPECT_EQ(without_signs_of_nans(result), without_signs_of_nans(again));
  return sim.programs;
}

TEST(AlongPrograms, ScanAndFoldAsTheHostDoes) {
  Draws random(11);
  int programs = 0;
  for (int test = 0; test < 5000; ++test) {
    const auto dtype = static_cast<DType>(random.below(core::kDTypeCount));
    const Op with = random.one_of(ops_that_combine(dtype));
    const Op op = random.one_of(std::vector{Op::scan, Op::fold, Op::fold_where});
    const std::vector<int64_t> shape = random.shape();
    const auto axis = static_cast<size_t>(random.below(static_cast<int64_t>(shape.size())));
    std::vector<int64_t> start = shape;
    if (op != Op::scan) start[axis] = 1;
    // Exponents are whole numbers.
    const auto elements = [&](const std::vector<int64_t>& of) {
      return with == Op::ldexp ? random.array(dtype, of, Draws::whole) : random.array(dtype, of);
    };
    const StridedArray first = elements(start), rest = elements(shape),
                       tests = random.array(DType::boolean, shape);
    const StridedArray result(dtype, start, random.rng(), true);
    SCOPED_TRACE("case " + std::to_string(test) + ": " + std::string(core::info(op).name) +
                 " with " + std::string(core::info(with).name) + " of " +
                 std::string(core::to_string(dtype)));
    const vm::TargetTraits traits = simulated(random, test);
    programs += expect_alike(result, traits, [&](vm::Target& target, const BufferView& to) {
      const BufferView* operands[] = {&first.view, &rest.view, &tests.view};
      const size_t count = static_cast<size_t>(core::info(op).arity);
      return run_fold(op, with, {operands, count}, to, static_cast<int>(axis), target);
    });
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(programs, 4000);  // the others have no elements
}

TEST(AlongPrograms, FindExtremesAsTheHostDoes) {
  Draws random(13);
  int programs = 0;
  for (int test = 0; test < 3000; ++test) {
    const auto dtype = static_cast<DType>(random.below(core::kDTypeCount));
    const Op op = random.below(2) == 0 ? Op::argmax : Op::argmin;
    std::vector<int64_t> shape = random.shape();
    const auto axis = static_cast<size_t>(random.below(static_cast<int64_t>(shape.size())));
    const StridedArray a = random.array(dtype, shape);
    shape[axis] = 1;
    const StridedArray result(DType::i64, shape, random.rng(), true);
    SCOPED_TRACE("case " + std::to_string(test) + ": " + std::string(core::info(op).name) + " of " +
                 std::string(core::to_string(dtype)));
    const vm::TargetTraits traits = simulated(random, test);
    programs += expect_alike(result, traits, [&](vm::Target& target, const BufferView& to) {
      const BufferView* operands[] = {&a.view};
      return run_whole(op, operands, to, static_cast<int>(axis), target);
    });
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(programs, 2000);
}

TEST(AlongPrograms, CountAsTheHostDoes) {
  Draws random(17);
  std::vector<int64_t> sizes = {0, 1, 2, 3, 4, 5, 127, 128, 129, 255, 256, 257, 70000};
  for (int more = 0; more < 30; ++more) sizes.push_back(random.below(6000));
  for (int d = 0; d < core::kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::boolean) continue;
    for (const int64_t size : sizes) {
      const StridedArray result(dtype, {size}, random.rng(), true);
      SCOPED_TRACE(std::to_string(size) + " of " + std::string(core::to_string(dtype)));
      const vm::TargetTraits traits = simulated(random, static_cast<int>(random.below(3)));
      const int programs =
          expect_alike(result, traits, [&](vm::Target& target, const BufferView& to) {
            return run_whole(Op::iota, {}, to, 0, target);
          });
      EXPECT_EQ(programs, size == 0 ? 0 : size <= 2 ? 1 : 2);
      ASSERT_FALSE(HasFailure());
    }
  }
}

// What stands in for elements that a condition leaves out.
TEST(AlongPrograms, OnesRaiseNothingWithAnyOp) {
  const auto sim = sim::make_sim_target(*vm::find_target("ascend910b3"));
  for (int d = 0; d < core::kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Op with : ops_that_combine(dtype)) {
      std::byte one[8] = {};
      const uint64_t bits = vm::scalar_pool_bits(
          dtype, core::is_floating(dtype) ? core::Scalar::of_float(1) : core::Scalar::of_int(1));
      std::memcpy(one, &bits, sizeof(bits));
      BufferView a;
      a.data = one;
      a.dtype = dtype;
      a.rank = 1;
      a.shape[0] = 2;
      std::byte memory[16];
      BufferView result = a;
      result.data = memory;
      result.strides[0] = core::byte_size(dtype);
      const BufferView* operands[] = {&a};
      const core::WatchFpFlags watch;
      EXPECT_TRUE(run_fold(Op::scan, with, operands, result, 0, *sim));
      EXPECT_EQ(watch.raised(), 0) << core::info(with).name << " of " << core::to_string(dtype);
    }
  }
}

}  // namespace
}  // namespace dvm::runtime
