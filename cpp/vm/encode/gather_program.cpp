#include "vm/encode/gather_program.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/error.h"
#include "vm/encode/slots.h"
#include "vm/isa/program_builder.h"

namespace dvm::vm {

namespace {

class GatherEncoder {
 public:
  GatherEncoder(const GatherSpec& spec, const TargetTraits& target)
      : spec_(spec), target_(target), rank_(static_cast<int>(spec.dims.size())) {
    if (spec.extent > std::numeric_limits<uint32_t>::max()) {
      core::fail(core::ErrorCode::unsupported, "a gather from more than 2**32 - 1 positions");
    }
    choose_tile();
    for (int d = 0; d < rank_; ++d) {
      if (tiles(d) > 1) grid_[grid_rank_++] = d;
    }
    if (grid_rank_ == 0) grid_[grid_rank_++] = rank_ - 1;
  }

  Program run(std::span<uint64_t> words) {
    int64_t tiles_of[kMaxRank];
    for (int g = 0; g < grid_rank_; ++g) tiles_of[g] = tiles(grid_[g]);
    ProgramBuilder builder(target_, words, {tiles_of, static_cast<size_t>(grid_rank_)});
    builder.add_global(global(&GatherDim::table, spec_.dtype, false));
    builder.add_global(global(&GatherDim::indices, DType::i64, false));
    builder.add_global(global(&GatherDim::result, spec_.dtype, true));

    SlotAllocator slots(target_);
    const Operand indices = slot(slots, index_elements() * core::byte_size(DType::i64));
    const Operand result = slot(slots, elements() * core::byte_size(spec_.dtype));
    // The store reads what the next tile's gather writes; within the load pipe order is kept.
    constexpr Pipe kLoad = Pipe::load, kStore = Pipe::store;
    const auto flag = [&](SyncKind kind, Pipe src, Pipe dst) {
      return Sync{static_cast<uint8_t>(kind), src, dst, 0, 0};
    };
    std::vector<Sync> wait_store, set_load, around_store;
    if (target_.flags) {
      wait_store = {flag(SyncKind::wait, kStore, kLoad)};
      set_load = {flag(SyncKind::set, kLoad, kStore)};
      around_store = {flag(SyncKind::wait, kLoad, kStore), flag(SyncKind::set, kStore, kLoad)};
    }

    const auto of_indices = [&](int d) { return spec_.per_element || d == spec_.indexed; };
    const auto all = [](int) { return true; };
    append(builder, {.insn = Insn::view_load, .dtype = DType::i64}, of_indices, &GatherDim::indices,
           {indices, stream(builder, 1, &GatherDim::indices)}, wait_store);
    Instruction gather{.insn = spec_.per_element ? Insn::take_along : Insn::gather,
                       .dtype = spec_.dtype};
    gather.m = static_cast<uint32_t>(spec_.indexed + 1);
    gather.n = static_cast<uint32_t>(spec_.extent);
    append(builder, gather, all, &GatherDim::table,
           {result, stream(builder, 0, &GatherDim::table), indices}, set_load);
    append(builder, {.insn = Insn::view_store, .dtype = spec_.dtype}, all, &GatherDim::result,
           {stream(builder, 2, &GatherDim::result), result}, around_store);
    const int64_t local = std::max(slots.peak(), target_.reserve_bytes);
    const uint8_t loop_flags = target_.flags ? store_to_load : 0;
    return builder.finish(static_cast<uint32_t>(local), loop_flags);
  }

 private:
  using Stride = int64_t GatherDim::*;

  const GatherDim& dim(int d) const { return spec_.dims[static_cast<size_t>(d)]; }
  int64_t tiles(int d) const { return (dim(d).size + tile_[d] - 1) / tile_[d]; }
  int64_t elements() const {
    int64_t product = 1;
    for (int d = 0; d < rank_; ++d) product *= tile_[d];
    return product;
  }
  int64_t index_elements() const { return spec_.per_element ? elements() : tile_[spec_.indexed]; }

  // Half of local memory is enough for tiles to be long.
  void choose_tile() {
    const int64_t bytes = core::byte_size(spec_.dtype) + core::byte_size(DType::i64);
    int64_t left = std::max<int64_t>(1, (target_.local_bytes - target_.reserve_bytes) / 2 / bytes);
    for (int d = rank_ - 1; d >= 0; --d) {
      // Outer dims of the indices have no place in the view of one tile.
      const bool alone = !spec_.per_element && d != spec_.indexed && dim(d).indices != 0;
      tile_[d] = alone ? 1 : std::min(left, dim(d).size);
      left = tile_[d] == dim(d).size ? std::max<int64_t>(1, left / tile_[d]) : 1;
    }
  }

  static Operand slot(SlotAllocator& slots, int64_t bytes) {
    const int64_t offset = slots.take(bytes);
    DVM_CHECK(offset != SlotAllocator::kNone, "a tile of a gather exceeds local memory");
    return slot_operand(static_cast<uint32_t>(offset));
  }

  // A step along the indexed dim of the table goes where the index says, not where the tile is.
  int64_t stride(int d, Stride of) const {
    return of == &GatherDim::table && d == spec_.indexed ? 0 : dim(d).*of;
  }

  Global global(Stride of, DType dtype, bool written) const {
    Global result{.low = 0, .high = core::byte_size(dtype), .dtype = dtype, .written = written};
    for (int d = 0; d < rank_; ++d) {
      const bool indexed = of == &GatherDim::table && d == spec_.indexed;
      const int64_t last = ((indexed ? spec_.extent : dim(d).size) - 1) * (dim(d).*of);
      (last < 0 ? result.low : result.high) += last;
    }
    return result;
  }

  Operand stream(ProgramBuilder& builder, int global, Stride of) const {
    int64_t strides[kMaxRank];
    for (int g = 0; g < grid_rank_; ++g) strides[g] = stride(grid_[g], of) * tile_[grid_[g]];
    return builder.stream(global, 0, {strides, static_cast<size_t>(grid_rank_)});
  }

  // An instruction over a view of the dims that `in` chooses, with a tail for each that is cut.
  template <typename In>
  void append(ProgramBuilder& builder, Instruction fixed, In in, Stride of,
              std::initializer_list<Operand> operands, std::span<const Sync> syncs) const {
    std::vector<ViewDim> view;
    std::vector<Tail> tails;
    fixed.size = 1;
    for (int d = 0; d < rank_; ++d) {
      if (!in(d)) continue;
      view.push_back({tile_[d], dim(d).*of});
      fixed.size *= static_cast<uint32_t>(tile_[d]);
      const int64_t last = dim(d).size - (tiles(d) - 1) * tile_[d];
      if (last == tile_[d]) continue;
      const int g = static_cast<int>(std::find(grid_, grid_ + grid_rank_, d) - grid_);
      const Tail tail{.extent = static_cast<uint8_t>(view.size()),
                      .axis = static_cast<uint8_t>(grid_rank_ - 1 - g),
                      .value = static_cast<uint32_t>(last)};
      if (tail.axis != 0) {
        tails.push_back(tail);
      } else {
        fixed.split = tail.extent;
        fixed.tail = tail.value;
      }
    }
    builder.append(fixed, operands, syncs, view, tails);
  }

  const GatherSpec& spec_;
  const TargetTraits& target_;
  const int rank_;
  int64_t tile_[kMaxRank];
  int grid_[kMaxRank], grid_rank_ = 0;  // dims that several tiles share
};

}  // namespace

Program encode_gather(const GatherSpec& spec, const TargetTraits& target,
                      std::span<uint64_t> words) {
  return GatherEncoder(spec, target).run(words);
}

}  // namespace dvm::vm
