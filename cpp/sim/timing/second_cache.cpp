#include "sim/timing/second_cache.h"

namespace dvm::sim {

int64_t SecondCache::touch(int64_t buffer, int64_t begin, int64_t bytes) {
  if (bytes == 0) return 0;
  const int64_t first = line_of(begin), last = line_of(begin + bytes - 1);
  Buffer& lines = buffers_[buffer];
  if (lines.brought.empty()) lines.first = first;
  if (first < lines.first) {
    lines.brought.insert(lines.brought.begin(), static_cast<size_t>(lines.first - first), -1);
    lines.first = first;
  }
  const auto end = static_cast<size_t>(last - lines.first + 1);
  if (end > lines.brought.size()) lines.brought.resize(end, -1);
  int64_t missing = 0;
  for (int64_t line = first; line <= last; ++line) {
    int64_t& brought = lines.brought[static_cast<size_t>(line - lines.first)];
    if (brought >= 0 && brought_ - brought < size_) continue;
    brought = brought_;
    brought_ += line_;
    ++missing;
  }
  return missing;
}

}  // namespace dvm::sim
