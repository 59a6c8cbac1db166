// Programs for the target tests: one simd instruction, with the loads, stores and flags that it
// needs on a target with pipes, or in place on streams where the target allows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vm/isa/program.h"
#include "vm/isa/program_builder.h"
#include "vm/target/target.h"

namespace dvm::testing {

using core::DType;
using vm::Insn;
using vm::TargetTraits;

struct SourceSpec {
  std::optional<uint64_t> scalar = {};     // bits of a literal, instead of a global
  std::vector<int64_t> strides = {};       // bytes per grid dimension
  std::optional<int64_t> row_stride = {};  // see vm::row_stride(); of streams
};

struct TileCase {
  vm::Instruction fixed;  // dtype, aux, extents, split and tail of the instruction under test
  std::vector<int64_t> grid = {};
  std::vector<SourceSpec> sources = {};
  std::vector<int64_t> dst_strides = {};
  bool in_place = false;  // dst slot is that of source 0
  bool streams = false;   // no loads and stores
};

// Whole tensors behind the case's globals: sources that are no literals, then the destination.
using Buffers = std::vector<std::vector<std::byte>>;

std::vector<uint64_t> build(const TargetTraits& target, const TileCase& test,
                            const Buffers& buffers);

// Builds, verifies and runs the case; the destination is the last buffer.
void run(vm::Target& target, const TileCase& test, Buffers& buffers);

// A linear case over `count` elements in tiles of `tile`, all sources dense or literal.
TileCase linear_case(Insn insn, DType dtype, uint8_t aux, int64_t count, int64_t tile,
                     std::span<const std::optional<uint64_t>> scalars);

template <typename T>
std::vector<std::byte> to_bytes(const std::vector<T>& values) {
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  return {data, data + values.size() * sizeof(T)};
}

}  // namespace dvm::testing
