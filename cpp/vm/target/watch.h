// Who wants to see what a call does (dvm.profile) sets a Watch for its thread; the runtime and the
// targets tell it, with a clock. Without one on any thread they look at a counter, and read no
// clock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "vm/target/launch.h"
#include "vm/tile/kernel.h"

namespace dvm::vm {

class Watch {
 public:
  enum class What : uint8_t {
    plan,    // a Plan, from its first instruction to its last
    step,    // of it: an instruction that computes, or calls the host
    encode,  // of a step: making its Programs, or finding them again
    launch,  // a list of Programs, until the caller may go on
    tiles,   // of a launch, by one thread
    opaque,  // a call of a function that dvm does not know, between Plans
  };
  struct Span {
    What what;
    int32_t label;  // index of its step in steps(); -1: none
    int32_t thread;
    int64_t begin, end;  // nanoseconds of a steady clock
    int64_t tiles;
  };
  // An instruction of a Plan that was run; if it is a Region, which one and, of a Watch that keeps
  // them, with which sizes, scalars and strides.
  struct Step {
    const void* plan;
    int32_t instruction, region = -1;
    std::vector<int64_t> dims;
    std::vector<core::Scalar> scalars;
    std::vector<std::array<int64_t, core::kMaxRank>> strides;
  };
  // A launch (launch_words.h) that was run, and the memory of its operands: equal numbers are the
  // same memory.
  struct Ran {
    int32_t label;
    std::vector<uint64_t> words;
    std::vector<int64_t> buffers;
  };

  // `keeps`: copies the Programs and sizes, too. Spans beyond `room` are counted, not kept.
  Watch(bool keeps, size_t room) : keeps_(keeps), spans_(room) {}

  // Of this thread; null: nobody watches.
  static Watch* current() {
    return watched_threads.load(std::memory_order_relaxed) == 0 ? nullptr : of_thread();
  }
  static void set(Watch* watch);
  static int64_t now();

  // By the thread that makes the call.
  void begin_step(const void* plan, int32_t instruction);
  void end_step() { label_ = -1; }
  int32_t label() const { return label_; }
  void is_region(int32_t region) { steps_[static_cast<size_t>(label_)].region = region; }
  template <typename Fill>
  void describe(Fill fill) {  // fill(Step&), of the present step
    if (keeps_) fill(steps_[static_cast<size_t>(label_)]);
  }
  void ran(std::span<const Launch> launches);
  // A Plan has ended, with these sizes in its registers.
  void ended(const void* plan, std::span<const int64_t> sizes) {
    if (keeps_) sizes_[plan].assign(sizes.begin(), sizes.end());
  }
  // These bytes were allocated since the last Program ran. An address alone does not tell memory
  // from memory: what is freed in a call may come back for another array, or not, as the allocator
  // likes.
  void allocated(const std::byte* begin, int64_t bytes);
  static void tell_allocated(const std::byte* begin, int64_t bytes) {
    if (Watch* const watch = current()) [[unlikely]]
      watch->allocated(begin, bytes);
  }

  // By any thread.
  void add(What what, int32_t label, int64_t begin, int64_t tiles = 0);

  // When the call has ended.
  std::span<const Span> spans() const;
  size_t lost() const;
  std::span<const Step> steps() const { return steps_; }
  std::span<const Ran> programs() const { return programs_; }
  // Registers of a Plan when it ended last; none of one that did not.
  std::span<const int64_t> sizes(const void* plan) const {
    const auto found = sizes_.find(plan);
    return found == sizes_.end() ? std::span<const int64_t>() : found->second;
  }

 private:
  static Watch* of_thread();
  static inline std::atomic<int> watched_threads{0};

  const bool keeps_;
  int32_t label_ = -1;
  std::vector<Step> steps_;
  std::vector<Ran> programs_;
  std::map<const void*, std::vector<int64_t>> sizes_;
  std::map<uintptr_t, int64_t> buffers_;  // numbers of what lies at an address now
  int64_t buffer_count_ = 0;
  std::vector<Span> spans_;
  std::atomic<size_t> used_{0};
};

}  // namespace dvm::vm
