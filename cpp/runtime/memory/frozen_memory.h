// Memory that nobody writes to any more, as those who hand it over promise: the right matrices of
// products that lie in it are packed once, for all calls, as each comes up.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/host.h"
#include "vm/target/target.h"

namespace dvm::runtime {

struct FrozenStats {
  int64_t frozen_bytes = 0;  // that are registered
  int64_t packed_bytes = 0;  // of copies made of matrices in them
};

// Thread-safe.
class FrozenMemory {
 public:
  // What is registered is apart from all else that is, and stays as it is until it is removed.
  void add(const std::byte* begin, int64_t bytes);
  // With what was packed of it; no call that reads it runs.
  void remove(const std::byte* begin);

  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // Whether all of a tensor that has elements lies in frozen memory.
  bool holds(const BufferView& tensor) const;
  // Whether a matrix that `holds` is true of has a packed copy, or may: copies of the matrices of a
  // range take kMostCopies times its memory at most, for views of it may be without number.
  bool admits(const vm::RightMatrix& matrix, const vm::Target& target) const;
  // The packed copy of a matrix that is admitted; null where there is no memory for one.
  const std::byte* packed(const vm::RightMatrix& matrix, const vm::Target& target);
  FrozenStats stats() const;

 private:
  static constexpr int64_t kMostCopies = 4;
  struct Free {
    void operator()(std::byte* block) const;
  };
  struct Packed {
    vm::RightMatrix matrix;
    std::unique_ptr<std::byte, Free> data;
    int64_t bytes;
  };
  struct Range {
    int64_t bytes;
    std::vector<Packed> copies;
    int64_t packed_bytes = 0;
  };

  mutable std::mutex mutex_;
  std::map<const std::byte*, Range> ranges_;  // by begin
  std::atomic<size_t> count_{0};              // of them, for those who do not lock
};

// That of the process.
FrozenMemory& frozen_memory();

}  // namespace dvm::runtime
