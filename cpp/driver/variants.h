// What a graph would be if it were fused otherwise: its Regions encoded for the sizes of one call,
// for tools that ask what a choice costs. Nothing of it is run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "vm/encode/cube_program.h"
#include "vm/encode/encode.h"
#include "vm/tile/tiler.h"

namespace dvm::driver {

// Programs of a Region, and how they are tiled: a product on the cube by `cube`.
struct EncodedRegion {
  std::vector<std::vector<uint64_t>> programs;
  std::vector<vm::Tiling> tilings;
  std::optional<vm::CubeTiling> cube;
  int64_t nanoseconds = 0;  // that encode() took
};
EncodedRegion encode_region(const vm::Kernel& kernel, const vm::Binding& binding,
                            const vm::TargetTraits& target,
                            const std::optional<vm::TileRequest>& request);

struct VariantRegion {
  std::string name;
  // Of the graph: what it computes, and its operands in the order of the Programs' globals, which
  // workspaces follow.
  std::vector<core::Value> members, operands;
  EncodedRegion encoded;
};

struct Variant {
  std::vector<VariantRegion> regions;  // in the order in which they run
  // What has to hold for it besides what any call makes sure of, as text: "s0 == 32".
  std::vector<std::string> assumed;
  int64_t nanoseconds = 0;  // that fusing and encoding took
};

using Pairs = std::vector<std::pair<core::Value, core::Value>>;
struct Choices {
  Pairs together, apart;
  std::map<size_t, vm::TileRequest> tiles;  // by place among the regions
};

// `text`: of the graph as the fuser was given it (the text of the last pass before "fuse").
// `sizes`: of its symbols, by name; they may be taken for granted to bring `together` what is fused
// in no other way. Operands are dense. UnsupportedError for an unknown target, ShapeError for a
// size that is needed and not there.
Variant fuse_otherwise(std::string_view text, std::string_view target_name,
                       const std::map<std::string, int64_t>& sizes, const Choices& choices);

}  // namespace dvm::driver
