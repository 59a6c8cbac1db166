#include "runtime/execute/held.h"

#include <algorithm>

namespace dvm::runtime {

void Held::add(vm::Launch launch, int64_t work) {
  std::byte** const kept = globals_[launch_count_];
  std::ranges::copy(launch.globals, kept);
  launch.globals = {kept, launch.globals.size()};
  launch.waits_for = vm::find_waits(launches(), launch);
  launches_[launch_count_++] = launch;
  work_ += work;
}

void Held::let_go_of_all(BlockCache& blocks, HostCalls& host) {
  launch_count_ = 0;
  work_ = 0;
  for (const Block& block : std::span(blocks_, static_cast<size_t>(block_count_))) {
    if (block.data != nullptr) {
      blocks.give(block.data, block.bytes);
    } else {
      host.release(block.owner);
    }
  }
  block_count_ = 0;
  bytes_ = 0;
}

}  // namespace dvm::runtime
