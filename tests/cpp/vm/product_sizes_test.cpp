// Products of any sizes, up to sums and sides that no 32 bits count: what is encoded is verified,
// and its tiles have all rows, all columns and all of each sum.
#include <gtest/gtest.h>

#include <algorithm>

#include "vm/encode/product_parts.h"
#include "vm/encode/product_program.h"
#include "vm/tile/contraction.h"

namespace dvm::vm {
namespace {

constexpr int64_t kSizes[] = {1,
                              3,
                              16,
                              1000,
                              (int64_t{1} << 31) - 1,
                              int64_t{1} << 31,
                              (int64_t{1} << 32) - 5,
                              (int64_t{1} << 32) + 16,
                              (int64_t{1} << 33) + 512};

// Of dense matrices.
Contraction product_of(int64_t m, int64_t n, int64_t k) {
  Contraction product;
  product.a = 0, product.b = 1, product.result = 2;
  product.global_count = 3;
  product.dtype = product.source = DType::f32;
  constexpr int64_t kBytes = 4;
  product.m = {.size = m, .a = k * kBytes, .result = n * kBytes};
  product.n = {.size = n, .b = kBytes, .result = kBytes};
  product.k = {.size = k, .a = kBytes, .b = n * kBytes};
  return product;
}

// What all tiles have of a dim, of which an instruction has one extent, by axis of the grid.
int64_t covered(const Program& program, int64_t Extents::*extent, int axis) {
  const auto code = program.code();
  const auto& insn = *reinterpret_cast<const Instruction*>(code.data());
  const auto grid = program.grid();
  const int64_t tiles = grid[grid.size() - 1 - static_cast<size_t>(axis)];
  return (tiles - 1) * (extents(insn, 0).*extent) +
         extents(insn, static_cast<Ends>(1u << axis)).*extent;
}

TEST(ProductSizes, AreVerifiedAndCovered) {
  const TargetTraits& cpu = *find_target("cpu");
  std::vector<uint64_t> words(1 << 12);
  for (const int64_t m : kSizes) {
    for (const int64_t n : kSizes) {
      for (const int64_t k : kSizes) {
        // Beyond any address there is nothing to ask for.
        const auto fits = [](int64_t a, int64_t b) { return a <= (int64_t{1} << 40) / b; };
        if (!fits(m, n) || !fits(m, k) || !fits(n, k)) continue;
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
        Contraction product = product_of(m, n, k);
        const ProductTiling tiling = tile_product(product, cpu);
        const bool in_parts = adds_up_parts(product, tiling, cpu);
        int64_t bytes = 0;
        if (in_parts) product = product_of_part(product, 3, bytes);
        const Program program = encode_product(product, tiling, cpu, words);
        ASSERT_NO_THROW(verify(program.words()));
        if (!program.loops().empty()) continue;  // of factors that are not read where they lie
        EXPECT_EQ(covered(program, &Extents::n, 0), n);
        EXPECT_EQ(covered(program, &Extents::m, 1), m);
        EXPECT_EQ(in_parts ? covered(program, &Extents::size, 2) : tiling.k, k);
      }
    }
  }
}

}  // namespace
}  // namespace dvm::vm
