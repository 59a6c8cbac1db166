// What a call of a Plan came to, for later calls of the same sizes, strides and scalars: memory to
// allocate, Programs to run on it, results. All else that a Plan does, to compute sizes and to
// check them, depends on those alone and has the same outcome again; so have the lives of its
// temporaries, which share one block from then on.
//
// A loop's body that goes by the number of its trip only in where views begin (TripUse::moves) has
// one record for many trips: places move by so many bytes a trip, as long as what was checked
// holds.
//
// Plans that the host takes part in, and those whose sizes depend on elements, are run as they are
// written.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/host.h"
#include "runtime/memory/placement.h"
#include "runtime/plan/plan.h"
#include "vm/encode/memo.h"
#include "vm/target/target.h"

namespace dvm::runtime {

class FrozenMemory;

// All that the outcome depends on, in words.
class RecallKey {
 public:
  // In the memory of `words`, which lives as long.
  RecallKey(std::vector<uint64_t>& words, const Plan& plan, const vm::Target& target,
            const FrozenMemory& frozen, std::span<const BufferView> inputs,
            std::span<const core::Scalar> scalars);
  // Whether the Plan has a Region to be known by.
  bool fits() const { return fits_; }
  std::span<const uint64_t> words() const { return words_; }
  size_t hash() const { return static_cast<size_t>(hash_ >> 32); }

 private:
  std::span<const uint64_t> words_;
  uint64_t hash_ = 0;
  bool fits_;
};

struct Recalled {
  // In an input, a constant, the block of all temporaries, or one of the host's arrays, in this
  // order.
  struct Place {
    int32_t root;
    int64_t offset;
    int64_t per_trip = 0;
  };
  struct Encoding {
    vm::Memo::Encoded* encoded;
    uint64_t stamp;  // the Encoded's, as long as it is the same
  };
  struct View {
    Place place;
    BufferView view;  // but for its data and owner
  };
  enum class Kind : uint8_t { make, run, compute, free };
  struct Step {
    Kind kind;
    bool hands_over;       // what is held goes behind it
    int32_t instruction;   // of the Plan
    int32_t first, count;  // of a run its places, of others the views of the buffers they are given
    int32_t packed = -1;   // of a run which of these it reads, if any
    int64_t size = 0;      // the bytes that are made, the size that is stored
  };
  struct Packed {  // the right matrix of a run's product, read in its packed copy
    int32_t region;
    View matrix;
  };

  std::vector<uint64_t> words;  // none: no record
  uint64_t losses = 0;          // of the Memo, when the encodings were last seen to be there
  std::vector<Step> steps;
  std::vector<Encoding> encodings;  // of each run
  std::vector<Place> places;
  std::vector<int32_t> registers;  // of each of the views
  std::vector<View> views;
  std::vector<Packed> packed;
  std::vector<View> results;
  int64_t block_bytes = 0;  // of all temporaries
  int64_t trip = 0;         // that was recorded
  int64_t later_trips = 0;  // so many after it are as it was

  void clear();
};

// What a run that may be recorded notes of itself.
struct RunNotes {
  bool is_plain = true;  // else no record is made
  std::vector<Recalled::Encoding> encodings;
  std::vector<size_t> handed_over;  // what was held, behind so many runs

  void begin() {
    is_plain = true;
    encodings.clear();
    handed_over.clear();
  }
};

class Recalls {
 public:
  // The record of an equal call, or null. `trip`: of a body that moves with it, else 0.
  const Recalled* find(const RecallKey& key, const vm::Memo& memo, int64_t trip = 0);
  // Keeps the run that has just ended, by what the registers hold and what was noted of it, its
  // temporaries among that, if the Plan may have a record.
  void record(const RecallKey& key, const Plan& plan, std::span<const BufferView> buffers,
              std::span<const int64_t> sizes, const RunNotes& notes,
              std::span<const Temporary> temporaries, const vm::Memo& memo, int64_t trip = 0);

 private:
  // Each where the hash of its key says, made when that is met first.
  std::array<std::unique_ptr<Recalled>, 64> entries_;
};

}  // namespace dvm::runtime
