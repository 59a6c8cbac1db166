// Which lines of global memory the second cache of the chip holds: first in, first out.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "vm/target/core_timing.h"

namespace dvm::sim {

class SecondCache {
 public:
  explicit SecondCache(const vm::CoreTiming& timing)
      : line_(static_cast<int64_t>(timing.line_bytes)),
        size_(static_cast<int64_t>(timing.l2_size)) {}

  // Brings the lines of some bytes of a buffer in; how many of them were not there.
  int64_t touch(int64_t buffer, int64_t begin, int64_t bytes);
  int64_t line_bytes() const { return line_; }
  // Lines that the bytes lie in.
  int64_t lines(int64_t begin, int64_t bytes) const {
    return bytes == 0 ? 0 : line_of(begin + bytes - 1) - line_of(begin) + 1;
  }

 private:
  // Towards lower addresses below 0, too: views go backwards.
  int64_t line_of(int64_t byte) const {
    return byte >= 0 ? byte / line_ : -((-byte + line_ - 1) / line_);
  }
  struct Buffer {
    int64_t first = 0;  // line
    // Of each line: the bytes that had been brought in before it; -1: never.
    std::vector<int64_t> brought;
  };
  int64_t line_, size_;
  int64_t brought_ = 0;
  std::map<int64_t, Buffer> buffers_;
};

}  // namespace dvm::sim
