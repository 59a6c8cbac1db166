#include "cpu/reduce/shared_search.h"

#include <algorithm>
#include <atomic>

#include "cpu/team/thread_team.h"
#include "vm/target/cost.h"

namespace dvm::cpu {

namespace {

constexpr int64_t kPieceBytes = 16384;

struct Search {
  const std::byte* row;
  int64_t count, element_bytes;
  bool (*found)(const std::byte* row, int64_t count);
  std::atomic<bool> done{false};
};

void search_pieces(void* context, int64_t begin, int64_t end) noexcept {
  auto& search = *static_cast<Search*>(context);
  const int64_t piece = kPieceBytes / search.element_bytes;
  for (int64_t i = begin; i < end && !search.done.load(std::memory_order_relaxed); ++i) {
    // The last one overlaps the one before.
    const int64_t at = std::min(i * piece, search.count - piece);
    if (search.found(search.row + at * search.element_bytes, piece)) {
      search.done.store(true, std::memory_order_relaxed);
    }
  }
}

double bytes_ns(double bytes) {
  const vm::CostTable& cost = vm::cost_table();
  const auto row = static_cast<size_t>(vm::CostClass::reduce);
  return bytes * (bytes < cost.far_bytes ? cost.element_ns[row][0] : cost.far_ns);
}

}  // namespace

bool shared_search(const std::byte* row, int64_t count, int64_t element_bytes,
                   bool (*found)(const std::byte* row, int64_t count)) {
  ThreadTeam& team = thread_team();
  const int64_t bytes = count * element_bytes;
  const int64_t pieces = (bytes + kPieceBytes - 1) / kPieceBytes;
  const double piece_ns = bytes_ns(static_cast<double>(bytes)) / static_cast<double>(pieces);
  const int64_t chunk = team.chunk_of(pieces, piece_ns);
  // The calling thread looks into the first piece before it calls the others.
  const int64_t first = kPieceBytes / element_bytes;
  if (chunk >= pieces) return found(row, count);
  if (found(row, first)) return true;
  Search search{row + kPieceBytes, count - first, element_bytes, found};
  team.run(pieces - 1, chunk, search_pieces, &search);
  return search.done.load(std::memory_order_relaxed);
}

}  // namespace dvm::cpu
