#include "cpu/reduce/reduce_columns.h"

#include <algorithm>

#include "core/ops/sum_order.h"

namespace dvm::cpu {

namespace {

void total_of(const GroupKernels& kernels, GroupKernels::Chunk chunk, const void* outputs,
              int64_t size, int vectors, GroupTotals& totals) {
  if (kernels.any_order || size <= core::kSumChunk) return chunk(outputs, 0, size, totals);
  totals = core::combine_chunks<GroupTotals>(
      size,
      [&](int64_t begin, int64_t count) {
        GroupTotals part;
        chunk(outputs, begin, count, part);
        return part;
      },
      [&](GroupTotals x, const GroupTotals& y) {
        kernels.combine(x, y, vectors);
        return x;
      });
}

void gather(const GroupKernels& kernels, const vm::TileArgs& args) {
  const int64_t bytes = kernels.element_bytes, outputs = args.m * args.n;
  const int64_t step = row_step(args, bytes);
  const std::byte* row = args.src[0];
  int64_t column = 0;
  for (int64_t begin = 0; begin < outputs; begin += kGathered) {
    const auto count = static_cast<int>(std::min<int64_t>(kGathered, outputs - begin));
    Gathered group{{}, step};
    // Those that are not there repeat the last one.
    for (int k = 0; k < kGathered; ++k) {
      group.starts[k] = row + column * bytes;
      if (k < count - 1 && ++column == args.n) {
        column = 0;
        row += args.size * step;
      }
    }
    if (++column == args.n) {
      column = 0;
      row += args.size * step;
    }
    GroupTotals totals;
    total_of(kernels, kernels.gathered, &group, args.size, kernels.gathered_vectors, totals);
    kernels.store(totals, count, args.dst + begin * bytes);
  }
}

void reduce_narrow(const GroupKernels& kernels, const vm::TileArgs& args) {
  const int64_t step = row_step(args, kernels.element_bytes);
  for (int64_t row = 0; row < args.m; ++row) {
    const NarrowColumns columns{args.src[0] + row * args.size * step, step,
                                static_cast<int>(args.n)};
    GroupTotals totals;
    total_of(kernels, kernels.narrow_columns, &columns, args.size, 1, totals);
    kernels.store(totals, columns.count, args.dst + row * args.n * kernels.element_bytes);
  }
}

}  // namespace

void reduce_columns(const GroupKernels& kernels, const vm::TileArgs& args) {
  const int64_t bytes = kernels.element_bytes, step = row_step(args, bytes);
  if (args.n < kernels.per_vector) {
    // An addition of a vector takes as long as gathering that many elements.
    constexpr int64_t kWorthOne = 4;
    if (kernels.narrow_columns != nullptr && args.n >= kWorthOne) {
      return reduce_narrow(kernels, args);
    }
    return gather(kernels, args);
  }
  const int wide = 4 * kernels.per_vector;
  for (int64_t row = 0; row < args.m; ++row) {
    const std::byte* const src = args.src[0] + row * args.size * step;
    std::byte* const dst = args.dst + row * args.n * bytes;
    for (int64_t column = 0; column < args.n;) {
      const bool is_wide = column + wide <= args.n;
      // The last vector may overlap the one before.
      const int64_t at = is_wide ? column : std::min(column, args.n - kernels.per_vector);
      const int outputs = is_wide ? wide : kernels.per_vector;
      const Columns columns{src + at * bytes, step};
      GroupTotals totals;
      total_of(kernels, is_wide ? kernels.wide_columns : kernels.columns, &columns, args.size,
               is_wide ? 4 : 1, totals);
      kernels.store(totals, outputs, dst + at * bytes);
      column += outputs;
    }
  }
}

}  // namespace dvm::cpu
