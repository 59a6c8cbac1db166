// How good the tiles are that dvm chooses: for random shapes of typical programs every sensible
// tile of each Region is forced and timed, and the best of them then runs in turns with the chosen
// one. Ratios above 1 are what the choice costs. One thread, unless DVM_NUM_THREADS says otherwise.
//
//   bench_tiles [shapes] [program] [-v]     programs whose name begins like that; -v: every tile
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cpu/cpu_target.h"
#include "driver/compile.h"
#include "vm/encode/encode.h"
#include "vm/tile/tiler.h"

namespace dvm {
namespace {

using vm::Tiling;

struct Case {
  const char* name;
  int symbols;
  bool transposed;  // the first input lies in memory with its dims in reverse
  const char* body;
};

constexpr Case kCases[] = {
    {"cheap", 1, false, R"(
  %0 = input f32[s0]
  %1 = input f32[s0]
  %2 = add(%0, %1) f32[s0]
  %3 = mul(%2, %0) f32[s0]
  %4 = maximum(%3, %1) f32[s0]
  %5 = sub(%4, %0) f32[s0]
  %6 = mul(%5, %1) f32[s0]
  return %6)"},
    {"one op", 1, false, R"(
  %0 = input f32[s0]
  %1 = input f32[s0]
  %2 = add(%0, %1) f32[s0]
  return %2)"},
    {"functions", 1, false, R"(
  %0 = input f32[s0]
  %1 = exp(%0) f32[s0]
  %2 = tanh(%1) f32[s0]
  %3 = mul(%2, %0) f32[s0]
  return %3)"},
    {"plain", 1, false, R"(
  %0 = input i16[s0]
  %1 = input i16[s0]
  %2 = add(%0, %1) i16[s0]
  %3 = mul(%2, %0) i16[s0]
  %4 = sub(%3, %1) i16[s0]
  %5 = square(%4) i16[s0]
  return %5)"},
    {"logarithm", 1, false, R"(
  %0 = input f32[s0]
  %1 = log(%0) f32[s0]
  %2 = sin(%1) f32[s0]
  %3 = add(%2, %0) f32[s0]
  return %3)"},
    {"integers", 1, false, R"(
  %0 = input i32[s0]
  %1 = input i32[s0]
  %2 = add(%0, %1) i32[s0]
  %3 = lt(%2, %1) bool[s0]
  %4 = select(%3, %0, %2) i32[s0]
  return %4)"},
    {"halves", 1, false, R"(
  %0 = input f16[s0]
  %1 = input f16[s0]
  %2 = add(%0, %1) f16[s0]
  %3 = mul(%2, %0) f16[s0]
  %4 = exp(%3) f16[s0]
  return %4)"},
    {"bias", 2, false, R"(
  %0 = input f32[s0, s1]
  %1 = input f32[s1]
  %2 = broadcast(%1) f32[s0, s1]
  %3 = add(%0, %2) f32[s0, s1]
  %4 = tanh(%3) f32[s0, s1]
  return %4)"},
    {"scale", 2, false, R"(
  %0 = input f32[s0, s1]
  %1 = input f32[s0, 1]
  %2 = broadcast(%1) f32[s0, s1]
  %3 = mul(%0, %2) f32[s0, s1]
  return %3)"},
    {"row sum", 2, false, R"(
  %0 = input f32[s0, s1]
  %1 = mul(%0, %0) f32[s0, s1]
  %2 = sum(%1) f32[s0, 1] {axes = [1]}
  return %2)"},
    {"softmax", 2, false, R"(
  %0 = input f32[s0, s1]
  %1 = max(%0) f32[s0, 1] {axes = [1]}
  %2 = broadcast(%1) f32[s0, s1]
  %3 = sub(%0, %2) f32[s0, s1]
  %4 = exp(%3) f32[s0, s1]
  %5 = sum(%4) f32[s0, 1] {axes = [1]}
  %6 = broadcast(%5) f32[s0, s1]
  %7 = div(%4, %6) f32[s0, s1]
  return %7)"},
    {"columns", 2, false, R"(
  %0 = input f32[s0, s1]
  %1 = mul(%0, %0) f32[s0, s1]
  %2 = sum(%1) f32[1, s1] {axes = [0]}
  return %2)"},
    {"middle", 3, false, R"(
  %0 = input f32[s0, s1, s2]
  %1 = max(%0) f32[s0, 1, s2] {axes = [1]}
  return %1)"},
    {"transposed", 2, true, R"(
  %0 = input f32[s0, s1]
  %1 = input f32[s0, s1]
  %2 = add(%0, %1) f32[s0, s1]
  return %2)"},
    {"turned", 3, true, R"(
  %0 = input f32[s0, s1, s2]
  %1 = neg(%0) f32[s0, s1, s2]
  return %1)"},
};

constexpr int64_t kLeastElements = 1000, kMostElements = 4'000'000;

std::vector<int64_t> random_sizes(int count, std::mt19937_64& random) {
  const auto log_uniform = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution(std::log(low), std::log(high))(random));
  };
  for (;;) {
    double left = log_uniform(kLeastElements, kMostElements);
    std::vector<int64_t> sizes;
    for (int k = count; k > 1; --k) {
      const double size = log_uniform(1.5, std::max(2.0, left / 2));
      sizes.push_back(static_cast<int64_t>(std::lround(size)));
      left /= static_cast<double>(sizes.back());
    }
    sizes.push_back(std::max<int64_t>(2, static_cast<int64_t>(std::lround(left))));
    std::shuffle(sizes.begin(), sizes.end(), random);
    int64_t elements = 1;
    for (int64_t size : sizes) elements *= size;
    if (elements <= 2 * kMostElements) return sizes;
  }
}

// The operands of one Region, as the Plan would hand them over.
class Call {
 public:
  Call(const runtime::PlanRegion& region, const std::vector<int64_t>& symbols, bool transposed)
      : scalars_(region.kernel.scalars.size()) {
    const core::Graph& body = region.region.body;
    for (core::Dim dim : region.kernel.dims) dims_.push_back(*core::evaluate(dim, symbols));
    for (core::Value v : body.inputs()) {
      if (body.node(v).op != core::Op::input) continue;
      add(body.type(v), region.kernel.rank, symbols, transposed && operands_.empty());
    }
    for (core::Value v : body.outputs) add(body.type(v), region.kernel.rank, symbols, false);
  }

  vm::Binding binding() const { return {dims_.data(), scalars_.data(), strides_}; }
  // Valid until reserve() is called.
  std::vector<std::byte*> globals(const vm::Compiled& compiled) {
    std::vector<std::byte*> all;
    for (auto& operand : operands_) all.push_back(operand.get());
    for (int k = 0; k < compiled.workspace_count; ++k) all.push_back(workspace_[k].data());
    return all;
  }
  void reserve(const vm::Compiled& compiled) {
    for (int k = 0; k < compiled.workspace_count; ++k) {
      const auto bytes = static_cast<size_t>(compiled.workspace_bytes[k]);
      workspace_[k].resize(std::max(workspace_[k].size(), bytes));
    }
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  void add(const core::Type& type, int rank, const std::vector<int64_t>& symbols, bool transposed) {
    const size_t operand = operands_.size();
    int64_t stride = core::byte_size(type.dtype);
    for (int k = 0; k < type.rank(); ++k) {
      const int d = transposed ? k : type.rank() - 1 - k;
      strides_[operand][rank - type.rank() + d] = stride;
      stride *= *core::evaluate(type.shape[static_cast<size_t>(d)], symbols);
    }
    const size_t bytes = (static_cast<size_t>(stride) + 4095) / 4096 * 4096;
    operands_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
    std::byte* memory = operands_.back().get();
    core::dispatch(type.dtype, [&]<core::DType D>() {
      using T = core::Storage<D>;
      for (int64_t i = 0; i < stride / core::byte_size(D); ++i) {
        const float value = 0.9F + 0.02F * static_cast<float>(i % 11);
        T element;
        if constexpr (core::is_half(D)) {
          element = core::to_half<T>(value);
        } else {
          element = static_cast<T>(core::is_floating(D) ? value : static_cast<float>(i % 2));
        }
        std::memcpy(memory + i * core::byte_size(D), &element, sizeof element);
      }
    });
  }

  std::vector<int64_t> dims_;
  std::vector<core::Scalar> scalars_;
  std::vector<std::unique_ptr<std::byte, Free>> operands_;
  std::vector<std::byte> workspace_[vm::kMaxWorkspaces];
  int64_t strides_[vm::kMaxGlobals][core::kMaxRank] = {};
};

// Programs of one Region under one tiling.
struct Candidate {
  std::string label;
  vm::Arena arena;
  vm::Compiled compiled;
  std::vector<std::byte*> globals;
  double best = 1e30;  // ns of a run
  std::vector<double> duel;

  void run(vm::Target& target) const {
    for (int k = 0; k < compiled.stage_count; ++k) target.run(compiled.stages[k], globals);
  }
  double time(vm::Target& target, int64_t runs) const {
    const auto begin = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < runs; ++i) run(target);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    return spent.count() / static_cast<double>(runs);
  }
  bool same(const Candidate& other) const {
    if (compiled.stage_count != other.compiled.stage_count) return false;
    for (int k = 0; k < compiled.stage_count; ++k) {
      const auto a = compiled.stages[k].words(), b = other.compiled.stages[k].words();
      if (!std::equal(a.begin(), a.end(), b.begin(), b.end())) return false;
    }
    return true;
  }
};

std::vector<vm::TileRequest> requests(const vm::Stage& stage) {
  std::vector<int64_t> sizes;
  for (int64_t t = 1; t <= 65536; t *= 2) {
    sizes.push_back(t);
    if (t >= 2) sizes.push_back(t + t / 2);
  }
  int64_t reduced = 1, spatial = 1;
  for (int d = 0; d < stage.rank; ++d) {
    const bool is_reduced = stage.reduces() && stage.reduce_begin <= d && d < stage.reduce_end;
    (is_reduced ? reduced : spatial) *= stage.sizes[d];
  }
  std::vector<vm::TileRequest> all;
  int64_t inner = spatial;
  for (int d = 0; d < stage.rank; ++d) {
    if (stage.reduces() && stage.reduce_begin <= d && d < stage.reduce_end) continue;
    inner /= stage.sizes[d];
    for (const int64_t t : sizes) {
      const int64_t elements = std::min(t, stage.sizes[d]) * inner * reduced;
      const bool sensible = elements >= 64 || t >= stage.sizes[d];
      if (sensible && elements <= 131072) all.push_back({Tiling::Reduction::in_tile, d, t});
      if (t >= stage.sizes[d]) break;
    }
  }
  if (stage.reduces()) {
    const int64_t columns = stage.reduce_end < stage.rank ? stage.sizes[stage.rank - 1] : 1;
    for (const int64_t t : sizes) {
      if (t <= 256) all.push_back({Tiling::Reduction::chunks, 0, t});
      if (t >= columns) break;
    }
  }
  return all;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Time of the chosen tile over that of the best one, or 0 where there is nothing to choose.
double run_region(const Case& test, const runtime::PlanRegion& region,
                  const std::vector<int64_t>& symbols, vm::Target& target, bool verbose) {
  Call call(region, symbols, test.transposed);
  const vm::Binding binding = call.binding();
  const auto stage = std::make_unique<vm::Stage>();
  vm::bind(region.kernel, binding, vm::all_outputs(region.kernel), *stage);
  if (stage->output_count == 0) return 0;

  std::vector<std::unique_ptr<Candidate>> all;
  const auto add = [&](const vm::TileRequest* request, std::string label) {
    auto made = std::make_unique<Candidate>();
    made->label = std::move(label);
    made->compiled =
        vm::encode(region.kernel, binding, target.traits(), made->arena, nullptr, request);
    for (const auto& known : all) {
      if (made->same(*known)) return;
    }
    all.push_back(std::move(made));
  };
  add(nullptr, "chosen");
  for (const vm::TileRequest& request : requests(*stage)) {
    const bool chunks = request.reduction == Tiling::Reduction::chunks;
    add(&request, (chunks ? "chunks of " : "dim " + std::to_string(request.split) + " by ") +
                      std::to_string(request.tile));
  }
  for (const auto& candidate : all) call.reserve(candidate->compiled);
  for (const auto& candidate : all) candidate->globals = call.globals(candidate->compiled);

  constexpr double kBlock = 4e5;
  std::vector<int64_t> runs;
  for (const auto& candidate : all) {
    candidate->run(target);
    runs.push_back(1 + static_cast<int64_t>(kBlock / candidate->time(target, 1)));
  }
  for (int round = 0; round < 5; ++round) {
    for (size_t k = 0; k < all.size(); ++k) {
      all[k]->best = std::min(all[k]->best, all[k]->time(target, runs[k]));
    }
  }
  // The least of many times is a lucky one: the winner has to win again.
  const size_t best = static_cast<size_t>(
      std::min_element(all.begin(), all.end(),
                       [](const auto& a, const auto& b) { return a->best < b->best; }) -
      all.begin());
  double ratio = 1;
  if (best != 0) {
    std::vector<double> ratios;
    for (int round = 0; round < 15; ++round) {
      const double chosen = all[0]->time(target, runs[0]);
      ratios.push_back(chosen / all[best]->time(target, runs[best]));
    }
    ratio = std::max(1.0, median(ratios));
  }
  const vm::Header& header = all[0]->compiled.stages[0].header();
  std::string sizes;
  for (int d = 0; d < stage->rank; ++d) {
    sizes += (d > 0 ? "x" : "") + std::to_string(stage->sizes[d]);
  }
  std::printf("%-11s %-3s %-18s %7u tiles %10.1f us   %.2f  %s\n", test.name,
              region.region.name.c_str(), sizes.c_str(), header.tile_count, all[0]->best * 1e-3,
              ratio, best == 0 ? "" : all[best]->label.c_str());
  if (verbose) {
    for (const auto& candidate : all) {
      std::printf("    %-20s %7u tiles %10.2f us  %.3f\n", candidate->label.c_str(),
                  candidate->compiled.stages[0].header().tile_count, candidate->best * 1e-3,
                  candidate->best / all[0]->best);
    }
  }
  std::fflush(stdout);
  return ratio;
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  using namespace dvm;
  int shapes = 100;
  bool verbose = false;
  const char* only = "";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "-v") == 0) {
      verbose = true;
    } else if (const int count = std::atoi(argv[i]); count > 0) {
      shapes = count;
    } else {
      only = argv[i];
    }
  }
  if (std::getenv("DVM_NUM_THREADS") == nullptr) cpu::set_thread_count(1);
  vm::Target& target = driver::target("cpu");
  std::vector<const Case*> cases;
  for (const Case& test : kCases) {
    if (std::strncmp(test.name, only, std::strlen(only)) == 0) cases.push_back(&test);
  }
  std::vector<double> ratios;
  std::mt19937_64 random(1);
  for (int shape = 0; shape < shapes; ++shape) {
    const Case& test = *cases[static_cast<size_t>(shape) % cases.size()];
    const std::string text = "graph v1 {" + std::string(test.body) + "\n}\n";
    const driver::Compilation compiled = driver::compile(core::parse_graph(text), {});
    const std::vector<int64_t> sizes = random_sizes(test.symbols, random);
    for (const runtime::PlanRegion& region : compiled.graph.plan().regions) {
      const double ratio = run_region(test, region, sizes, target, verbose);
      if (ratio > 0) ratios.push_back(ratio);
    }
  }
  double sum = 0;
  for (const double ratio : ratios) sum += ratio;
  std::sort(ratios.begin(), ratios.end());
  std::printf("%zu Regions of %d shapes: mean %.3f, worst %.2f, above 1.05: %td\n", ratios.size(),
              shapes, sum / static_cast<double>(ratios.size()), ratios.back(),
              ratios.end() - std::upper_bound(ratios.begin(), ratios.end(), 1.05));
}
