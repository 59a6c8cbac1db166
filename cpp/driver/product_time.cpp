#include "driver/product_time.h"

#include <algorithm>
#include <string>

#include "core/error.h"
#include "sim/timing/timing.h"
#include "vm/encode/encode.h"
#include "vm/target/core_timing.h"

namespace dvm::driver {

namespace {

using core::DType;

DType sums_of(DType source) {
  if (core::byte_size(source) == 8) return source;
  return core::is_floating(source) ? DType::f32 : DType::i32;
}

vm::Contraction contraction_of(const Product& of) {
  const DType sums = sums_of(of.source);
  const int64_t size = core::byte_size(of.source), sum = core::byte_size(sums);
  const bool by_rows = of.right == vm::RightLies::by_rows;
  vm::Contraction product;
  product.a = 0;
  product.b = 1;
  product.result = 2;
  product.global_count = 3;
  product.dtype = sums;
  product.source = of.source;
  product.m = {.size = of.m, .a = of.k * size, .result = of.n * sum};
  product.n = {.size = of.n, .b = by_rows ? size : of.k * size, .result = sum};
  product.k = {.size = of.k, .a = size, .b = by_rows ? of.n * size : size};
  return product;
}

}  // namespace

ProductTime time_product(const Product& of, const vm::TargetTraits& target,
                         const std::optional<vm::CubeTiling>& tiling) {
  if (of.m < 1 || of.n < 1 || of.k < 1) {
    core::fail(core::ErrorCode::unsupported, "a product without elements takes no time");
  }
  if (!vm::has_cube(target)) {
    core::fail(core::ErrorCode::unsupported, std::string(target.name) + " has no cube");
  }
  const vm::Contraction product = contraction_of(of);
  vm::CubeTiling chosen = tiling ? *tiling : vm::tile_cube(product, target);
  chosen.m = std::min(chosen.m, of.m);
  chosen.n = std::min(chosen.n, of.n);
  chosen.k = std::min(chosen.k, of.k);
  if (const std::string why = vm::why_no_tile(of.source, chosen, target); !why.empty()) {
    core::fail(core::ErrorCode::unsupported, why);
  }
  vm::Arena arena;
  const vm::Program program = vm::encode_cube(product, chosen, target, arena.rest());
  constexpr int64_t kBuffers[] = {0, 1, 2};
  const sim::TimedLaunch launch{.program = program, .buffers = kBuffers};
  return {chosen, sim::time_programs({&launch, 1}, vm::core_timing(target), false).front().end};
}

}  // namespace dvm::driver
