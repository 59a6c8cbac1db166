// What a call of a Plan came to, for later calls of the same sizes, strides and scalars: memory to
// allocate, Programs to run on it, results. All else that a Plan does, to compute sizes and to
// check them, depends on those alone and has the same outcome again.
//
// A record is small and a table of them has a fixed size: Plans that do more than this, or that the
// host takes part in, are run as they are written.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "runtime/host.h"
#include "runtime/plan/plan.h"
#include "vm/encode/memo.h"
#include "vm/target/target.h"

namespace dvm::runtime {

class FrozenMemory;

// All that the outcome depends on, in words.
class RecallKey {
 public:
  RecallKey(const Plan& plan, const vm::Target& target, const FrozenMemory& frozen,
            std::span<const BufferView> inputs, std::span<const core::Scalar> scalars);
  // Whether it has room, and the Plan a Region to be known by.
  bool fits() const { return fits_; }
  std::span<const uint64_t> words() const { return {words_, size_}; }
  size_t hash() const { return static_cast<size_t>(hash_ >> 32); }

 private:
  static constexpr size_t kMost = 40;

  void add(uint64_t word) {
    words_[size_++] = word;
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15u;
  }

  uint64_t words_[kMost];
  size_t size_ = 0;
  uint64_t hash_ = 0;
  bool fits_ = false;

  friend struct Recalled;  // which has as many words
};

struct Recalled {
  static constexpr int kMaxAllocated = 4, kMaxRuns = 2, kMaxGlobals = 8, kMaxResults = 4;

  // In an input, a constant, or one of the allocated buffers, which count on from these.
  struct Place {
    int root;
    int64_t offset;
  };
  struct Encoding {
    vm::Memo::Encoded* encoded;
    uint64_t stamp;  // the Encoded's, as long as it is the same
  };
  struct Run {
    Encoding encoding;
    int global_count;
    Place globals[kMaxGlobals];
  };
  struct Result {
    Place place;
    BufferView view;  // but for its data and owner
  };

  uint64_t words[RecallKey::kMost];
  size_t size = 0;  // 0: no record
  int allocated_count = 0, run_count = 0, result_count = 0;
  BufferView allocated[kMaxAllocated];  // dtype, rank and shape
  Run runs[kMaxRuns];
  Result results[kMaxResults];
};

class Recalls {
 public:
  // The record of an equal call, or null.
  const Recalled* find(const RecallKey& key) const;
  // Keeps the run that has just ended, by what the registers hold, if the Plan may have a record.
  void record(const RecallKey& key, const Plan& plan, std::span<const BufferView> buffers,
              std::span<const Recalled::Encoding> encoded);

 private:
  // Each where the hash of its key says, made when that is met first.
  std::array<std::unique_ptr<Recalled>, 32> entries_;
};

}  // namespace dvm::runtime
