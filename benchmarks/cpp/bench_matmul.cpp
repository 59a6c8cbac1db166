// Products of matrices by a plain blocked driver over the cpu's kernels (DVM_SIMD): Gflop/s, and
// the share of what multiply-adds alone reach in the same process. Minima of interleaved repeats.
//
//   bench_matmul [kind [threads]]            the table
//   bench_matmul packing kind                what packing costs
//   bench_matmul blocks kind m k n           sizes of blocks for one product
//
// A kind is one of matmul_kinds.def, or that of f32 by precision: high, medium.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/ops/half.h"
#include "cpu/matmul/matmul_kernels.h"
#include "machine_limits.h"

namespace dvm {
namespace {

using cpu::MatmulKernels;
using cpu::MatmulKind;
using cpu::MatrixView;

constexpr const char* kNames[] = {
#define DVM_MATMUL_KIND(name, stored, sum) #name,
#include "cpu/matmul/matmul_kinds.def"
#undef DVM_MATMUL_KIND
};
constexpr core::DType kStored[] = {
#define DVM_MATMUL_KIND(name, stored, sum) core::DType::stored,
#include "cpu/matmul/matmul_kinds.def"
#undef DVM_MATMUL_KIND
};
constexpr core::DType kSums[] = {
#define DVM_MATMUL_KIND(name, stored, sum) core::DType::sum,
#include "cpu/matmul/matmul_kinds.def"
#undef DVM_MATMUL_KIND
};

// Huge pages, touched before anything is timed.
class Buffer {
 public:
  explicit Buffer(int64_t bytes) : bytes_(static_cast<size_t>(bytes + (1 << 21))) {
    data_ = static_cast<std::byte*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (data_ == MAP_FAILED) std::abort();
    madvise(data_, bytes_, MADV_HUGEPAGE);
    std::memset(data_, 0, bytes_);
  }
  ~Buffer() { munmap(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* data() const { return data_; }

 private:
  size_t bytes_;
  std::byte* data_;
};

double seconds(const std::function<void()>& run, int times) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / times;
}

// Minima.
std::vector<double> interleave(const std::vector<std::function<void()>>& variants) {
  std::vector<double> best(variants.size(), 1e9);
  for (size_t v = 0; v < variants.size(); ++v) {
    variants[v]();
    best[v] = seconds(variants[v], 1);
  }
  for (int r = 0; r < 9; ++r) {
    for (size_t v = 0; v < variants.size(); ++v) {
      const int times = static_cast<int>(std::max(1.0, 5e-3 / best[v]));
      best[v] = std::min(best[v], seconds(variants[v], times));
    }
  }
  return best;
}

// Gflop/s of one thread, in f32, of multiply-adds with nothing to load.
double peak() {
  constexpr double kOperations = 2e8;
  double best = dvm_multiply_add_seconds(kOperations, 1);
  for (int r = 0; r < 9; ++r) best = std::min(best, dvm_multiply_add_seconds(kOperations, 1));
  return best == 0 ? 0 : kOperations / best * 1e-9;
}

core::Precision precision = core::Precision::highest;  // of products of f32

const MatmulKernels& kernels_of(MatmulKind kind) {
  const core::DType stored = kStored[static_cast<int>(kind)];
  return cpu::matmul_kernels(cpu::simd_level(), kSums[static_cast<int>(kind)], stored, precision);
}

struct Product {
  int64_t m, k, n;
  bool b_along_k = false;
};
struct Blocks {
  int64_t mc = 192, kc = 512, nc = 2048;
};
enum class TakeB : uint8_t { packed_before, pack, in_place, thin };

class Bench {
 public:
  Bench(MatmulKind kind, Product product, int threads)
      : kernels_(kernels_of(kind)),
        p_(product),
        threads_(threads),
        stored_(core::byte_size(kStored[static_cast<int>(kind)])),
        sum_(core::byte_size(kSums[static_cast<int>(kind)])),
        a_(p_.m * p_.k * stored_),
        b_(p_.k * p_.n * stored_),
        c_(p_.m * p_.n * sum_),
        packed_b_(kernels_.packed_b_bytes(p_.k, p_.n + int64_t{2} * kernels_.nr) + p_.n * 64) {
    for (int t = 0; t < threads; ++t) {
      rooms_a_.push_back(std::make_unique<Buffer>(8 << 20));
      rooms_b_.push_back(std::make_unique<Buffer>(16 << 20));
    }
  }

  std::function<void()> variant(TakeB take, bool pack_a, Blocks blocks) {
    if (take == TakeB::packed_before) pack_all(blocks);
    return [=, this] {
      if (take == TakeB::thin) return thin();
      const int64_t half = (p_.n / 2 + kernels_.nr - 1) / kernels_.nr * kernels_.nr;
      if (threads_ == 1 || half >= p_.n) return part(0, 0, p_.n, take, pack_a, blocks);
      std::thread other([&] { part(1, half, p_.n, take, pack_a, blocks); });
      part(0, 0, half, take, pack_a, blocks);
      other.join();
    };
  }
  // The larger operand.
  double read_bytes() const { return static_cast<double>(std::max(p_.m, p_.n) * p_.k * stored_); }
  void read() const {
    const Buffer& from = p_.m > p_.n ? a_ : b_;
    const auto bytes = static_cast<int64_t>(read_bytes());
    const auto some = [&](int64_t begin, int64_t end) {
      dvm_read(from.data() + begin, end - begin);
    };
    if (threads_ == 1) return some(0, bytes);
    std::thread other([&] { some(bytes / 2, bytes); });
    some(0, bytes / 2);
    other.join();
  }
  double flops() const { return 2.0 * static_cast<double>(p_.m * p_.k * p_.n); }

 private:
  MatrixView a_at(int64_t i, int64_t l) const {
    return {a_.data() + (i * p_.k + l) * stored_, p_.k * stored_, stored_};
  }
  MatrixView b_at(int64_t l, int64_t j) const {
    const int64_t row = p_.b_along_k ? stored_ : p_.n * stored_;
    const int64_t column = p_.b_along_k ? p_.k * stored_ : stored_;
    return {b_.data() + l * row + j * column, row, column};
  }
  // Blocks of k one behind the other, each with all columns.
  std::byte* packed_at(int64_t l, int64_t depth, int64_t j) const {
    return packed_b_.data() + kernels_.packed_b_bytes(l, p_.n) +
           j / kernels_.nr * kernels_.b_panel_bytes(depth);
  }
  // Columns shared out, B in place.
  void thin() const {
    const int64_t half = threads_ == 1 ? p_.n : p_.n / 2 / 64 * 64;
    const auto some = [&](int64_t begin, int64_t end) {
      std::byte* const c = c_.data() + begin * sum_;
      if (p_.b_along_k) {
        kernels_.dots({.m = p_.m,
                       .k = p_.k,
                       .n = end - begin,
                       .a = a_at(0, 0),
                       .b = b_at(0, begin),
                       .c = c,
                       .c_row_stride = p_.n * sum_,
                       .c_column_stride = sum_,
                       .adds = false});
      } else {
        kernels_.multiply_few_rows({.m = p_.m,
                                    .k = p_.k,
                                    .n = end - begin,
                                    .a = a_at(0, 0),
                                    .b = b_at(0, begin),
                                    .c = c,
                                    .c_row_stride = p_.n * sum_,
                                    .adds = false});
      }
    };
    if (half == p_.n) return some(0, p_.n);
    std::thread other([&] { some(half, p_.n); });
    some(0, half);
    other.join();
  }
  void pack_all(Blocks blocks) {
    for (int64_t l = 0; l < p_.k; l += blocks.kc) {
      const int64_t depth = std::min(blocks.kc, p_.k - l);
      kernels_.pack_b(b_at(l, 0), depth, p_.n, packed_at(l, depth, 0));
    }
  }
  void part(size_t thread, int64_t begin, int64_t end, TakeB take, bool pack_a, Blocks blocks) {
    std::byte* const room_a = rooms_a_[thread]->data();
    std::byte* const room_b = rooms_b_[thread]->data();
    for (int64_t j = begin; j < end; j += blocks.nc) {
      const int64_t columns = std::min(blocks.nc, end - j);
      for (int64_t l = 0; l < p_.k; l += blocks.kc) {
        const int64_t depth = std::min(blocks.kc, p_.k - l);
        cpu::MatmulBlock block{.m = 0,
                               .k = depth,
                               .n = columns,
                               .c = nullptr,
                               .c_row_stride = p_.n * sum_,
                               .adds = l > 0};
        if (take == TakeB::in_place) block.b = b_at(l, j);
        if (take == TakeB::packed_before) block.packed_b = packed_at(l, depth, j);
        if (take == TakeB::pack) {
          kernels_.pack_b(b_at(l, j), depth, columns, room_b);
          block.packed_b = room_b;
        }
        for (int64_t i = 0; i < p_.m; i += blocks.mc) {
          block.m = std::min(blocks.mc, p_.m - i);
          block.c = c_.data() + (i * p_.n + j) * sum_;
          block.a = a_at(i, l);
          if (pack_a) {
            kernels_.pack_a(block.a, block.m, depth, room_a);
            block.packed_a = room_a;
          }
          kernels_.multiply(block);
        }
      }
    }
  }

  const MatmulKernels& kernels_;
  const Product p_;
  const int threads_;
  const int64_t stored_, sum_;
  const Buffer a_, b_, c_, packed_b_;
  std::vector<std::unique_ptr<Buffer>> rooms_a_, rooms_b_;
};

constexpr Product kProducts[] = {
    {512, 512, 512},          {1024, 1024, 1024},       {2048, 2048, 2048}, {128, 768, 768},
    {128, 768, 3072},         {777, 4096, 1100},        {1024, 128, 4096},  {512, 512, 512, true},
    {1024, 1024, 1024, true}, {2048, 2048, 2048, true}, {16, 1024, 1024},   {64, 1024, 1024},
    {16, 1024, 1024, true},   {64, 1024, 1024, true}};
constexpr Product kThin[] = {{1, 4096, 4096},        {2, 4096, 4096},       {4, 4096, 4096},
                             {8, 4096, 4096},        {16, 4096, 4096},      {1, 4096, 4096, true},
                             {2, 4096, 4096, true},  {4, 4096, 4096, true}, {8, 4096, 4096, true},
                             {16, 4096, 4096, true}, {1, 512, 512},         {4, 512, 512},
                             {8, 512, 512},          {1, 512, 512, true},   {4, 512, 512, true},
                             {8, 512, 512, true},    {4096, 4096, 1, true}, {1, 65536, 1, true}};

void print_sizes(const Product& p) {
  std::printf("%5ld,%5ld,%5ld%s", static_cast<long>(p.m), static_cast<long>(p.k),
              static_cast<long>(p.n), p.b_along_k ? "T" : " ");
}

void print_table(MatmulKind kind, int threads) {
  std::printf("%s, %d threads; Gflop/s (share of the peak in f32)\n",
              kNames[static_cast<int>(kind)], threads);
  std::printf("%18s  %15s  %15s  %15s  %15s\n", "m,k,n", "packed before", "and A in place",
              "pack B", "B in place");
  const bool a_in_place = kernels_of(kind).reads_a_in_place;
  const bool b_in_place = kernels_of(kind).in_place_rows > 0;
  for (const Product& p : kProducts) {
    Bench bench(kind, p, threads);
    std::vector<std::function<void()>> variants = {
        bench.variant(TakeB::packed_before, true, {}),
        bench.variant(TakeB::packed_before, !a_in_place, {}),
        bench.variant(TakeB::pack, !a_in_place, {})};
    if (!p.b_along_k && b_in_place) {
      variants.push_back(bench.variant(TakeB::in_place, !a_in_place, {}));
    }
    const std::vector<double> times = interleave(variants);
    const double top = peak() * threads;
    print_sizes(p);
    for (const double time : times) {
      const double rate = bench.flops() / time * 1e-9;
      std::printf("  %8.1f (%.2f)", rate, top == 0 ? 0 : rate / top);
    }
    std::printf("\n");
  }
}

// Few rows: gigabytes of B per second, and the share of what only reading it reaches.
void print_thin(MatmulKind kind, int threads) {
  std::printf("%s, %d threads; GB/s of B (share of reading)\n", kNames[static_cast<int>(kind)],
              threads);
  std::printf("%18s  %15s  %15s  %15s\n", "m,k,n", "few rows, dots", "pack B", "B in place");
  const bool a_in_place = kernels_of(kind).reads_a_in_place;
  const bool b_in_place = kernels_of(kind).in_place_rows > 0;
  for (const Product& p : kThin) {
    Bench bench(kind, p, threads);
    std::vector<std::function<void()>> variants = {[&] { bench.read(); },
                                                   bench.variant(TakeB::thin, false, {}),
                                                   bench.variant(TakeB::pack, !a_in_place, {})};
    if (!p.b_along_k && b_in_place) {
      variants.push_back(bench.variant(TakeB::in_place, !a_in_place, {}));
    }
    const std::vector<double> times = interleave(variants);
    print_sizes(p);
    for (size_t v = 1; v < times.size(); ++v) {
      std::printf("  %8.1f (%.2f)", bench.read_bytes() / times[v] * 1e-9, times[0] / times[v]);
    }
    std::printf("\n");
  }
}

void print_blocks(MatmulKind kind, Product p) {
  Bench bench(kind, p, 1);
  const double top = peak();
  const bool a_in_place = kernels_of(kind).reads_a_in_place;
  for (const int64_t kc : {128, 192, 256, 384, 512, 768, 1024}) {
    for (const int64_t mc : {48, 96, 192, 384, 768}) {
      for (const int64_t nc : {256, 512, 1024, 4096}) {
        const Blocks blocks{mc, kc, nc};
        const std::vector<double> times =
            interleave({bench.variant(TakeB::pack, true, blocks),
                        bench.variant(TakeB::pack, !a_in_place, blocks)});
        std::printf("kc %4ld mc %3ld nc %4ld", static_cast<long>(kc), static_cast<long>(mc),
                    static_cast<long>(nc));
        for (const double time : times) std::printf("  %.3f", bench.flops() / time * 1e-9 / top);
        std::printf("\n");
      }
    }
  }
}

// Nanoseconds per element packed, of blocks of a matrix of `side` columns and rows.
void print_packing(MatmulKind kind) {
  const MatmulKernels& kernels = kernels_of(kind);
  const int64_t size = core::byte_size(kStored[static_cast<int>(kind)]);
  std::printf("%s; ns per element packed\n%10s %6s  %8s %8s\n", kNames[static_cast<int>(kind)],
              "block", "of", "A", "B");
  for (const int64_t side : {512, 1000, 1024, 4096}) {
    const Buffer from(side * side * size), to(64 << 20);
    for (const bool across : {false, true}) {
      const int64_t row = across ? size : side * size, column = across ? side * size : size;
      const int64_t m = std::min<int64_t>(side, 192), k = std::min<int64_t>(side, 512);
      const int64_t n = std::min<int64_t>(side, 1024);
      // One block after the other, as they come.
      int64_t at = 0;
      const auto next = [&](int64_t bytes) {
        const int64_t whole = side * side * size;
        at = (at + (64 << 10) + 256) % std::max<int64_t>(whole - bytes, 1) / 64 * 64;
        return from.data() + at;
      };
      const std::vector<double> times = interleave(
          {[&] {
             kernels.pack_a({next((m - 1) * row + k * column), row, column}, m, k, to.data());
           },
           [&] {
             kernels.pack_b({next((k - 1) * row + n * column), row, column}, k, n, to.data());
           }});
      std::printf("%10s %6ld  %8.3f %8.3f\n", across ? "by columns" : "by rows",
                  static_cast<long>(side), times[0] / static_cast<double>(m * k) * 1e9,
                  times[1] / static_cast<double>(k * n) * 1e9);
    }
  }
}

MatmulKind kind_of(const char* name) {
  if (const auto of_f32 = core::precision_from_text(name)) {
    precision = *of_f32;
    return MatmulKind::f32;
  }
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (std::strcmp(kNames[i], name) == 0) return static_cast<MatmulKind>(i);
  }
  std::printf("no such kind\n");
  std::exit(1);
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  using namespace dvm;
  if (argc > 5 && std::strcmp(argv[1], "blocks") == 0) {
    print_blocks(kind_of(argv[2]), {std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])});
    return 0;
  }
  if (argc > 2 && std::strcmp(argv[1], "packing") == 0) {
    print_packing(kind_of(argv[2]));
    return 0;
  }
  const MatmulKind kind = kind_of(argc > 1 ? argv[1] : "f32");
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  print_thin(kind, threads);
  print_table(kind, threads);
}
