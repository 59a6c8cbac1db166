#include "vm/tile/behind_product.h"

#include <algorithm>

namespace dvm::vm {

namespace {

// Neighbouring dims of the Stage that are one dim of the product.
struct DimGroup {
  int begin, end;
  int last() const { return end - 1; }
};

DimGroup dims_of(const UnmergedStage& behind, DimMask of, int begin) {
  int end = begin;
  while (end < behind.stage.rank && (of & dim_bit(behind.dims[end])) != 0) ++end;
  return {begin, end};
}

// Whether everything goes through them as through one dim.
bool walks_as_one(const Stage& stage, const DimGroup& group) {
  for (int d = group.begin; d + 1 < group.end; ++d) {
    const auto differs = [d](DimMask span) { return ((span >> d ^ span >> (d + 1)) & 1) != 0; };
    for (int v = 0; v < stage.value_count; ++v) {
      if (differs(stage.values[v].span)) return false;
    }
    for (int a = 0; a < stage.access_count; ++a) {
      const StageAccess& access = stage.accesses[a];
      if (differs(access.span) || access.strides[d] != access.strides[d + 1] * stage.sizes[d + 1])
        return false;
    }
  }
  return true;
}

class StageCutter {
 public:
  StageCutter(const UnmergedStage& behind, const Contraction& product, const ProductTiles& tiles,
              Stage& cut)
      : behind_(behind), whole_(behind.stage), product_(product), tiles_(tiles), cut_(cut) {}

  bool run() {
    DimGroup m, n;
    for (int d = 0; d < product_.batch_rank; ++d) {
      DimGroup batch;
      if (!find(product_.batch[d], batch)) return false;
      add({.size = product_.batch[d].size, .old = batch.last()});
    }
    if (!find(product_.m, m) || !find(product_.n, n) || found_ != whole_.rank) return false;
    add({.size = tiles_.m.count, .old = m.last(), .step = tiles_.m.step, .first = tiles_.m.first});
    add({.size = tiles_.n.count, .old = n.last(), .step = tiles_.n.step, .first = tiles_.n.first});
    cut_.cut = count_;
    const int row = count_;
    add({.size = tiles_.m.elements, .old = m.last(), .handed = tiles_.n.step});
    add({.size = tiles_.n.elements, .old = n.last(), .handed = 1});
    if (count_ == cut_.cut) add({.size = 1, .old = kNone}, true);
    if (count_ > kMaxRank) return false;
    cut_.rank = count_;
    cut_.reduce_begin = cut_.reduce_end = 0;
    if (whole_.reduces()) {
      cut_.reduce_begin = row + (tiles_.m.elements != 1 ? 1 : 0);
      cut_.reduce_end = count_;
    }
    fill();
    merge_dims(cut_);
    return true;
  }

 private:
  static constexpr int kNone = -1;
  struct Dim {
    int64_t size;
    int old;  // the innermost of the dims that it is made of
    int64_t step = 1, first = 0;
    int64_t handed = 0;  // elements, in the tile that the product hands over
  };

  // The next dims of the Stage, which have to be that dim of the product: none if it has one
  // element.
  bool find(const ContractionDim& dim, DimGroup& group) {
    group = dims_of(behind_, dim.of, found_);
    found_ = group.end;
    int64_t size = 1;
    for (int d = group.begin; d < group.end; ++d) size *= whole_.sizes[d];
    return size == dim.size && walks_as_one(whole_, group);
  }

  // Dims of one tile, or one element, are none; what they skip counts all the same.
  void add(const Dim& dim, bool always = false) {
    if (dim.first != 0) skipped_[skips_++] = dim;
    if (dim.size == 1 && !always) return;
    if (count_ < kMaxRank) dims_[count_] = dim;
    ++count_;
  }

  static bool has(DimMask span, int old) { return old != kNone && (span & dim_bit(old)) != 0; }

  DimMask span(DimMask whole) const {
    DimMask result = 0;
    for (int d = 0; d < count_; ++d) {
      if (has(whole, dims_[d].old)) result |= dim_bit(d);
    }
    return result;
  }

  void fill() {
    cut_.reduced_in_tile = whole_.reduces() ? Stage::InTile::must : Stage::InTile::may;
    cut_.global_count = product_.global_count;
    cut_.value_count = whole_.value_count;
    cut_.step_count = whole_.step_count;
    cut_.scalar_count = whole_.scalar_count;
    cut_.access_count = whole_.access_count;
    cut_.output_count = whole_.output_count;
    for (int d = 0; d < count_; ++d) cut_.sizes[d] = dims_[d].size;
    std::copy_n(whole_.values, whole_.value_count, cut_.values);
    std::copy_n(whole_.steps, whole_.step_count, cut_.steps);
    std::copy_n(whole_.scalars, whole_.scalar_count, cut_.scalars);
    std::copy_n(whole_.outputs, whole_.output_count, cut_.outputs);
    for (int v = 0; v < cut_.value_count; ++v) cut_.values[v].span = span(cut_.values[v].span);
    for (int a = 0; a < whole_.access_count; ++a) cut_.accesses[a] = access(whole_.accesses[a]);
  }

  StageAccess access(const StageAccess& whole) const {
    StageAccess result{.global = whole.global, .dtype = whole.dtype, .offset = whole.offset};
    result.span = span(whole.span);
    const bool handed = whole.global == product_.result;
    for (int d = 0; d < count_; ++d) {
      const Dim& dim = dims_[d];
      if (!has(whole.span, dim.old)) continue;
      result.strides[d] =
          handed ? dim.handed * core::byte_size(whole.dtype) : dim.step * whole.strides[dim.old];
    }
    for (int k = 0; k < skips_ && !handed; ++k) {
      const Dim& dim = skipped_[k];
      if (has(whole.span, dim.old)) result.offset += dim.first * dim.step * whole.strides[dim.old];
    }
    return result;
  }

  const UnmergedStage& behind_;
  const Stage& whole_;
  const Contraction& product_;
  const ProductTiles& tiles_;
  Stage& cut_;
  int found_ = 0, count_ = 0, skips_ = 0;
  Dim dims_[kMaxRank], skipped_[2];
};

}  // namespace

bool reduces_rows(const UnmergedStage& behind, const Contraction& product) {
  const Stage& stage = behind.stage;
  return !stage.reduces() ||
         (stage.reduce_end == stage.rank && stage.reduce_begin == stage.rank - 1 &&
          (product.n.of & dim_bit(behind.dims[stage.rank - 1])) != 0);
}

bool cut_along(const UnmergedStage& behind, const Contraction& product, const ProductTiles& tiles,
               Stage& cut) {
  return StageCutter(behind, product, tiles, cut).run();
}

}  // namespace dvm::vm
