// What an ExecutionContext holds between calls. Everything grows to what the largest Plan needed
// and is never shrunk, so that a Plan met before finds its memory ready.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/execute/executor.h"
#include "runtime/execute/held.h"
#include "runtime/execute/recall.h"
#include "runtime/execute/trips.h"
#include "runtime/memory/temporaries.h"
#include "vm/encode/memo.h"

namespace dvm::runtime {

// Who must let go of a buffer's memory when its register dies.
struct Ownership {
  enum class Kind : uint8_t { borrowed, host, temporary };
  Kind kind = Kind::borrowed;  // borrowed: an argument, or a view of another register
  int64_t bytes = 0;           // temporary: as taken from the cache
};

// What goes on when a function or body ends: where its caller stands.
struct Frame {
  const Plan* plan = nullptr;
  size_t next = 0;                // the instruction to go on with
  size_t sizes = 0, buffers = 0;  // its registers begin there
  size_t numbers = 0;             // its scalar arguments, that an instruction gave it
  size_t defined = 0;
};

struct ExecutionContext::State {
  // The registers of all Plans in flight, those of the innermost last; a register's number counts
  // from where they begin.
  std::vector<int64_t> sizes;           // register file i
  std::vector<BufferView> buffers;      // register file b
  std::vector<Ownership> ownership;     // of each register of b
  std::span<const core::Scalar> given;  // scalar arguments of the outermost Plan
  std::vector<core::Scalar> numbers;    // of functions and bodies
  std::vector<Frame> callers;           // of the innermost Plan, the outermost first
  Frame frame;              // of the innermost: its `defined` registers of b hold something
  int32_t stopped_at = -1;  // the instruction that ended the last call early
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
  bool moves_with_trip = false;  // the Plan is a loop's body, in the way of TripUse::moves
  std::unordered_map<uint64_t, TripUse> trip_uses;  // of bodies, by their first Kernel
  // Of a recorded call: what places lie in, and copies of matrices.
  struct Root {
    std::byte* data;
    HostValue owner;
  };
  std::vector<Root> roots;
  std::vector<std::byte*> packed;

  // For a Plan, the outermost, and its scalar arguments.
  void prepare(const Plan& plan, std::span<const core::Scalar> arguments);
  // Makes a Plan the innermost, with registers of its own and none of them defined.
  void enter(const Plan& plan);
  void leave();
  void reserve(const Plan& plan);  // registers for it, where the frame begins
  // What a deep recursion has taken is given back; no register may be defined.
  void shrink() {
    if (buffers.size() <= kMostKept) return;
    sizes = std::vector<int64_t>();
    buffers = std::vector<BufferView>();
    ownership = std::vector<Ownership>();
    numbers = std::vector<core::Scalar>();
    callers = std::vector<Frame>();
    stopped_at = -1;
  }
  static constexpr size_t kMostKept = 1 << 16;

  int64_t& size(int32_t i) { return sizes[frame.sizes + static_cast<size_t>(i)]; }
  BufferView& buffer(int32_t b) { return buffers[frame.buffers + static_cast<size_t>(b)]; }
  Ownership& owned(int32_t b) { return ownership[frame.buffers + static_cast<size_t>(b)]; }
  // A scalar argument of the innermost Plan.
  const core::Scalar& scalar_argument(int32_t s) const {
    const auto index = static_cast<size_t>(s);
    return callers.empty() ? given[index] : numbers[frame.numbers + index];
  }
  void own(int32_t b, Ownership how) {
    owned(b) = how;
    frame.defined = static_cast<size_t>(b) + 1;
  }
  BufferView& define(int32_t b, const BufferView& view, Ownership how) {
    own(b, how);
    return buffer(b) = view;
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
