// What the tiler, the encoder and the verifier know of a target (rows of targets.def), and the
// interface a target implements to run Programs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vm/isa/program.h"
#include "vm/run/find_kernel.h"
#include "vm/run/tile_kernel.h"
#include "vm/target/chain_rules.h"
#include "vm/target/launch.h"

namespace dvm::vm {

// What the tiler aims at.
enum class TilePolicy : uint8_t {
  shares,  // an equal share of the tiles for each core (Algorithm 1 of the DVM paper)
  caches,  // the least time by the cost table: tiles go to whoever is free, caches are the limit
};

// Where slots of a Space lie on a core: bytes [reserve, bytes), aligned to `align`. A target that
// has no such memory has no bytes.
struct Memory {
  int64_t bytes = 0, reserve = 0;
  int32_t align = 1;
  bool operator==(const Memory&) const = default;
};
using Memories = std::array<Memory, kSpaceCount>;
// The rows of memories.def: what every target of a folder has besides UB.
namespace memories {
struct Row {
  std::string_view folder;
  Space space;
  Memory memory;
};
inline constexpr Row kAll[] = {
#define DVM_MEMORY(folder, space, bytes, align) {#folder, Space::space, {bytes, 0, align}},
#include "vm/target/memories.def"
#undef DVM_MEMORY
};
constexpr Memories of(std::string_view folder) {
  Memories rows;
  for (const Row& row : kAll) {
    if (row.folder == folder) rows[static_cast<size_t>(row.space)] = row.memory;
  }
  return rows;
}
// Named as the rows of targets.def say.
// NOLINTNEXTLINE(readability-identifier-naming)
inline constexpr Memories cpu = of("cpu"), sim = of("sim");
}  // namespace memories

struct TargetTraits {
  std::string_view name;
  uint8_t id;
  TilePolicy policy;
  int32_t cores, cubes;
  int64_t local_bytes, reserve_bytes;
  int32_t align;
  bool streams, flags;
  const ChainRules* chains;  // null: the encoder makes none. Every target can run them
  core::DTypeSet native_halves;
  int64_t tile_overhead;
  const Memories* others;     // besides UB
  bool matrix_tiles = false;  // the cpu multiplies bf16 and i8 by tiles of matrices (AMX)
  int32_t threads = 2;        // that tiles of products are shared out to, where `cores` is 1
  bool operator==(const TargetTraits&) const = default;

  // That run Programs of a type.
  int32_t blocks(KernelType type) const { return type == KernelType::vector ? cores : cubes; }
  Memory memory(Space space) const {
    if (space == Space::ub) return {local_bytes, reserve_bytes, align};
    return (*others)[static_cast<size_t>(space)];
  }
};

std::span<const TargetTraits> all_targets();
const TargetTraits* find_target(std::string_view name);  // nullptr when unknown
const TargetTraits* find_target(uint8_t id);

// The right matrix of products, to be packed for them (Mode::packed); strides are in bytes.
struct RightMatrix {
  const std::byte* data;
  int64_t rows, columns, row_stride, column_stride;
  core::DType source, sums;  // of its elements, of the products
  core::Precision precision;
  bool operator==(const RightMatrix&) const = default;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual const TargetTraits& traits() const = 0;
  // Runs every tile of up to kMaxLaunches Programs; those that do not wait for each other may run
  // side by side. Each must have passed verify() or come straight from the encoder. Thread-safe.
  // Throws bad_alloc where there is no memory for what a tile keeps.
  virtual RunStatus run(std::span<const Launch> launches) = 0;
  RunStatus run(const Program& program, std::span<std::byte* const> globals) {
    const Launch launch{program, globals};
    return run({&launch, 1});
  }
  // About how many nanoseconds run() takes, as far as that can be told at no cost.
  virtual int64_t work(const Program&) const { return INT32_MAX; }
  // Whether it pays to run Programs as one list: those that wait for nothing run side by side.
  virtual bool side_by_side() const { return true; }
  // Calls task(context, begin, end) for disjoint ranges that cover [0, count), of items that take
  // that many nanoseconds each: on several threads where these are there and it is faster.
  using Work = void (*)(void* context, int64_t begin, int64_t end) noexcept;
  virtual void share(int64_t count, double /*item_ns*/, Work task, void* context) {
    task(context, 0, count);
  }
  // Bytes of a column of the matrix when packed, on the process's processor; 0: the target has no
  // such layout for it.
  virtual int64_t packed_column(const RightMatrix&) const { return 0; }
  // Writes packed_columns(columns) * packed_column() bytes.
  virtual void pack(const RightMatrix&, std::byte* /*to*/) const {}
  // Its kernels by themselves, for the calling thread; null where only run() may use them.
  virtual const KernelTable* kernels() const { return nullptr; }
  // What finds positions, likewise; there where kernels() are.
  virtual const FindTable* finds() const { return nullptr; }
};

}  // namespace dvm::vm
