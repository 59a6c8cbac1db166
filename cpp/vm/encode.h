// Kernel + sizes and strides of one call -> Programs. Runs on every call: no heap, no locks.
//
//   bind    concrete sizes; size-1 dims dropped, contiguous dims merged          (bind.cpp)
//   tile    Algorithm 1 of the DVM paper as DESIGN section 3 refines it          (tiler.cpp)
//   encode  slots by liveness, flags, instructions into the arena                (encode.cpp)
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "vm/kernel.h"
#include "vm/program.h"
#include "vm/target.h"

namespace dvm::vm {

// Memory of one call's Programs: a bump pointer over a fixed block, reused by the next call.
class Arena {
 public:
  explicit Arena(size_t words = size_t{1} << 14)
      : words_(std::make_unique<uint64_t[]>(words)), capacity_(words) {}
  void reset() { used_ = 0; }
  std::span<uint64_t> take(size_t words);  // throws UnsupportedError when full

 private:
  std::unique_ptr<uint64_t[]> words_;
  size_t capacity_, used_ = 0;
};

struct Binding {
  const int64_t* dims;    // values of Kernel::dims
  const Scalar* scalars;  // Python numbers, by KernelScalar::index
  // Strides in bytes per dimension of the Region (right-aligned; ignored where the size is 1),
  // inputs first, then outputs.
  const int64_t (*strides)[kMaxRank];
};

// A Region usually is one Program. A reduction longer than a tile becomes several: the first writes
// one partial per chunk, the others reduce partials (core/sum_order.h), through two workspaces.
inline constexpr int kMaxStages = 5;
struct Compiled {
  Program stages[kMaxStages];
  int stage_count = 0;  // 0: an empty iteration space and nothing to write
  int64_t workspace_bytes[2] = {0, 0};
};
// Globals of every stage: inputs, outputs, workspace 0, workspace 1.
Compiled encode(const Kernel& kernel, const Binding& binding, const TargetTraits& target,
                Arena& arena);

}  // namespace dvm::vm
