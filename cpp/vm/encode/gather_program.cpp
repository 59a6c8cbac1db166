#include "vm/encode/gather_program.h"

#include <limits>
#include <utility>

#include "core/error.h"
#include "vm/encode/program_sketch.h"

namespace dvm::vm {

namespace {

using Dims = BoxTiles::Dims;

// Half of local memory is enough for tiles to be long.
int64_t most_elements(const GatherSpec& spec, const TargetTraits& target) {
  const int64_t bytes = core::byte_size(spec.dtype) + core::byte_size(DType::i64);
  return (target.local_bytes - target.reserve_bytes) / 2 / bytes;
}

// Outer dims of the indices have no place in the view of one tile.
Dims alone(const GatherSpec& spec) {
  Dims dims = 0;
  for (size_t d = 0; d < spec.dims.size(); ++d) {
    const bool indexed = static_cast<int>(d) == spec.indexed;
    const bool moves_indices = spec.dims[d].strides[GatherSpec::kIndices] != 0;
    if (!spec.per_element && !indexed && moves_indices) dims |= Dims{1} << d;
  }
  return dims;
}

}  // namespace

Program encode_gather(const GatherSpec& spec, const TargetTraits& target,
                      std::span<uint64_t> words) {
  if (spec.extent > std::numeric_limits<uint32_t>::max()) {
    core::fail(core::ErrorCode::unsupported, "a gather from more than 2**32 - 1 positions");
  }
  constexpr int kTable = GatherSpec::kTable, kIndices = GatherSpec::kIndices,
                kResult = GatherSpec::kResult;
  const BoxTiles tiles(spec.dims, most_elements(spec, target), alone(spec));
  const Dims indexed = Dims{1} << spec.indexed;
  const Dims of_indices = spec.per_element ? BoxTiles::kAll : indexed;
  // A step along the indexed dim of the table goes where the index says, not where the tile is.
  const Dims of_table = BoxTiles::kAll & ~indexed;

  ProgramSketch sketch(target, tiles.grid());
  Global table = tiles.global(kTable, spec.dtype, false, of_table);
  BoxTiles::repeat(table, spec.extent,
                   spec.dims[static_cast<size_t>(spec.indexed)].strides[kTable]);
  sketch.add_global(table);
  sketch.add_global(tiles.global(kIndices, DType::i64, false));
  sketch.add_global(tiles.global(kResult, spec.dtype, true));
  const Operand indices = sketch.slot(tiles.elements(of_indices), DType::i64);
  const Operand result = sketch.slot(tiles.elements(), spec.dtype);

  Instruction load{.insn = Insn::view_load, .dtype = DType::i64};
  std::vector<ViewDim> view = tiles.set_view(load, kIndices, of_indices);
  sketch.append(load, {indices, sketch.stream(kIndices, 0, tiles.stream(kIndices))},
                std::move(view));
  Instruction gather{.insn = spec.per_element ? Insn::take_along : Insn::gather,
                     .dtype = spec.dtype};
  view = tiles.set_view(gather, kTable);
  gather.m = static_cast<uint32_t>(spec.indexed + 1);
  gather.n = static_cast<uint32_t>(spec.extent);
  sketch.append(gather, {result, sketch.stream(kTable, 0, tiles.stream(kTable, of_table)), indices},
                std::move(view));
  Instruction store{.insn = Insn::view_store, .dtype = spec.dtype};
  view = tiles.set_view(store, kResult);
  sketch.append(store, {sketch.stream(kResult, 0, tiles.stream(kResult)), result}, std::move(view));
  return sketch.finish(words);
}

}  // namespace dvm::vm
