// Programs of the ops that go along one axis of an array, element after element: scans, folds, the
// positions of extremes, and counting. For targets that have no other way to run them: the
// simulated ones. Tiles are cut from the other dims; a tile goes along the axis in a loop, and
// keeps in slots what it has so far.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/graph.h"
#include "vm/encode/box_tiles.h"
#include "vm/isa/program.h"
#include "vm/target/target.h"

namespace dvm::vm {

// Operands are those of the op in core/ops/ops.def, then its result; they are the globals, too.
struct AlongSpec {
  core::Op op;                     // scan, fold, fold_where, argmax, argmin
  core::Op with;                   // what combines two elements; of the last two nothing
  DType dtype;                     // of the elements
  std::span<const BoxDim> dims;    // but the axis; at least one, none empty
  int64_t count;                   // elements along the axis: for scans and extremes at least one
  int64_t steps[kMaxBoxOperands];  // bytes from one of them to the next, in each operand
};
// At most kMaxTiles steps of a loop.
Program encode_along(const AlongSpec& spec, const TargetTraits& target, std::span<uint64_t> words);

// The numbers from `begin` to `end`, in two Programs: the second goes on in whole rows from what
// the first has written.
struct CountSpec {
  DType dtype;
  int64_t begin, end;
  int64_t step;  // bytes from one number to the next
};
// How many of `size` numbers to count one by one, so that few steps are left. No more than the
// dtype holds exactly and a tile has room for.
int64_t first_row(DType dtype, int64_t size, const TargetTraits& target);
// With begin == 0: one global, the result. Else two, both of which are the result: [0, begin) is
// read, the rest written.
Program encode_count(const CountSpec& spec, const TargetTraits& target, std::span<uint64_t> words);

}  // namespace dvm::vm
