// Programs encoded lately, found again by all that encode() depends on: the Kernel, the target, the
// sizes, strides and scalars of a call. Most calls have the shapes of the one before, and the turns
// of a loop those of the same turns the last time; comparing some words takes a tenth of encoding a
// small Region anew.
//
// The memory is a log: what is encoded goes behind what was, and when there may be no room for
// another Region the log starts over, empty. Entries are found in sets, by a hash: a model has
// hundreds of Regions, and with one place per hash some pair would evict each other on every call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/ops/fp_flags.h"
#include "vm/encode/encode.h"

namespace dvm::vm {

class Memo {
 public:
  static constexpr int64_t kUntold = -1;
  struct Encoded {
    Compiled compiled;
    core::FpFlags raised = 0;  // by casts of the call's scalars
    uint64_t stamp = 0;        // no other encoding ever has it; 0: none is here
    int64_t work = kUntold;    // of its Programs (Target::work), for whoever runs them to note here
  };

  // encode() of these, or what an equal call was given. The place stays; it holds this encoding as
  // long as it has its stamp.
  Encoded& encode(const Kernel& kernel, const Binding& binding, const TargetTraits& target);
  // Whether the next encoding may lie where earlier ones do.
  bool starts_over() { return arena_.rest().size() < region_words_; }
  // How often encodings were given up so far: none was as long as this is the same.
  uint64_t losses() const { return losses_; }
  // encode() in any case, for those who ask how long its phases take.
  Encoded& encode_anew(const Kernel& kernel, const Binding& binding, const TargetTraits& target,
                       PhaseTimes& times);

 private:
  struct Entry {
    std::span<const uint64_t> key;
    Encoded encoded;
  };
  struct Place {
    uint64_t hash = 0;
    Entry* entry = nullptr;
  };
  static constexpr size_t kSets = 256, kWays = 8;
  using Set = std::array<Place, kWays>;  // the last one encoded in front
  // Dims, scalars and strides, at most; with the Programs of nearly any Region; all that is kept.
  static constexpr size_t kKeyWords = 1024, kRegionWords = size_t{1} << 14;
  static constexpr size_t kWords = size_t{1} << 17;

  void make_room();
  void encode_into(Encoded& encoded, const Kernel& kernel, const Binding& binding,
                   const TargetTraits& target, PhaseTimes* times);
  Entry* next_entry();

  uint64_t stamps_ = 0, losses_ = 0;
  Arena arena_{kWords};
  size_t region_words_ = kRegionWords;  // the most that a Region has had, if more
  std::array<Set, kSets> sets_;
  // Room for the entries of all places. Each is made when it is met first: pages of what few
  // programs need were much of a first call.
  std::unique_ptr<std::byte[]> room_ =
      std::make_unique_for_overwrite<std::byte[]>(kSets * kWays * sizeof(Entry));
  size_t made_ = 0;
  Encoded unkept_;
};

}  // namespace dvm::vm
