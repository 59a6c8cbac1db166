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
  std::vector<int64_t> sizes;           // register file i
  std::vector<BufferView> buffers;      // register file b
  std::vector<Ownership> ownership;     // of each register of b
  int32_t defined = 0;                  // registers of b below it hold something
  int32_t stopped_at = -1;              // the instruction that ended the last call early
  std::vector<BufferView> call_arrays;  // of one host call, as the next three
  std::vector<BufferView> call_results;
  std::vector<int64_t> call_sizes;
  std::vector<HostNumber> call_numbers;
  int64_t strides[vm::kMaxGlobals][core::kMaxRank] = {};
  core::Scalar scalars[vm::kMaxValues];  // of one Region
  std::byte* globals[vm::kMaxGlobals + vm::kMaxWorkspaces] = {};
  vm::Memo memo;
  Held held;
  BlockCache blocks;
  Arena arena;
  Recalls recalls;
  std::vector<uint64_t> key_words;  // of the call's key
  RunNotes notes;
  // Of a recorded call: what places lie in, and copies of matrices.
  struct Root {
    std::byte* data;
    HostValue owner;
  };
  std::vector<Root> roots;
  std::vector<std::byte*> packed;

  void prepare(const Plan& plan);

  void own(int32_t b, Ownership owned) {
    ownership[static_cast<size_t>(b)] = owned;
    defined = b + 1;
  }
  BufferView& define(int32_t b, const BufferView& view, Ownership owned) {
    own(b, owned);
    return buffers[static_cast<size_t>(b)] = view;
  }
  // A block that nobody needs any more, or only the Programs that are held.
  void give(std::byte* block, int64_t bytes) {
    if (held.empty()) {
      blocks.give(block, bytes);
    } else {
      held.keep(block, bytes);
    }
  }
};

}  // namespace dvm::runtime
