// The nodes of a buffer while they are computed, all of them or some.
#pragma once

#include <vector>

#include "bindings/lazy/kernel.h"

namespace dvm::bindings::lazy {

// What a thread computed last.
struct LastFlush {
  std::shared_ptr<const Kernel> kernel;  // none: nothing yet
  std::string reason;
  std::vector<int64_t> sizes;  // of the graph's symbols
};
LastFlush& last_flush();

// Takes the nodes out of the buffer, and gives back what still waits then.
class Flight {
 public:
  explicit Flight(Buffer& buffer);
  ~Flight();
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  // All that can be computed is, as one graph, or by parts where something in it fails. False: a
  // Python error is set, that of `asked` or one that a signal raised.
  bool compute(const Array* asked);

 private:
  struct Wanted {
    Array* array;
    int32_t at;
  };

  // How it ended: all but the first with a Python error.
  enum class End : uint8_t { done, no_memory, failed, interrupted };

  Node& node_at(int32_t at) { return nodes_[static_cast<size_t>(at)]; }
  End compute_alone(const Wanted& wanted);
  End compute_taken();
  void gather();
  bool run_part();
  void give_back();

  Buffer& buffer_;
  std::vector<Node>& nodes_;
  std::vector<Wanted> wanted_;  // arrays that are pending, in the order of their nodes
};

// Lets the flight that has the array end, if one has.
void settle(Array* array);

}  // namespace dvm::bindings::lazy
