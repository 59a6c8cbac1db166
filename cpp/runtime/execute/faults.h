// Faults that tests ask for: the n-th allocation or step of the replays to come fails once.
#pragma once

#include <atomic>
#include <cstdint>

namespace dvm::runtime {

// How many more succeed before one fails; below 0: none fails, as in every program.
inline std::atomic<int64_t> g_until_fault{-1};

// Whether the allocation or step at hand is to fail.
inline bool is_faulty() {
  if (g_until_fault.load(std::memory_order_relaxed) < 0) [[likely]]
    return false;
  return g_until_fault.fetch_sub(1, std::memory_order_relaxed) == 0;
}

}  // namespace dvm::runtime
