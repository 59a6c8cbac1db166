// The Schedule of a Stage in tiles of one shape: which steps become one instruction, what is read
// and written where it lies and what has a slot, and what all that uses. Made in one pass over the
// steps, priced by tile_cost.h for every size of such tiles, and what emit() writes.
#pragma once

#include <cstdint>

#include "vm/target/cost.h"
#include "vm/target/target.h"
#include "vm/tile/bind.h"
#include "vm/tile/liveness.h"
#include "vm/tile/tile_rows.h"

namespace dvm::vm {

// What the tiles of a Stage use.
struct TileUse {
  // Weights are bytes per `unit` elements of a tile: a value that lacks the reduced dims has that
  // many times fewer elements. What is copied from or to operands that are no runs of memory is not
  // counted: it depends on the sizes of the tile.
  int64_t live = 0;   // of values in slots, at their peak
  int64_t moved = 0;  // between instructions, or by one that reads an operand once more
  int slots = 0;      // at their peak
  int instructions = 0, chains = 0, micro_ops = 0;
  int64_t expanded[kCostColumns] = {};  // elements of broadcasts that are work, by their dtype
};

struct Schedule {
  // Steps [begin, end) that become one instruction; those whose value has another root are none.
  struct Run {
    int16_t begin, end;
    int8_t width;     // of the elements of a chain; kNoChain of a step by itself
    bool reads_rows;  // of a reduction: it adds up rows where they lie
  };
  static constexpr int16_t kNever = INT16_MAX;

  TileShape shape;
  int run_count;
  Run runs[kMaxStageSteps];
  // The value that stands for each: that of a broadcast which is no work, or which chains read as
  // it is and other steps expand, is its source.
  int16_t root[kMaxStageValues];
  LastUse last_use;
  int16_t first_output[kMaxStageValues],
      next_output[kMaxStageOutputs];  // lists by root, ended by -1
  OutputMask far;                     // outputs that are stored from slots past the caches
  // Bits of accesses that chains may read as rows, until a run of another kind has loaded them; and
  // of those that some run reads or writes as rows.
  uint64_t may_be_rows, used_as_rows;
  int16_t loaded_by[kMaxStageAccesses];  // the first run for which the input is loaded, or kNever
  TileUse use;
  bool counted;  // whether the use is known

  // Whether the run, a chain of that width, reads the input as rows. One of bools alone has no
  // width, and does not.
  bool is_rows(const Stage& stage, int16_t value, int run, int width) const {
    const StageValue& of = stage.values[value];
    return may_be_rows != 0 && of.kind == StageValue::Kind::global &&
           (may_be_rows >> of.index & 1) != 0 && loaded_by[of.index] >= run &&
           core::byte_size(of.dtype) <= width;
  }
  // Whether a chain of that width, which ends with step `end`, writes what it computes as rows
  // where the output lies, which then is all that becomes of it.
  bool is_written_as_rows(const Stage& stage, int16_t value, int end, int width) const {
    const int output = first_output[value];
    return output >= 0 && next_output[output] < 0 && last_use[value] < end &&
           (shape.column_rows >> stage.outputs[output].access & 1) != 0 &&
           stage.values[value].kind == StageValue::Kind::computed &&
           core::byte_size(stage.values[value].dtype) <= width;
  }
  // Whether the input is read for the outputs that it is, and nothing else.
  bool is_only_copied(const Stage& stage, int16_t value) const {
    const StageValue& of = stage.values[value];
    return of.kind == StageValue::Kind::global && loaded_by[of.index] == run_count;
  }
  bool has_output(int16_t value) const { return first_output[value] >= 0; }
  bool is_used_as_rows(int access) const { return (used_as_rows >> access & 1) != 0; }
  bool is_loaded(int access) const { return loaded_by[access] != kNever; }
};

// What is known of a Stage whatever its tiles.
struct StageFacts {
  int64_t unit = 1;      // see TileUse
  DimMask reduced = 0;   // the dims whose lack makes a value short: all, where there are none
  int64_t streamed = 0;  // the weight of operands in place, where the target streams
  int reductions = 0;    // steps
  bool one_span = true;  // of all that steps read and write
  OutputMask large = 0;  // outputs that do not stay in the caches
  int8_t width[kMaxStageSteps];  // chain_width() of each step, where the target makes chains

  int64_t weight(DType dtype, DimMask span) const {
    if (span == 0) return 0;  // one element: the padding of slots has room for it
    return core::byte_size(dtype) * ((span & reduced) == 0 ? 1 : unit);
  }
};

// The Schedules of one Stage: one for each shape of tiles that it was asked for, of the last few.
class Schedules {
 public:
  void begin(const Stage& stage, const TargetTraits& target);
  // `counted`: with its use.
  Schedule& of(const Tiling& tiling, bool counted = true);
  // Where the run turned out too long for one instruction: it ends with `end`, and others follow.
  void cut(Schedule& schedule, int run, int end) const;

  const Stage& stage() const { return *stage_; }
  const TargetTraits& target() const { return *target_; }
  const StageFacts& facts() const { return facts_; }

 private:
  static constexpr int kKept = 4;
  const Stage* stage_ = nullptr;
  const TargetTraits* target_ = nullptr;
  StageFacts facts_;
  int made_ = 0;
  TileShape keys_[kKept];
  Schedule kept_[kKept];
};

}  // namespace dvm::vm
