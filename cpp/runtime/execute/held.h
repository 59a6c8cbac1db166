// Programs of a call that do not have to run yet, so that a target gets them as one list: those of
// Regions that wait for nothing of each other run side by side. What waits for what is told by the
// bytes that they touch, whoever owns these.
//
// Memory that dies while Programs are held dies with them: handed out again before, it would make
// strangers wait for each other, and the links of a list of free blocks would lie in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/host.h"
#include "runtime/memory/temporaries.h"
#include "vm/target/target.h"
#include "vm/tile/bind.h"

namespace dvm::runtime {

// Nanoseconds: of less work than the first it does not pay to be held; of more than the second,
// other threads of the host should go on meanwhile.
inline constexpr int64_t kLeastHeldWork = 2000, kLongWork = 20480;

class Held {
 public:
  bool empty() const { return launch_count_ == 0; }
  bool is_full() const { return launch_count_ == vm::kMaxLaunches; }
  // Whether memory may be let go of behind the Programs: so many blocks, so many bytes in all.
  bool has_room(int blocks, int64_t bytes) const {
    return block_count_ + blocks <= kMostBlocks && bytes_ + bytes <= kMostBytes;
  }

  // What it waits for is found here, and its globals are copied.
  void add(vm::Launch launch, int64_t work);
  std::span<const vm::Launch> launches() const {
    return {launches_, static_cast<size_t>(launch_count_)};
  }
  int64_t work() const { return work_; }

  // Memory to give back when the Programs have run.
  void keep(std::byte* block, int64_t bytes) { keep({block, nullptr, bytes}); }
  void keep(HostValue owner, int64_t bytes) { keep({nullptr, owner, bytes}); }
  // The Programs have run, or never will.
  void let_go(BlockCache& blocks, HostCalls& host) {
    if (!empty()) let_go_of_all(blocks, host);
  }

 private:
  static constexpr int kMostGlobals = vm::kMaxGlobals + vm::kMaxWorkspaces;
  static constexpr int kMostBlocks = 64;
  static constexpr int64_t kMostBytes = 1 << 20;  // of a cache that the next Programs want, too

  struct Block {
    std::byte* data;  // of a BlockCache; null where it is the host's
    HostValue owner;
    int64_t bytes;
  };
  void let_go_of_all(BlockCache& blocks, HostCalls& host);
  void keep(const Block& block) {
    blocks_[block_count_++] = block;
    bytes_ += block.bytes;
  }

  int launch_count_ = 0, block_count_ = 0;
  int64_t work_ = 0, bytes_ = 0;
  vm::Launch launches_[vm::kMaxLaunches];
  std::byte* globals_[vm::kMaxLaunches][kMostGlobals] = {};
  Block blocks_[kMostBlocks] = {};
};

}  // namespace dvm::runtime
