// Programs encoded lately, found again by all that encode() depends on: the Kernel, the target, the
// sizes, strides and scalars of a call. Most calls have the shapes of the one before, and comparing
// some words takes a tenth of encoding a small Region anew.
//
// The memory is a log: what is encoded goes behind what was, and when there may be no room for
// another Region the log starts over, empty. No heap, nothing to evict.
#pragma once

#include <array>
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
  bool starts_over() { return arena_.rest().size() < kHalf; }
  // encode() in any case, for those who ask how long its phases take.
  Encoded& encode_anew(const Kernel& kernel, const Binding& binding, const TargetTraits& target,
                       PhaseTimes& times);

 private:
  struct Entry {
    std::span<const uint64_t> key;
    Encoded encoded;
  };
  // Dims, scalars and strides, at most; the Programs of a Region have what is left of a half.
  static constexpr size_t kKeyWords = 1024, kHalf = size_t{1} << 14;

  void make_room();

  uint64_t stamps_ = 0;
  Arena arena_{2 * kHalf};
  // Each where the hash of its key says, made when that is met first: pages of what few programs
  // need were much of a first call.
  std::array<std::unique_ptr<Entry>, 128> entries_;
  Encoded unkept_;
};

}  // namespace dvm::vm
