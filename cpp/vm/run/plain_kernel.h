// The plainest kernel of an elementwise instruction: a functor of core/ops/scalar_ops.h, element by
// element. The simulated targets run nothing else; the cpu does where no faster body is written.
#pragma once

#include <cstdint>

#include "core/ops/elementwise.h"
#include "core/ops/scalar_ops.h"
#include "vm/run/tile_kernel.h"

namespace dvm::vm {

// Source k of an instruction; a literal has one element.
template <typename T>
struct PlainSource {
  PlainSource(const TileArgs& args, int k)
      : data(reinterpret_cast<const T*>(args.src[k])), step(args.scalar_mask >> k & 1 ? 0 : 1) {}
  T operator[](int64_t i) const { return data[i * step]; }
  const T* data;
  int64_t step;
};

template <typename Op, DType D, int kArity>
void plain_elementwise(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  const PlainSource<T> a(args, 0);
  if constexpr (kArity == 1) {
    auto* dst = reinterpret_cast<decltype(Op{}(a[0]))*>(args.dst);
    for (int64_t i = 0; i < args.size; ++i) dst[i] = Op{}(a[i]);
  } else {
    const PlainSource<T> b(args, 1);
    auto* dst = reinterpret_cast<decltype(Op{}(a[0], b[0]))*>(args.dst);
    for (int64_t i = 0; i < args.size; ++i) dst[i] = Op{}(a[i], b[i]);
  }
}

// nullptr where the row allows no such dtype.
template <typename Op, DType D, int kArity, core::OperandRule kOperands>
constexpr TileKernel plain_kernel() {
  if constexpr (core::allows(kOperands, D)) return plain_elementwise<Op, D, kArity>;
  return nullptr;
}

// Products of matrices, element by element and in the order of k.
template <DType D>
void plain_matmul(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  core::dispatch(MatrixAux::of(D, args.aux).source, [&]<DType From>() {
    if constexpr (multiplies(D, From)) {
      namespace scalar = core::scalar;
      const auto* a = reinterpret_cast<const core::Storage<From>*>(args.src[0]);
      const auto* b = reinterpret_cast<const core::Storage<From>*>(args.src[1]);
      auto* d = reinterpret_cast<T*>(args.dst);
      for (int64_t m = 0; m < args.m; ++m) {
        for (int64_t n = 0; n < args.n; ++n) {
          T& sum = d[m * args.n + n];
          for (int64_t k = 0; k < args.size; ++k) {
            const T product = scalar::mul{}(scalar::cast<T>(a[m * args.size + k]),
                                            scalar::cast<T>(b[k * args.n + n]));
            sum = k == 0 && !args.adds ? product : scalar::add{}(sum, product);
          }
        }
      }
    }
  });
}

}  // namespace dvm::vm
