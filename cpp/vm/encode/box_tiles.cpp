#include "vm/encode/box_tiles.h"

#include <algorithm>

#include "core/error.h"

namespace dvm::vm {

BoxTiles::BoxTiles(std::span<const BoxDim> dims, int64_t most, Dims alone)
    : rank_(static_cast<int>(dims.size())) {
  DVM_CHECK(rank_ >= 1 && rank_ <= kMaxRank, "a box has a dim to kMaxRank");
  std::copy(dims.begin(), dims.end(), dims_);
  int64_t left = std::max<int64_t>(1, most);
  for (int d = rank_ - 1; d >= 0; --d) {
    tile_[d] = has(alone, d) ? 1 : std::min(left, dims_[d].size);
    left = tile_[d] == dims_[d].size ? left / tile_[d] : 1;
  }
  for (int d = 0; d < rank_; ++d) {
    if (tiles(d) > 1) grid_[grid_rank_++] = d;
  }
  if (grid_rank_ == 0) grid_[grid_rank_++] = rank_ - 1;
}

std::vector<int64_t> BoxTiles::grid() const {
  std::vector<int64_t> result;
  for (int g = 0; g < grid_rank_; ++g) result.push_back(tiles(grid_[g]));
  return result;
}

int64_t BoxTiles::elements(Dims in) const {
  int64_t product = 1;
  for (int d = 0; d < rank_; ++d) product *= has(in, d) ? tile_[d] : 1;
  return product;
}

std::vector<int64_t> BoxTiles::stream(int operand, Dims in) const {
  std::vector<int64_t> result;
  for (int g = 0; g < grid_rank_; ++g) {
    const int d = grid_[g];
    result.push_back(has(in, d) ? dims_[d].strides[operand] * tile_[d] : 0);
  }
  return result;
}

void BoxTiles::set_linear(Instruction& fixed) const {
  fixed.size = static_cast<uint32_t>(elements());
  const int cut = grid_[grid_rank_ - 1];
  if (last(cut) == tile_[cut]) return;
  fixed.split = static_cast<uint8_t>(Split::size);
  fixed.tail = static_cast<uint32_t>(elements() / tile_[cut] * last(cut));
}

std::vector<ViewDim> BoxTiles::set_view(Instruction& fixed, int operand, Dims in) const {
  std::vector<ViewDim> view;
  fixed.size = static_cast<uint32_t>(elements(in));
  for (int d = 0; d < rank_; ++d) {
    if (!has(in, d)) continue;
    view.push_back({tile_[d], dims_[d].strides[operand]});
    if (last(d) == tile_[d]) continue;
    fixed.split = static_cast<uint8_t>(view.size());
    fixed.tail = static_cast<uint32_t>(last(d));
  }
  return view;
}

Global BoxTiles::global(int operand, DType dtype, bool written, Dims in) const {
  Global result{.low = 0, .high = core::byte_size(dtype), .dtype = dtype, .written = written};
  for (int d = 0; d < rank_; ++d) {
    if (has(in, d)) repeat(result, dims_[d].size, dims_[d].strides[operand]);
  }
  return result;
}

void BoxTiles::repeat(Global& global, int64_t count, int64_t stride) {
  const int64_t last = (count - 1) * stride;
  (last < 0 ? global.low : global.high) += last;
}

}  // namespace dvm::vm
