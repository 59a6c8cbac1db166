// The plainest kernel of an elementwise instruction: a functor of core/ops/scalar_ops.h, element by
// element. The simulated targets run nothing else; the cpu does where no faster body is written.
#pragma once

#include <cstdint>
#include <cstring>

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

// Whether a gather has an index for each position along the indexed dim, or for each element.
enum class IndexPer : uint8_t { position, element };

// Rows of elements that lie side by side, of the dims behind the indexed one, move at once. Indices
// are looked at before anything is read through them.
template <typename T, IndexPer kPer>
void plain_gather(const TileArgs& args) noexcept {
  const auto* const indices = reinterpret_cast<const int64_t*>(args.src[1]);
  const ViewDim* const dims = args.dims;
  const int indexed = static_cast<int>(args.m) - 1, rank = args.aux;
  const ViewDim& chosen = dims[indexed];
  int inner = rank;  // dims from here on are one run of memory
  int64_t run = 1;
  for (; kPer == IndexPer::position && inner - 1 > indexed; --inner) {
    if (dims[inner - 1].stride != run * int64_t{sizeof(T)}) break;
    run *= dims[inner - 1].extent;
  }
  int64_t rows = 1;
  for (int d = 0; d < inner; ++d) rows *= dims[d].extent;
  auto* dst = reinterpret_cast<T*>(args.dst);
  int64_t coord[kMaxRank] = {};
  for (int64_t row = 0; row < rows; ++row, dst += run) {
    int64_t index = indices[kPer == IndexPer::position ? coord[indexed] : row];
    if (index < 0) index += args.n;
    if (index < 0 || index >= args.n) {
      *args.fault = Fault::index_out_of_range;
      return;
    }
    int64_t offset = index * chosen.stride;
    for (int d = 0; d < inner; ++d) {
      if (d != indexed) offset += coord[d] * dims[d].stride;
    }
    std::memcpy(static_cast<void*>(dst), args.src[0] + offset,
                static_cast<size_t>(run) * sizeof(T));
    for (int d = inner; d-- > 0;) {
      if (++coord[d] != dims[d].extent) break;
      coord[d] = 0;
    }
  }
}

template <typename T>
struct PlainMatrix {
  PlainMatrix(const Operand& operand, int64_t columns, std::byte* begin)
      : data(begin), strides(matrix_strides(operand, columns, sizeof(T))) {}
  PlainMatrix(const TileArgs& args, int operand, std::byte* begin)
      : PlainMatrix(args.insn->operands()[operand],
                    matrix_size(operand, {args.m, args.size, args.n}).columns, begin) {
    if (operand != 2 || !args.insn->has_windows()) return;
    windows = &args.insn->windows();
    first_column = args.first_column;
  }
  T& operator()(int64_t row, int64_t column) const {
    if (windows != nullptr) return in_window(row, column);
    return *reinterpret_cast<T*>(data + row * strides.row + column * strides.column);
  }
  T& in_window(int64_t row, int64_t column) const {
    static T zero{};
    const auto offset = window_offset(*windows, row, first_column + column);
    return offset ? *reinterpret_cast<T*>(data + *offset) : zero;
  }
  std::byte* data;
  MatrixStrides strides;
  const WindowWords* windows = nullptr;
  int64_t first_column = 0;
};

// Products of matrices, element by element and in the order of k.
template <DType D>
void plain_matmul(const TileArgs& args) noexcept {
  using T = core::Storage<D>;
  core::dispatch(MatrixAux::of(D, args.aux).source, [&]<DType From>() {
    if constexpr (core::adds_products(D, From)) {
      namespace scalar = core::scalar;
      using F = core::Storage<From>;
      const PlainMatrix<T> d(args, 0, args.dst);
      const PlainMatrix<F> a(args, 1, const_cast<std::byte*>(args.src[0]));
      const PlainMatrix<F> b(args, 2, const_cast<std::byte*>(args.src[1]));
      for (int64_t m = 0; m < args.m; ++m) {
        for (int64_t n = 0; n < args.n; ++n) {
          T& sum = d(m, n);
          for (int64_t k = 0; k < args.size; ++k) {
            const T product = scalar::mul{}(scalar::cast<T>(a(m, k)), scalar::cast<T>(b(k, n)));
            sum = k == 0 && !args.adds ? product : scalar::add{}(sum, product);
          }
        }
      }
    }
  });
}

}  // namespace dvm::vm
