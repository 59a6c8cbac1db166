// What an ExecutionContext holds between calls. Everything grows to what the largest Plan needed
// and is never shrunk, so that a Plan met before finds its memory ready.
#pragma once

#include <vector>

#include "runtime/execute/executor.h"
#include "runtime/execute/held.h"
#include "runtime/execute/recall.h"
#include "runtime/memory/temporaries.h"
#include "vm/encode/memo.h"

namespace dvm::runtime {

// Who must let go of a buffer's memory when its register dies.
struct Ownership {
  enum class Kind : uint8_t { borrowed, host, temporary };
  Kind kind = Kind::borrowed;  // borrowed: an argument, or a view of another register
  int64_t bytes = 0;           // temporary: as taken from the cache
};

struct ExecutionContext::State {
  std::vector<int64_t> sizes;              // register file i
  std::vector<BufferView> buffers;         // register file b
  std::vector<Ownership> ownership;        // of each register of b
  std::vector<BufferView> call_arguments;  // of one host call
  int64_t strides[vm::kMaxGlobals][core::kMaxRank] = {};
  core::Scalar scalars[vm::kMaxValues];  // of one Region
  std::byte* globals[vm::kMaxGlobals + vm::kMaxWorkspaces] = {};
  vm::Memo memo;
  Held held;
  BlockCache blocks;
  Recalls recalls;

  void prepare(const Plan& plan);
};

}  // namespace dvm::runtime
