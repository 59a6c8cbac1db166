#include "vm/tile/dim_order.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace dvm::vm {

namespace {

// Whether more operands step farther along dim b than along dim a. Those that only one of them
// moves have no say: of what is repeated any order is as good.
bool belongs_outside(const Stage& stage, int b, int a) {
  int votes = 0;
  const DimMask both = dim_bit(a) | dim_bit(b);
  for (int k = 0; k < stage.access_count; ++k) {
    const StageAccess& access = stage.accesses[k];
    if ((access.span & both) != both) continue;
    const int64_t along_a = std::abs(access.strides[a]), along_b = std::abs(access.strides[b]);
    votes += (along_b > along_a) - (along_b < along_a);
  }
  return votes > 0;
}

void permute(Stage& stage, const int* order) {
  const auto gather = [&](DimMask mask) {
    DimMask result = 0;
    for (int d = 0; d < stage.rank; ++d) {
      if ((mask & dim_bit(order[d])) != 0) result |= dim_bit(d);
    }
    return result;
  };
  const auto gather_sizes = [&](int64_t* sizes) {
    int64_t old[kMaxRank];
    std::copy_n(sizes, stage.rank, old);
    for (int d = 0; d < stage.rank; ++d) sizes[d] = old[order[d]];
  };
  gather_sizes(stage.sizes);
  for (int v = 0; v < stage.value_count; ++v) stage.values[v].span = gather(stage.values[v].span);
  for (int k = 0; k < stage.access_count; ++k) {
    StageAccess& access = stage.accesses[k];
    access.span = gather(access.span);
    access.per_tile = gather(access.per_tile);
    gather_sizes(access.strides);
  }
}

}  // namespace

void order_by_strides(Stage& stage) {
  if (stage.rank < 2 || stage.reduces() || stage.cut != 0) return;
  int order[kMaxRank];
  std::iota(order, order + stage.rank, 0);
  bool moved = false;
  for (int d = 1; d < stage.rank; ++d) {
    for (int at = d; at > 0 && belongs_outside(stage, order[at], order[at - 1]); --at) {
      std::swap(order[at], order[at - 1]);
      moved = true;
    }
  }
  if (!moved) return;
  permute(stage, order);
  merge_dims(stage);
}

}  // namespace dvm::vm
