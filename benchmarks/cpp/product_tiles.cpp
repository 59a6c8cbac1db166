// The cost model's choice of tiles for products of f32 matrices against a search through them all.
//
//   echo "128 768 3072" | product_tiles
//
// For each line "m k n": microseconds with the tiles chosen and with the best ones, and both sizes.
// Every tiling is timed twice, then those that looked best and the chosen one in turns: medians.
// DVM_NUM_THREADS says on how many threads.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "cpu/cpu_target.h"
#include "vm/encode/drafts.h"
#include "vm/encode/emit.h"
#include "vm/encode/product_parts.h"
#include "vm/encode/product_program.h"
#include "vm/tile/schedule.h"
#include "vm/tile/tiler.h"

namespace dvm::vm {
namespace {

constexpr int kFinalists = 6, kRounds = 7;
constexpr double kBlockSeconds = 2e-3;
constexpr int64_t kRows[] = {12, 24, 48, 96, 144, 192, 288, 384, 576, 768, 1024};
constexpr int64_t kColumns[] = {64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048};

struct Search {
  Search(int64_t m, int64_t k, int64_t n)
      : a(static_cast<size_t>(m * k), 1),
        b(static_cast<size_t>(k * n), 1),
        c(static_cast<size_t>(m * n)) {
    constexpr int64_t kSize = sizeof(float);
    product.a = 0;
    product.b = 1;
    product.result = 2;
    product.global_count = 3;
    product.m = {.size = m, .a = k * kSize, .result = n * kSize};
    product.n = {.size = n, .b = kSize, .result = kSize};
    product.k = {.size = k, .a = kSize, .b = n * kSize};
  }

  // Of a run, the mean of as many as take some time.
  double seconds(const ProductTiling& tiling) {
    const std::vector<Program> programs = encode(tiling);
    std::byte* const globals[] = {bytes(a), bytes(b), bytes(c), bytes(parts)};
    const auto run = [&] {
      for (const Program& program : programs) {
        target->run(program, std::span(globals).first(program.globals().size()));
      }
    };
    using Clock = std::chrono::steady_clock;
    run();
    const Clock::time_point begin = Clock::now();
    for (int times = 1;; ++times) {
      run();
      const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
      if (spent >= kBlockSeconds) return spent / times;
    }
  }

  // Where k is cut, a second Program adds up the parts.
  std::vector<Program> encode(const ProductTiling& tiling) {
    const TargetTraits& traits = target->traits();
    if (!adds_up_parts(product, tiling, traits)) {
      return {encode_product(product, tiling, traits, words)};
    }
    int64_t size = 0;
    const int64_t count = parts_along_k(product, tiling);
    const Contraction part = product_of_part(product, 3, size);
    parts.resize(static_cast<size_t>(count * size) / sizeof(float));
    add_up_parts(product, part, size, count, stage);
    schedules.begin(stage, traits);
    const Tiling sums = tile(schedules, tile_limit(schedules));
    return {encode_product(part, tiling, traits, words),
            emit(schedules, sums, words_of_sums, drafts).value()};
  }

  // All tiles that are no larger than the product, the whole of either side among them.
  std::vector<ProductTiling> tilings() const {
    const auto sizes = [](auto& all, int64_t side) {
      std::vector<int64_t> found;
      for (const int64_t size : all) {
        if (size < side) found.push_back(size);
      }
      found.push_back(side);
      return found;
    };
    std::vector<ProductTiling> found;
    for (const int64_t m : sizes(kRows, product.m.size)) {
      for (const int64_t n : sizes(kColumns, product.n.size))
        found.push_back({m, n, product.k.size});
    }
    return found;
  }

  void run() {
    const ProductTiling chosen = tile_product(product, target->traits());
    struct Timed {
      ProductTiling tiling;
      double seconds;
    };
    std::vector<Timed> all;
    for (const ProductTiling& tiling : tilings()) {
      all.push_back({tiling, std::min(seconds(tiling), seconds(tiling))});
    }
    std::sort(all.begin(), all.end(),
              [](const Timed& x, const Timed& y) { return x.seconds < y.seconds; });
    all.resize(std::min<size_t>(all.size(), kFinalists));
    all.insert(all.begin(), {chosen, 0});
    std::vector<std::vector<double>> times(all.size());
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < all.size(); ++i) times[i].push_back(seconds(all[i].tiling));
    }
    for (size_t i = 0; i < all.size(); ++i) {
      std::nth_element(times[i].begin(), times[i].begin() + kRounds / 2, times[i].end());
      all[i].seconds = times[i][kRounds / 2];
    }
    const Timed& best =
        *std::min_element(all.begin(), all.end(),
                          [](const Timed& x, const Timed& y) { return x.seconds < y.seconds; });
    const auto print = [](int64_t number) { std::printf(" %lld", static_cast<long long>(number)); };
    std::printf("%.2f %.2f", all[0].seconds * 1e6, best.seconds * 1e6);
    for (const ProductTiling& tiling : {chosen, best.tiling}) {
      print(tiling.m);
      print(tiling.n);
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  static std::byte* bytes(std::vector<float>& of) {
    return reinterpret_cast<std::byte*>(of.data());
  }

  Contraction product;
  std::vector<float> a, b, c, parts;
  std::vector<uint64_t> words = std::vector<uint64_t>(1024), words_of_sums = words;
  Stage stage;
  Schedules schedules;
  Drafts drafts;
  std::unique_ptr<Target> target = cpu::make_cpu_target();
};

}  // namespace
}  // namespace dvm::vm

int main() {
  long long m = 0, k = 0, n = 0;
  while (std::scanf("%lld %lld %lld", &m, &k, &n) == 3) dvm::vm::Search(m, k, n).run();
}
