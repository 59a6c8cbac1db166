// Who writes which elements of global memory in a launch: tiles run in no order, so that no two may
// write the same, and none may read what another one writes.
#pragma once

#include <cstdint>
#include <vector>

#include "vm/target/launch.h"

namespace dvm::sim {

class WrittenElements {
 public:
  explicit WrittenElements(const vm::Launch& launch);

  // `tile` of `program` (0: the leader, then the followers) is about to write, or to read, elements
  // from a byte of a global on. Of those that it may not, the first; else -1.
  int64_t write(size_t program, int64_t tile, size_t global, int64_t begin, int64_t count);
  int64_t read(size_t program, int64_t tile, size_t global, int64_t begin, int64_t count) const;

  // Throws SimulationError where the first or the last byte of a global was not written.
  void check_ends() const;

 private:
  static constexpr int32_t kNobody = -1;
  struct Elements {
    int64_t low = 0, high = 0, size = 1;  // bytes; of an element
    std::vector<int32_t> writer;          // tiles of all Programs, numbered one after another
    // Of what is handed over each tile has its own, which is nobody else's business.
    bool is_watched() const { return !writer.empty(); }
  };

  std::vector<int32_t> first_tile_;  // of each Program
  std::vector<Elements> globals_;
};

}  // namespace dvm::sim
