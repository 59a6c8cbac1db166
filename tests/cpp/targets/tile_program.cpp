#include "tile_program.h"

namespace dvm::testing {

namespace {

using vm::Instruction;
using vm::Operand;
using vm::Pipe;
using vm::Sync;

int64_t align_up(int64_t bytes, int64_t align) { return (bytes + align - 1) / align * align; }

// A load or store of an operand of `insn`, whose elements are dense in the tile.
Instruction transfer(Insn which, const Instruction& insn, int operand) {
  const int64_t body = operand_elements(insn, operand, false);
  const int64_t tail = operand_elements(insn, operand, true);
  Instruction result{.insn = which, .dtype = operand_dtype(insn, operand)};
  result.size = static_cast<uint32_t>(body);
  if (insn.split != 0 && tail != body) {
    result.split = static_cast<uint8_t>(vm::Split::size);
    result.tail = static_cast<uint32_t>(tail);
  }
  return result;
}

}  // namespace

std::vector<uint64_t> build(const TargetTraits& target, const TileCase& test,
                            const Buffers& buffers) {
  std::vector<uint64_t> words(4096);
  vm::ProgramBuilder builder(target, words, test.grid);
  const Instruction& insn = test.fixed;
  const int sources = static_cast<int>(test.sources.size());
  size_t globals = 0;
  for (int k = 1; k <= sources + 1; ++k) {
    const bool is_dst = k > sources;
    if (!is_dst && test.sources[static_cast<size_t>(k - 1)].scalar) continue;
    builder.add_global({.low = 0,
                        .high = static_cast<int64_t>(buffers[globals++].size()),
                        .dtype = operand_dtype(insn, is_dst ? 0 : k),
                        .written = is_dst});
  }
  const bool flags = target.flags;
  int64_t local = target.reserve_bytes;
  const auto take_slot = [&](int operand) {
    const Operand slot = vm::slot_operand(static_cast<uint32_t>(local));
    local += align_up(
        operand_elements(insn, operand, false) * core::byte_size(operand_dtype(insn, operand)),
        target.align);
    return slot;
  };

  std::vector<Operand> operands(static_cast<size_t>(sources) + 1);
  std::vector<Sync> waits, sets;
  int global = 0;
  uint8_t loads = 0;
  // Tables are in order of first use, and the destination comes first.
  const int dst_global = static_cast<int>(globals) - 1;
  if (test.streams) operands[0] = builder.stream(dst_global, 0, test.dst_strides);
  for (int k = 1; k <= sources; ++k) {
    const SourceSpec& source = test.sources[static_cast<size_t>(k - 1)];
    Operand& operand = operands[static_cast<size_t>(k)];
    if (source.scalar) {
      operand = builder.scalar_bits(*source.scalar);
      continue;
    }
    const Operand stream = builder.stream(global++, 0, source.strides);
    if (test.streams) {
      operand = stream;
      if (source.row_stride) {
        operand = vm::rows_operand(stream, static_cast<uint32_t>(*source.row_stride));
      }
      continue;
    }
    operand = take_slot(k);
    std::vector<Sync> syncs;
    if (flags && loads == 0) {
      syncs.push_back({0, Pipe::simd, Pipe::load, 0, 0});
      // In place, the slot loaded is the one that the tile before stored from.
      if (test.in_place) syncs.push_back({0, Pipe::store, Pipe::load, 0, 0});
    }
    if (flags) syncs.push_back({1, Pipe::load, Pipe::simd, loads, 0});
    if (flags) waits.push_back({0, Pipe::load, Pipe::simd, loads, 0});
    ++loads;
    builder.append(transfer(Insn::load, insn, k), std::vector{operand, stream}, syncs);
  }
  if (test.streams) {
    builder.append(insn, operands);
    words.resize(builder.finish(static_cast<uint32_t>(local)).words().size());
    return words;
  }
  operands[0] = test.in_place ? operands[1] : take_slot(0);
  uint8_t loop_flags = 0;
  if (flags) {
    waits.push_back({0, Pipe::store, Pipe::simd, 0, 0});
    sets.push_back({1, Pipe::simd, Pipe::store, 0, 0});
    loop_flags = vm::store_to_simd;
    if (loads > 0) {
      sets.push_back({1, Pipe::simd, Pipe::load, 0, 0});
      loop_flags |= vm::simd_to_load;
    }
  }
  waits.insert(waits.end(), sets.begin(), sets.end());
  builder.append(insn, operands, waits);
  std::vector<Sync> syncs;
  if (flags) syncs = {{0, Pipe::simd, Pipe::store, 0, 0}, {1, Pipe::store, Pipe::simd, 0, 0}};
  if (flags && test.in_place) {
    syncs.push_back({1, Pipe::store, Pipe::load, 0, 0});
    loop_flags |= vm::store_to_load;
  }
  builder.append(transfer(Insn::store, insn, 0),
                 std::vector{builder.stream(dst_global, 0, test.dst_strides), operands[0]}, syncs);
  words.resize(builder.finish(static_cast<uint32_t>(local), loop_flags).words().size());
  return words;
}

void run(vm::Target& target, const TileCase& test, Buffers& buffers) {
  const std::vector<uint64_t> words = build(target.traits(), test, buffers);
  vm::verify(words);
  std::vector<std::byte*> globals;
  for (auto& buffer : buffers) globals.push_back(buffer.data());
  target.run(vm::Program(words), globals);
}

TileCase linear_case(Insn insn, DType dtype, uint8_t aux, int64_t count, int64_t tile,
                     std::span<const std::optional<uint64_t>> scalars) {
  TileCase test{.fixed = {.insn = insn, .dtype = dtype, .aux = aux}};
  const int64_t tiles = (count + tile - 1) / tile;
  test.fixed.size = static_cast<uint32_t>(tiles == 1 ? count : tile);
  if (tiles > 1) {
    test.grid = {tiles};
    test.fixed.tail = static_cast<uint32_t>(count - (tiles - 1) * tile);
    test.fixed.split = static_cast<uint8_t>(vm::Split::size);
  }
  const auto stride = [&](int operand) {
    const int64_t bytes = core::byte_size(operand_dtype(test.fixed, operand));
    return test.grid.empty() ? std::vector<int64_t>{} : std::vector{tile * bytes};
  };
  for (size_t k = 0; k < scalars.size(); ++k) {
    test.sources.push_back(
        {scalars[k], scalars[k] ? std::vector<int64_t>{} : stride(static_cast<int>(k) + 1)});
  }
  test.dst_strides = stride(0);
  return test;
}

}  // namespace dvm::testing
