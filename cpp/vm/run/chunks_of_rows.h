// A reduction of rows that lie apart, in chunks (reduces_chunks() in vm/isa/reduce_source.h), as
// reductions of chunks that are one run of memory, which every kernel knows. Chunks that begin in
// one row and end in another are copied together; they are no more than one in each row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/ops/sum_order.h"
#include "vm/run/tile_kernel.h"

namespace dvm::vm {

// Calls run(args) for runs of chunks. `bytes`: of an element of the source.
template <typename Run>
void reduce_chunks_of_rows(const TileArgs& args, int64_t bytes, int64_t result_bytes, Run run) {
  constexpr int64_t kChunk = core::kSumChunk;
  alignas(64) std::byte room[kChunk * sizeof(uint64_t)];
  const std::byte* row = args.src[0];
  int64_t column = 0, left = args.size * args.n;
  const auto skip = [&](int64_t count) {
    column += count;
    if (column < args.n) return;
    column = 0;
    row += *args.row_stride;
  };
  TileArgs part = args;
  part.n = 1;
  part.row_stride = std::nullopt;
  for (; left > 0; left -= part.m * part.size, part.dst += part.m * result_bytes) {
    const int64_t in_row = std::min(args.n - column, left);
    part.size = std::min(kChunk, left);
    part.m = std::max<int64_t>(1, in_row / kChunk);
    part.src[0] = row + column * bytes;
    if (in_row >= part.size) {
      skip(part.m * part.size);
    } else {
      part.src[0] = room;
      for (int64_t filled = 0; filled < part.size;) {
        const int64_t count = std::min(args.n - column, part.size - filled);
        std::memcpy(room + filled * bytes, row + column * bytes,
                    static_cast<size_t>(count * bytes));
        filled += count;
        skip(count);
      }
    }
    run(part);
  }
}

}  // namespace dvm::vm
