// A Contraction: a product of matrices with the sizes and strides of one call.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vm/tile/bind.h"

namespace dvm::vm {

// Of one dim: its size, and the bytes from one element to the next in each operand, 0 where that
// does not move.
struct ContractionDim {
  int64_t size = 1;
  int64_t a = 0, b = 0, result = 0;
  DimMask of = 0;  // the Region's dims that it is made of; nothing of k
};

struct Contraction {
  int16_t a = 0, b = 0, result = 0;  // operands of the Program
  int global_count = 0;
  DType dtype = DType::f32, source = DType::f32;  // of the result, of both factors
  core::Precision precision = core::Precision::highest;
  // Batches, outermost first, each of more than one matrix. What `b` does not move along is rows of
  // `a` instead, if it lies so.
  int batch_rank = 0;
  ContractionDim batch[kMaxRank] = {};
  ContractionDim m = {}, n = {}, k = {};
  // Where the columns of b are windows, which no stride leads from one to the next of: `n.b` and
  // `k.b` are 0.
  std::optional<WindowWords> windows = {};
  int64_t packed_column = 0;  // bytes of a column of b, where it is packed and `n.b` is no stride
  // Bytes of the result, or of rows of a, where those of every tile lie in the same place; 0: in
  // memory, each in its own.
  int64_t handed = 0, made = 0;

  int64_t batches() const;
  // Of its Programs, every operand: used or not, a caller passes them all.
  std::vector<Global> globals() const;
  // Leaves each tile of m by n elements to followers (vm/target/launch.h), dense.
  void hand_over(int64_t tile_m, int64_t tile_n);
  // Has the rows of a made for each tile, of so many rows and all columns.
  void make_rows(int64_t tile_m);
  bool is_empty() const { return m.size == 0 || n.size == 0; }  // or has no batches: m is 0 then
};

// The product of a Kernel that has one.
Contraction bind_product(const Kernel& kernel, const Binding& binding);

}  // namespace dvm::vm
