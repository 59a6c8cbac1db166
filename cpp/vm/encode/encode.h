// Kernel + sizes and strides of one call -> Programs. Runs on every call: no heap, no locks.
//
//   bind    concrete sizes; size-1 dims dropped, contiguous dims merged          (bind.cpp)
//   tile    Algorithm 1 of the DVM paper, refined                                (tiler.cpp)
//   emit    slots by liveness, flags, instructions into the arena                (emit.cpp)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "vm/encode/cube_program.h"
#include "vm/isa/program.h"
#include "vm/target/target.h"
#include "vm/tile/bind.h"
#include "vm/tile/kernel.h"

namespace dvm::vm {

struct EncodeScratch;

// Memory of one call's Programs: a bump pointer over a block, reused by the next call, and the
// scratch of their making. Where a block has no room for what a call needs, a larger one goes on.
class Arena {
 public:
  explicit Arena(size_t words = size_t{1} << 14);
  ~Arena();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;

  void reset();
  // What is left; a Program written to its start is kept by take().
  std::span<uint64_t> rest() { return {words_.get() + used_, capacity_ - used_}; }
  std::span<uint64_t> take(size_t words);  // throws OutOfWords when full
  // Gives back what was taken since `used` words were.
  size_t used() const { return used_; }
  size_t capacity() const { return capacity_; }
  void rewind(size_t used) { used_ = used; }
  // Goes on in a block twice as large. What was taken stays where it is until reset().
  void grow();
  EncodeScratch& scratch() { return *scratch_; }

 private:
  std::unique_ptr<uint64_t[]> words_;
  std::vector<std::unique_ptr<uint64_t[]>> earlier_;
  std::unique_ptr<EncodeScratch> scratch_;
  size_t capacity_, used_ = 0;
};

// A Region usually is one Program. A reduction longer than a tile becomes several: the first writes
// one partial per chunk, the others reduce partials (core/ops/sum_order.h), through two workspaces.
// Where such a reduction feeds steps, the parts of the Kernel are Programs of their own, and so are
// outputs that sizes of 1 set apart, and the steps before a product where no core makes them tile
// by tile.
struct Compiled {
  // To be run in this order, each after the one before has ended; but where there are followers,
  // they are the next Programs behind that of their leader (launch.h). In the Arena, as they are.
  const Program* stages = nullptr;
  int stage_count = 0;  // 0: nothing to write
  int workspace_count = 0;
  int64_t workspace_bytes[kMaxWorkspaces] = {};
  int16_t packed = -1;             // the operand that is read in its packed copy, if one is
  std::optional<CubeTiling> cube;  // of a product on the cube
  std::span<const Follower> followers;
  HandedOver handed, made;  // of them
  int leader = 0;

  // Whether f(launch) is true of all that is to be run with these globals: in order, until it is
  // not.
  template <typename F>
  bool all_launches(std::span<std::byte* const> globals, F f) const {
    for (int k = 0; k < stage_count; ++k) {
      Launch launch{.program = stages[k], .globals = globals};
      if (k == leader && !followers.empty()) {
        launch.followers = followers;
        launch.handed = handed;
        launch.made = made;
        k += static_cast<int>(followers.size());
      }
      if (!f(launch)) return false;
    }
    return true;
  }
};

// Nanoseconds, added up over the calls.
struct PhaseTimes {
  int64_t bind = 0, tile = 0, emit = 0;
};

// Verifies a Program that was just made, where core::verifies(). InternalError for what the
// verifier refuses. `own`: the operand in which each tile has a place of its own, if there is one.
void verify_if_asked(const Program& program, const TargetTraits& target, int own = -1);

struct Tiling;
struct TileRequest;

// Globals of every Program: inputs, outputs, and workspaces, of which some may have no bytes.
// With `times` the clock is read between phases. `request` is for the tiling of the first Program,
// if it has such a one; to `tilings` that of each Program is appended. Throws UnsupportedError
// where a limit of Programs is exceeded, which sizes alone do not, and InternalError for a Program
// that is not what it must be.
Compiled encode(const Kernel& kernel, const Binding& binding, const TargetTraits& target,
                Arena& arena, PhaseTimes* times = nullptr, const TileRequest* request = nullptr,
                std::vector<Tiling>* tilings = nullptr);

}  // namespace dvm::vm
