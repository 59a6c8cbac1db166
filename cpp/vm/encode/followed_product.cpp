#include "vm/encode/followed_product.h"

#include <algorithm>

#include "core/error.h"
#include "core/verifies.h"
#include "vm/encode/cube_program.h"
#include "vm/encode/emit.h"
#include "vm/encode/encode_scratch.h"
#include "vm/encode/factor_copy.h"
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
  FollowedEncoder(const Kernel& kernel, const Binding& binding, MadeFactor factor,
                  const TargetTraits& target, const TileRequest* request, Arena& arena,
                  Compiled& compiled)
      : kernel_(kernel),
        binding_(binding),
        makes_(factor == MadeFactor::in_tiles && !kernel.before.empty()),
        follows_(!kernel.steps.empty()),
        target_(target),
        request_(request),
        arena_(arena),
        scratch_(arena.scratch()),
        compiled_(compiled) {}

  bool run() {
    if (follows_) {
      if (!bind_unmerged(kernel_, binding_, scratch_.uncut, dims_)) return false;
      spare_casts(scratch_.uncut);
      if (!kernel_.parts.empty()) repeat_behind_reductions(scratch_.uncut);
    }
    return run(bind_product(kernel_, binding_));
  }

 private:
  // Of whole tiles, and those cut short by either side; and makers of rows, whole and cut short.
  static constexpr int kMostFollowers = 4 + 2;
  static constexpr int kCubeTurns = 2;  // the cube works on one tile, vector cores on another

  bool run(Contraction product) {
    if (product.is_empty() || product.k.size == 0) return false;
    if (needs_window_copies(product, target_)) return false;
    if (follows_ && !reduces_rows({scratch_.uncut, dims_}, product)) return false;
    if (!has_cube(target_)) return run_in_place(product);
    return !makes_ && run_by_cube(product);
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
    const auto tiling = makes_ ? tile_made_product(product, follows_, target_)
                               : tile_followed_product(product, scratch_.uncut.reduces(), target_);
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
    if (follows_) product.hand_over(tiling.m, tiling.n);
    if (makes_) product.make_rows(tiling.m);
    programs[0] = take(encode(), follows_ ? product.result : -1);
    compiled_.leader = compiled_.stage_count;
    const int count = 1 + static_cast<int>(followers.size());
    DVM_CHECK(compiled_.leader + count <= kMaxPrograms, "a product has too many Programs");
    std::copy_n(programs, count, scratch_.programs + compiled_.leader);
    compiled_.stage_count += count;
    compiled_.followers = followers;
    if (follows_) compiled_.handed = {product.result, turns, product.handed};
    if (makes_) compiled_.made = {product.a, 1, product.made};
    compiled_.workspace_count = product.global_count - kernel_.operand_count();
    if (core::verifies().load(std::memory_order_relaxed)) {
      verify_followers({.program = programs[0],
                        .globals = {},
                        .followers = followers,
                        .handed = compiled_.handed,
                        .made = compiled_.made});
    }
    return true;
  }

  // `own`: what it writes a tile of for the others.
  Program take(const Program& program, int own) {
    verify_if_asked(program, target_, own);
    arena_.take(program.words().size());
    return program;
  }

  // One for each kind of tile, in the arena; none where there are not all of them.
  std::span<Follower> add_followers(const Contraction& product, const ProductTiling& tiling,
                                    Program* programs) {
    Follower made[kMostFollowers];
    size_t count = 0;
    const bool all = (!follows_ || add_behind(product, tiling, programs, made, count)) &&
                     (!makes_ || add_makers(product, tiling, programs, made, count));
    if (!all) return {};
    static_assert(sizeof(Follower) % sizeof(uint64_t) == 0);
    const auto words = arena_.take(count * sizeof(Follower) / sizeof(uint64_t));
    auto* const kept = reinterpret_cast<Follower*>(words.data());
    std::uninitialized_copy_n(made, count, kept);
    return {kept, count};
  }

  bool add_behind(const Contraction& product, const ProductTiling& tiling, Program* programs,
                  Follower* made, size_t& count) {
    const UnmergedStage behind{scratch_.uncut, dims_};
    for (const bool last_row : {false, true}) {
      for (const bool last_column : {false, true}) {
        const ProductTiles tiles{side(product.m.size, tiling.m, last_row),
                                 side(product.n.size, tiling.n, last_column)};
        if (tiles.m.count == 0 || tiles.n.count == 0) continue;
        const auto program = emit_along(behind, product, tiles, -1);
        if (!program) return false;
        programs[count] = *program;
        made[count++] = follower_of(*program, product, tiles);
      }
    }
    return true;
  }

  // Rows of a are like tiles of a product with its columns: those that are summed along.
  bool add_makers(const Contraction& product, const ProductTiling& tiling, Program* programs,
                  Follower* made, size_t& count) {
    int dims[kMaxRank] = {};
    if (!bind_unmerged(kernel_.before.front(), binding_, scratch_.next, dims)) return false;
    spare_casts(scratch_.next);
    Contraction rows = product;
    rows.n = {.size = product.k.size, .of = dim_bit(kernel_.rank - 1)};
    rows.result = product.a;
    for (const bool last_row : {false, true}) {
      const ProductTiles tiles{side(product.m.size, tiling.m, last_row),
                               {product.k.size, 0, 1, product.k.size}};
      if (tiles.m.count == 0) continue;
      const auto program = emit_along({scratch_.next, dims}, rows, tiles, product.a);
      if (!program) return false;
      programs[count] = *program;
      made[count] = follower_of(*program, rows, tiles);
      made[count++].makes = true;
    }
    return true;
  }

  static Follower follower_of(const Program& program, const Contraction& product,
                              const ProductTiles& tiles) {
    const int64_t all = product.batches() * tiles.m.count * tiles.n.count;
    return {.program = program,
            .first_row = static_cast<int32_t>(tiles.m.first),
            .rows = static_cast<int32_t>(tiles.m.count),
            .first_column = static_cast<int32_t>(tiles.n.first),
            .columns = static_cast<int32_t>(tiles.n.count),
            .tiles = static_cast<int32_t>(program.header().tile_count / all)};
  }

  // Of whole tiles, or of the last one where it is shorter.
  static ProductTiles::Side side(int64_t size, int64_t tile, bool last) {
    const int64_t whole = size / tile;
    if (!last) return {tile, 0, whole, tile};
    return {tile, whole, size % tile == 0 ? 0 : 1, size % tile};
  }

  std::optional<Program> emit_along(const UnmergedStage& steps, const Contraction& product,
                                    const ProductTiles& tiles, int own) {
    if (!cut_along(steps, product, tiles, scratch_.stage)) return std::nullopt;
    Schedules& schedules = scratch_.schedules;
    // What is behind a tile of the cube is for the vector cores of its group.
    const int32_t cores = has_cube(target_) ? kVectorCores : target_.cores;
    schedules.begin(scratch_.stage, target_);
    for (int64_t limit = tile_limit(schedules); limit > 0;) {
      const Tiling tiling = tile(schedules, limit, cores);
      if (tiling.reduction != Tiling::Reduction::in_tile) return std::nullopt;
      const auto program = emit(schedules, tiling, arena_.rest(), scratch_.drafts);
      if (program) return take(*program, own);
      limit = tiling.tile_elements * 7 / 8;
    }
    return std::nullopt;
  }

  const Kernel& kernel_;
  const Binding& binding_;
  const bool makes_, follows_;
  const TargetTraits& target_;
  const TileRequest* const request_;
  Arena& arena_;
  EncodeScratch& scratch_;
  Compiled& compiled_;
  int dims_[kMaxRank] = {};
};

}  // namespace

bool encode_followed_product(const Kernel& kernel, const Binding& binding, MadeFactor factor,
                             const TargetTraits& target, const TileRequest* request, Arena& arena,
                             Compiled& compiled) {
  return FollowedEncoder(kernel, binding, factor, target, request, arena, compiled).run();
}

}  // namespace dvm::vm
