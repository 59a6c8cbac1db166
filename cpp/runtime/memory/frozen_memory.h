// Memory that nobody writes to any more, as those who hand it over promise: the right matrices of
// products that lie in it are packed once, for all calls, as each comes up.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>

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
  class Factor;

  // What is registered is apart from all else that is, and stays as it is until it is removed.
  void add(const std::byte* begin, int64_t bytes);
  // With what was packed of it; no call that reads it runs.
  void remove(const std::byte* begin);

  bool is_empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // Which of these tensors, those of fewer than two dims aside, lie in frozen memory: bit k of 64.
  uint64_t which(std::span<const BufferView> tensors) const;
  // The matrix that a tensor is, if all of the tensor lies in frozen memory and the matrix has a
  // packed copy, or may have: copies of the matrices of a range take kMostCopies times its memory
  // at most, for views of it may be without number.
  Factor find(const BufferView& tensor, const vm::RightMatrix& matrix, const vm::Target& target);
  // The packed copy of a matrix that was found, made where there is none; null where there is no
  // memory for one. Others go on meanwhile, but for those that want the same copy.
  const std::byte* packed(const Factor& factor, const vm::Target& target);
  FrozenStats stats() const;

 private:
  static constexpr int64_t kMostCopies = 4;
  struct Free {
    void operator()(std::byte* block) const;
  };
  struct Packed {
    explicit Packed(const vm::RightMatrix& of) : matrix(of) {}
    const vm::RightMatrix matrix;
    std::mutex packing;
    std::unique_ptr<std::byte, Free> data;  // by who has `packing`
    std::atomic<const std::byte*> ready{nullptr};
  };
  struct Range {
    int64_t bytes = 0;
    int64_t packed_bytes = 0;       // that copies take, or will
    std::list<Packed> copies = {};  // which stay where they are
  };
  const Range* range_of(const BufferView& tensor) const;
  Packed* copy_of(Range& range, const vm::RightMatrix& matrix) const;

  mutable std::mutex mutex_;
  std::map<const std::byte*, Range> ranges_;  // by begin
  std::atomic<size_t> count_{0};              // of them, for those who do not lock
};

// A matrix in frozen memory, for the call that found it; nothing if it is none.
class FrozenMemory::Factor {
 public:
  Factor() = default;
  explicit operator bool() const { return range_ != nullptr; }
  const vm::RightMatrix& matrix() const { return matrix_; }

 private:
  friend class FrozenMemory;
  Factor(Range* range, Packed* copy, const vm::RightMatrix& matrix)
      : range_(range), copy_(copy), matrix_(matrix) {}

  Range* range_ = nullptr;
  Packed* copy_ = nullptr;  // if there was one
  vm::RightMatrix matrix_{};
};

// That of the process.
FrozenMemory& frozen_memory();

}  // namespace dvm::runtime
