#include "vm/encode/followed_product.h"

#include <algorithm>

#include "vm/encode/cube_program.h"
#include "vm/encode/emit.h"
#include "vm/encode/encode_scratch.h"
#include "vm/encode/product_program.h"
#include "vm/isa/reduce_source.h"
#include "vm/target/core_timing.h"
#include "vm/tile/behind_product.h"
#include "vm/tile/core_cost.h"
#include "vm/tile/recompute.h"
#include "vm/tile/tiler.h"

namespace dvm::vm {

namespace {

class FollowedEncoder {
 public:
  FollowedEncoder(const Kernel& kernel, const Binding& binding, const TargetTraits& target,
                  const TileRequest* request, Arena& arena, Compiled& compiled)
      : kernel_(kernel),
        binding_(binding),
        target_(target),
        request_(request),
        arena_(arena),
        scratch_(arena.scratch()),
        compiled_(compiled) {}

  bool run() {
    if (!bind_unmerged(kernel_, binding_, scratch_.uncut, dims_)) return false;
    spare_casts(scratch_.uncut);
    if (!kernel_.parts.empty()) repeat_behind_reductions(scratch_.uncut);
    return run(bind_product(kernel_, binding_));
  }

 private:
  static constexpr int kMostFollowers = 4;  // of whole tiles, and those cut short by either side
  static constexpr int kCubeTurns = 2;      // the cube works on one tile, vector cores on another

  bool run(Contraction product) {
    if (product.is_empty() || product.k.size == 0) return false;
    const UnmergedStage behind{scratch_.uncut, dims_};
    if (!reduces_rows(behind, product)) return false;
    return has_cube(target_) ? run_by_cube(product) : run_in_place(product);
  }

  // Tiles by rows and columns, as followers count them.
  bool run_by_cube(Contraction product) {
    const bool asked = request_ != nullptr && request_->m != 0;
    CubeTiling cube = asked ? tile_cube(product, target_, request_->m, request_->n)
                            : tile_cube(product, target_, work_behind());
    cube.order = {};
    if (scratch_.uncut.reduces() && cube.n < product.n.size) return false;
    compiled_.cube = cube;
    return append(product, {cube.m, cube.n, cube.k}, kCubeTurns,
                  [&] { return encode_cube(product, cube, target_, arena_.rest()); });
  }

  // About as much as it will be: each step and operand is an instruction.
  WorkBehind work_behind() const {
    constexpr int64_t kProgramBytes = 280, kInstructionBytes = 80;
    const Stage& stage = scratch_.uncut;
    const int64_t instructions = stage.step_count + stage.access_count;
    const CoreCost cost = core_cost(stage, target_);
    return {cost.per_tile + core_timing(target_).cross_flag_cycles, cost.per_element + cost.stored,
            kProgramBytes + instructions * kInstructionBytes};
  }

  bool run_in_place(Contraction product) {
    if (request_ != nullptr) return false;
    const auto tiling = tile_followed_product(product, scratch_.uncut.reduces(), target_);
    if (!tiling) return false;
    int16_t packed = -1;
    if (product.packed_column != 0) {
      if (reads_packed(product, *tiling, target_)) {
        packed = product.b;
      } else {
        product.packed_column = 0;
      }
    }
    const bool done = append(product, *tiling, 1, [&] {
      return encode_product(product, *tiling, target_, arena_.rest());
    });
    if (done) compiled_.packed = packed;
    return done;
  }

  // `encode` makes the leader, of a product that hands over its tiles.
  template <typename Encode>
  bool append(Contraction& product, const ProductTiling& tiling, int turns, Encode encode) {
    const size_t mark = arena_.used();
    Program programs[1 + kMostFollowers];
    const std::span<Follower> followers = add_followers(product, tiling, programs + 1);
    if (followers.empty()) {
      arena_.rewind(mark);
      return false;
    }
    product.hand_over(tiling.m, tiling.n);
    programs[0] = take(encode());
    compiled_.stage_count = 1 + static_cast<int>(followers.size());
    std::copy_n(programs, compiled_.stage_count, compiled_.stages);
    compiled_.followers = followers;
    compiled_.handed = {product.result, turns, product.handed};
    compiled_.workspace_count = product.global_count - kernel_.operand_count();
    if (verifies_programs().load(std::memory_order_relaxed)) {
      verify_followers(programs[0], followers, compiled_.handed);
    }
    return true;
  }

  Program take(const Program& program) {
    verify_if_asked(program, target_);
    arena_.take(program.words().size());
    return program;
  }

  // One for each kind of tile, in the arena; none where there are not all of them.
  std::span<Follower> add_followers(const Contraction& product, const ProductTiling& tiling,
                                    Program* programs) {
    Follower made[kMostFollowers];
    size_t count = 0;
    for (const bool last_row : {false, true}) {
      for (const bool last_column : {false, true}) {
        const ProductTiles tiles{side(product.m.size, tiling.m, last_row),
                                 side(product.n.size, tiling.n, last_column)};
        if (tiles.m.count == 0 || tiles.n.count == 0) continue;
        const auto program = emit_behind(product, tiles);
        if (!program) return {};
        programs[count] = *program;
        const int64_t all = product.batches() * tiles.m.count * tiles.n.count;
        made[count++] = {.program = *program,
                         .first_row = static_cast<int32_t>(tiles.m.first),
                         .rows = static_cast<int32_t>(tiles.m.count),
                         .first_column = static_cast<int32_t>(tiles.n.first),
                         .columns = static_cast<int32_t>(tiles.n.count),
                         .tiles = static_cast<int32_t>(program->header().tile_count / all)};
      }
    }
    static_assert(sizeof(Follower) % sizeof(uint64_t) == 0);
    const auto words = arena_.take(count * sizeof(Follower) / sizeof(uint64_t));
    auto* const kept = reinterpret_cast<Follower*>(words.data());
    std::uninitialized_copy_n(made, count, kept);
    return {kept, count};
  }

  // Of whole tiles, or of the last one where it is shorter.
  static ProductTiles::Side side(int64_t size, int64_t tile, bool last) {
    const int64_t whole = size / tile;
    if (!last) return {tile, 0, whole, tile};
    return {tile, whole, size % tile == 0 ? 0 : 1, size % tile};
  }

  std::optional<Program> emit_behind(const Contraction& product, const ProductTiles& tiles) {
    if (!cut_along({scratch_.uncut, dims_}, product, tiles, scratch_.stage)) return std::nullopt;
    Schedules& schedules = scratch_.schedules;
    // What is behind a tile of the cube is for the vector cores of its group.
    const int32_t cores = has_cube(target_) ? kVectorCores : target_.cores;
    schedules.begin(scratch_.stage, target_);
    for (int64_t limit = tile_limit(schedules); limit > 0;) {
      const Tiling tiling = tile(schedules, limit, cores);
      if (tiling.reduction != Tiling::Reduction::in_tile) return std::nullopt;
      const auto program = emit(schedules, tiling, arena_.rest(), scratch_.drafts);
      if (program) return take(*program);
      limit = tiling.tile_elements * 7 / 8;
    }
    return std::nullopt;
  }

  const Kernel& kernel_;
  const Binding& binding_;
  const TargetTraits& target_;
  const TileRequest* const request_;
  Arena& arena_;
  EncodeScratch& scratch_;
  Compiled& compiled_;
  int dims_[kMaxRank] = {};
};

}  // namespace

bool encode_followed_product(const Kernel& kernel, const Binding& binding,
                             const TargetTraits& target, const TileRequest* request, Arena& arena,
                             Compiled& compiled) {
  return FollowedEncoder(kernel, binding, target, request, arena, compiled).run();
}

}  // namespace dvm::vm
