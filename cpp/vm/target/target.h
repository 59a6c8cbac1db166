// What the tiler, the encoder and the verifier know of a target (rows of targets.def), and the
// interface a target implements to run Programs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/ops/fp_flags.h"
#include "vm/isa/program.h"
#include "vm/run/find_kernel.h"
#include "vm/run/tile_kernel.h"

namespace dvm::vm {

// What the tiler aims at.
enum class TilePolicy : uint8_t {
  shares,  // an equal share of the tiles for each core (Algorithm 1 of the DVM paper)
  caches,  // the least time by the cost table: tiles go to whoever is free, caches are the limit
};

struct TargetTraits {
  std::string_view name;
  uint8_t id;
  TilePolicy policy;
  int32_t cores;
  int64_t local_bytes, reserve_bytes;
  int32_t align;
  bool streams, flags, chains;
  core::DTypeSet native_halves;
  int64_t tile_overhead;
  bool operator==(const TargetTraits&) const = default;
};

std::span<const TargetTraits> all_targets();
const TargetTraits* find_target(std::string_view name);  // nullptr when unknown
const TargetTraits* find_target(uint8_t id);

class Target {
 public:
  virtual ~Target() = default;
  virtual const TargetTraits& traits() const = 0;
  // Runs every tile. globals[k] is the base address of global operand k, aligned to its dtype. The
  // Program must have passed verify() or come straight from the encoder. Thread-safe. Returns the
  // status flags that its operations raised, as NumPy's would, and kTiedZeros.
  // Throws bad_alloc where there is no memory for what a tile keeps.
  virtual core::FpFlags run(const Program& program, std::span<std::byte* const> globals) = 0;
  // Whether run() takes so long, some 20 us, that other threads of the host should go on meanwhile.
  virtual bool takes_long(const Program&) const { return true; }
  // Its kernels by themselves, for the calling thread; null where only run() may use them.
  virtual const KernelTable* kernels() const { return nullptr; }
  // What finds positions, likewise; there where kernels() are.
  virtual const FindTable* finds() const { return nullptr; }
};

}  // namespace dvm::vm
