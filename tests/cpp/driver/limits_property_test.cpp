// Graphs at the limits of a Region, compiled once and called with small sizes and with large ones,
// on every SIMD level and on simulated targets: always the bits of the reference evaluator, and no
// error whatever the sizes are. DVM_LIMITS asks for more of them.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>

#include "core/verifies.h"
#include "cpu/simd_level.h"
#include "driver/execute_case.h"
#include "driver/limit_generator.h"

namespace dvm::driver {
namespace {

// What nobody writes is not by chance what is expected.
class DirtyHost final : public test::FakeHost {
 public:
  bool allocate(core::DType dtype, std::span<const int64_t> shape,
                runtime::BufferView& out) override {
    if (!FakeHost::allocate(dtype, shape, out)) return false;
    int64_t bytes = core::byte_size(dtype);
    for (const int64_t size : shape) bytes *= size;
    std::memset(out.data, 0xa5, static_cast<size_t>(bytes));
    return true;
  }
};

// The cpu with less local memory, so that short rows are longer than a tile.
class SmallCpu final : public vm::Target {
 public:
  explicit SmallCpu(int64_t bytes) : traits_(target("cpu").traits()) {
    traits_.local_bytes = bytes;
  }
  const vm::TargetTraits& traits() const override { return traits_; }
  vm::RunStatus run(std::span<const vm::Launch> launches) override {
    return target("cpu").run(launches);
  }

 private:
  vm::TargetTraits traits_;
};

struct Way {
  std::string name, target;  // as users name it
  vm::Target* runs;
  cpu::SimdLevel level;
  bool often = true;  // not for some of the cases alone
};

const std::vector<Way>& ways() {
  static SmallCpu tiny(4608), small(32768);
  static const std::vector<Way> found = [] {
    std::vector<Way> made;
    for (const cpu::SimdLevel level : cpu::simd_levels()) {
      made.push_back({std::string(cpu::to_string(level)), "cpu", &target("cpu"), level});
    }
    const cpu::SimdLevel best = cpu::simd_levels().front();
    made.push_back({"tiny", "cpu", &tiny, best, false});
    made.push_back({"small", "cpu", &small, best, false});
    for (const char* name : {"ascend910b1", "ascend910b3"}) {
      made.push_back({name, name, &target(name), best, false});
    }
    return made;
  }();
  return found;
}

uint64_t cases(uint64_t otherwise) {
  const char* const wanted = std::getenv("DVM_LIMITS");
  return wanted ? std::strtoull(wanted, nullptr, 10) : otherwise;
}
uint64_t first_case() {
  const char* const first = std::getenv("DVM_LIMITS_FROM");
  return first ? std::strtoull(first, nullptr, 10) : 0;
}

class Limits : public testing::Test {
 protected:
  Limits() { core::verifies() = true; }
  ~Limits() override {
    core::verifies() = verified_;
    cpu::set_simd_level(level_);
  }

  // Empty, or what is wrong.
  static std::string check(const Way& way, const runtime::CompiledGraph& compiled,
                           const test::GraphCase& call, const std::vector<core::Array>& expected,
                           int layout) {
    cpu::set_simd_level(way.level);
    DirtyHost host;
    try {
      const Executed done = run(compiled, call, host, layout);
      if (done.outcome != runtime::Outcome::done) return "the call was given up";
      for (size_t k = 0; k < expected.size(); ++k) {
        if (!test::same_values(done.results[k], expected[k]))
          return "result " + std::to_string(k) + " differs";
      }
    } catch (const core::Error& error) {
      return error.what();
    }
    return {};
  }

 private:
  const bool verified_ = core::verifies();
  const cpu::SimdLevel level_ = cpu::simd_level();
};

std::string text_of(const std::vector<int64_t>& symbols) {
  std::string text;
  for (const int64_t symbol : symbols) text += " " + std::to_string(symbol);
  return text;
}

TEST_F(Limits, AreNoErrorsAndChangeNothing) {
  int failures = 0;
  const uint64_t first = first_case(), end = first + cases(30);
  for (uint64_t seed = first; seed < end && failures < 20; ++seed) {
    LimitGenerator generator(seed);
    const LimitCase made = generator.run();
    const Options strict{.numerics = Numerics::strict, .verify = true};
    std::map<std::string, runtime::Plan> plans;
    const auto compiled = [&](const Way& way) {
      if (!plans.contains(way.target)) {
        Options options = strict;
        options.target = way.target;
        plans.emplace(way.target, compile(made.graph, options).graph.plan());
      }
      return runtime::CompiledGraph(plans.at(way.target), *way.runs);
    };
    for (const std::vector<int64_t>& symbols : made.calls) {
      test::GraphCase call{made.graph, symbols, generator.arguments(made.graph, symbols)};
      std::vector<core::Array> expected;
      try {
        expected = core::evaluate(meaning_of(made.graph, strict), call.inputs, test::generated_host,
                                  symbols);
      } catch (const core::Error&) {
        continue;  // the largest of no elements
      }
      for (size_t k = 0; k < ways().size(); ++k) {
        const Way& way = ways()[k];
        if (!way.often && (seed + k) % 2 == 0) continue;
        if (!made.exact && way.target == "cpu" && !cpu::has_fused_arithmetic(way.level)) continue;
        std::string wrong;
        try {
          wrong = check(way, compiled(way), call, expected, seed % 8 == 5 ? 1 : 0);
        } catch (const core::Error& error) {
          wrong = std::string("compiling: ") + error.what();
        }
        if (wrong.empty()) continue;
        ++failures;
        ADD_FAILURE() << "seed " << seed << " on " << way.name << " with" << text_of(symbols)
                      << ": " << wrong;
      }
    }
  }
}

// A call of a Region that has no memory, for sizes of which no machine has any. Operands are dense,
// or repeat what they read.
class HugeCall {
 public:
  HugeCall(const runtime::PlanRegion& region, std::span<const int64_t> symbols,
           test::Random& random)
      : kernel_(region.kernel), scalars_(static_cast<size_t>(kernel_.scalar_count)) {
    const core::Graph& body = region.region.body;
    const auto size = [&](core::Dim dim) { return core::evaluate(dim, symbols).value(); };
    for (const core::Dim dim : kernel_.dims) dims_.push_back(size(dim));
    const auto add = [&](const core::Type& type, bool repeats) {
      auto& strides = strides_.emplace_back();
      int64_t stride = core::byte_size(type.dtype);
      for (int d = type.rank() - 1; d >= 0; --d) {
        strides[static_cast<size_t>(kernel_.rank - type.rank() + d)] = repeats ? 0 : stride;
        stride *= size(type.shape[static_cast<size_t>(d)]);
      }
    };
    for (const core::Value v : body.inputs()) {
      if (body.node(v).op == core::Op::input) add(body.type(v), random.chance(50));
    }
    for (const core::Value v : body.outputs) add(body.type(v), false);
  }

  vm::Compiled encode(const vm::TargetTraits& traits, vm::Arena& arena) const {
    return vm::encode(kernel_,
                      {dims_.data(), scalars_.data(),
                       reinterpret_cast<const int64_t(*)[core::kMaxRank]>(strides_.data())},
                      traits, arena);
  }

 private:
  const vm::Kernel& kernel_;
  std::vector<int64_t> dims_;
  std::vector<core::Scalar> scalars_;
  std::vector<std::array<int64_t, core::kMaxRank>> strides_;
};

TEST_F(Limits, AreNoErrorsForArraysLargerThanAnyMemory) {
  constexpr int64_t kMany = int64_t{1} << 31, kMore = int64_t{1} << 32;
  constexpr std::pair<int64_t, int64_t> kSizes[] = {
      {1, kMany - 1},   {1, kMany + 1}, {2, kMore},
      {1, kMore + 16},  {kMore + 7, 1}, {(1 << 16) + 1, (1 << 16) - 1},
      {3, kMore + 513}, {kMany, 3},     {1 << 20, 1 << 12}};
  int failures = 0;
  vm::Arena arena;
  const uint64_t first = first_case(), end = first + cases(30);
  for (uint64_t seed = first; seed < end && failures < 20; ++seed) {
    const core::Graph graph = LimitGenerator(seed).run().graph;
    test::Random random(seed);
    for (const char* name : {"cpu", "ascend910b1"}) {
      const runtime::Plan plan =
          compile(graph, {.target = name, .numerics = Numerics::strict}).graph.plan();
      for (const runtime::PlanRegion& region : plan.regions) {
        const auto [rows, columns] = random.pick(kSizes);
        const std::vector<int64_t> symbols{rows, columns};
        try {
          arena.reset();
          HugeCall(region, symbols, random).encode(target(name).traits(), arena);
        } catch (const core::Error& error) {
          ++failures;
          ADD_FAILURE() << "seed " << seed << " on " << name << " with" << text_of(symbols) << ": "
                        << error.what();
        }
      }
    }
  }
}

}  // namespace
}  // namespace dvm::driver
