// An Attention: the op of that name with the sizes and strides of one call.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/tile/bind.h"

namespace dvm::vm {

// Of one dim: its size, and the bytes from one element to the next in each operand of a
// KernelAttention, 0 where that does not move.
struct AttentionDim {
  int64_t size = 1;
  int64_t strides[KernelAttention::kOperands] = {};
};

struct Attention {
  int16_t operand[KernelAttention::kOperands] = {};  // of the Program; -1: there is no mask
  int global_count = 0;
  DType dtype = DType::f32, mask = DType::f32;
  // Outermost first, each of more than one: what is left of batches and heads, a group of heads of
  // q that share one of k being a dim of its own.
  int batch_rank = 0;
  AttentionDim batch[kMaxRank] = {};
  // Rows of q, rows of k, elements of both, and columns of v.
  AttentionDim rows = {}, keys = {}, depth = {}, columns = {};
  double scale = 1, fill = 0;
  bool causal = false;
  int64_t last = 0;  // of causal ones: row i of q sees rows of k up to i + last

  bool is_masked() const { return operand[KernelAttention::kMask] >= 0; }
  bool is_empty() const { return rows.size == 0 || columns.size == 0; }  // or has no batches
};

// The attention of a Kernel that has one.
Attention bind_attention(const Kernel& kernel, const Binding& binding);

}  // namespace dvm::vm
