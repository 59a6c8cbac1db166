// bind: a Kernel and the sizes and strides of one call become Stages, each one Program to be.
//
// A Stage is concrete and self-contained: no dims of size 1, dims merged where memory and use
// allow, broadcasts that change nothing aliased away. Sizes 0 and 1 are ordinary: an empty value
// needs no step, and a reduction over an empty extent is a copy of its identity.
//
// All outputs of a Stage move over the same dims, so that each tile writes its own elements. Where
// sizes of 1 make the outputs of a Region disagree, it falls into several Stages. Where reductions
// feed steps, a Stage whose tiles hold the reduced dims in full computes all of the Region
// (bind_fused).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "vm/isa/program.h"
#include "vm/tile/kernel.h"

namespace dvm::vm {

struct Binding {
  const int64_t* dims;    // values of Kernel::dims
  const Scalar* scalars;  // Python numbers, by KernelScalar::index
  // Strides in bytes per dimension of the Region (right-aligned; ignored where the size is 1),
  // inputs first, then outputs.
  const int64_t (*strides)[kMaxRank];
  // Bytes of a column of the right matrix of the product in a copy that is packed (Mode::packed);
  // 0: there is none.
  int64_t packed_column = 0;
};

// Bits of dims. A value whose bit is clear has size 1 there.
using DimMask = uint16_t;
constexpr DimMask dim_bit(int dim) { return static_cast<DimMask>(1u << dim); }

struct StageValue {
  enum class Kind : uint8_t { global, scalar, computed };
  Kind kind = Kind::computed;
  DType dtype = DType::f32;
  DimMask span = 0;
  int16_t index = -1;  // global: the access that reads it; scalar: entry of Stage::scalars
};

// A way through a tensor operand: bytes per step along each dim, 0 where it does not move.
struct StageAccess {
  int16_t global = 0;
  DType dtype = DType::f32;
  // Where its values move; a stored partial also moves along the dims of per_tile, whose stride is
  // one per tile rather than per element.
  DimMask span = 0, per_tile = 0;
  int64_t offset = 0;
  int64_t strides[kMaxRank] = {};
};

struct StageOutput {
  int16_t value = 0, access = 0;
};

// Beyond the Kernel's, what the sizes of a call add. A part (kernel_parts.h) may also write what it
// keeps; bind() leaves what is more to another Stage. A sum in a wider type takes two more steps
// and values for each output (partials.h), the sum of one number or of nothing a scalar for its
// step; recompute.h may have what is left of that room. The Stage that reduces partial results
// reads one for each output that it writes.
inline constexpr int kMaxStageOutputs = 32;
inline constexpr int kMaxStageSteps = kMaxSteps + 2 * kMaxStageOutputs;
inline constexpr int kMaxStageValues = kMaxValues + kMaxSteps + 2 * kMaxStageOutputs;
inline constexpr int kMaxStageAccesses = 64;
static_assert(2 * kMaxStageOutputs <= kMaxStageAccesses);
static_assert(kMaxGlobals + kMaxKept <= kMaxStageAccesses);
static_assert(kMaxValues + kMaxSteps <= kMaxScalars, "a scalar each, at most");
static_assert(kMaxStageAccesses <= kMaxStreams);

// Large and reused from call to call: only the counts are reset, never the arrays.
struct Stage {
  int rank = 0;             // at least 1
  int64_t sizes[kMaxRank];  // each above 1, but for one dim of size 1 where there is no other
  int reduce_begin = 0, reduce_end = 0;  // dims [begin, end) are reduced by every reduction
  int cut = 0;  // dims in front of which tiles have one element: they count what others have cut
  // Whether a tile may hold, must hold or must not hold all of the reduced dims.
  enum class InTile : uint8_t { may, must, never } reduced_in_tile = InTile::may;
  int global_count = 0;  // of the Program's tensor operands
  int value_count = 0, step_count = 0, scalar_count = 0, access_count = 0, output_count = 0;
  StageValue values[kMaxStageValues];  // some are unused
  KernelStep steps[kMaxStageSteps];
  Scalar scalars[kMaxStageValues];
  StageAccess accesses[kMaxStageAccesses];
  StageOutput outputs[kMaxStageOutputs];

  bool reduces() const { return reduce_begin < reduce_end; }
  DimMask reduced() const {
    return static_cast<DimMask>(dim_bit(reduce_end) - dim_bit(reduce_begin));
  }
  // The first dim of the rows that a reduction may read where they lie: of those behind the reduced
  // ones, or where there are none, of these.
  int reduced_rows_begin() const { return reduce_end == rank ? reduce_begin : reduce_end; }
  int64_t reduced_elements() const {
    return std::accumulate(sizes + reduce_begin, sizes + reduce_end, int64_t{1},
                           std::multiplies<>());
  }
  void clear();
  int16_t add_value(const StageValue& value);
  int16_t add_scalar(DType dtype, Scalar value);
  int16_t add_access(const StageAccess& access);
};

// Bits of Kernel::outputs: those of the Region, and in a part also what that keeps. And of
// Stage::outputs.
using OutputMask = uint64_t;
static_assert(kMaxGlobals + kMaxKept < 64 && kMaxStageOutputs < 64);
inline OutputMask all_outputs(const Kernel& kernel) {
  return (OutputMask{1} << kernel.outputs.size()) - 1;
}

inline bool is_output(const Stage& stage, int16_t value) {
  return std::any_of(stage.outputs, stage.outputs + stage.output_count,
                     [&](const StageOutput& output) { return output.value == value; });
}

// The workspaces of a call are operands behind those of the Region: two that Stages of one
// reduction take turns with (partials.h), two for copies of factors of a product
// (encode/factor_copy.h), of which the first is also for one that is made, and one for each value
// that parts of a Kernel leave to each other.
inline constexpr int kFirstCopied = 2, kFirstKept = 4, kMaxWorkspaces = kFirstKept + kMaxKept;
static_assert(kMaxGlobals + kMaxWorkspaces <= kMaxProgramGlobals);

// Makes the Stage of the first output in `todo` that has elements, along with all that can share
// it, up to kMaxStageOutputs. Returns the outputs left to do. stage.output_count is 0 where nothing
// had elements.
OutputMask bind(const Kernel& kernel, const Binding& binding, OutputMask todo, Stage& stage);

// The same of all outputs of a Kernel whose reductions feed steps. `in_tile`: the Stage computes
// them, if its tiles hold the reduced dims; `elements`: with these sizes no reduction is one, and
// bind() does; `parts`: only its parts can be bound.
enum class FusedBinding : uint8_t { in_tile, elements, parts };
FusedBinding bind_fused(const Kernel& kernel, const Binding& binding, Stage& stage);

// All outputs in one Stage whose dims are not merged, for others to cut: dims[d] is the Region's
// dim behind dim d. False where they need several Stages.
bool bind_unmerged(const Kernel& kernel, const Binding& binding, Stage& stage, int* dims);

// The bytes of the left factor of a product that such steps (Kernel::before) make.
int64_t find_made_bytes(const Kernel& before, const Binding& binding);

// The bytes of each value that the parts of a Kernel keep for each other.
void find_kept_bytes(const Kernel& kernel, const Binding& binding, int64_t* bytes);

// Merges adjacent dims that every value spans both or neither of, that are both reduced or neither,
// and whose strides every access allows to be walked as one.
void merge_dims(Stage& stage);

}  // namespace dvm::vm
