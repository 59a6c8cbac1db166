#include "runtime/whole/by_programs.h"

#include <algorithm>
#include <vector>

#include "vm/encode/encode.h"
#include "vm/encode/gather_program.h"

namespace dvm::runtime {

namespace {

// Of the result, outermost first; `indexed` is where the indices move.
struct Dims {
  std::vector<vm::GatherDim> all;
  int indexed = 0;
};

Dims dims_of_take_along(const BufferView& a, const BufferView& indices, const BufferView& result,
                        int axis) {
  Dims dims;
  dims.indexed = axis;
  for (int d = 0; d < a.rank; ++d) {
    dims.all.push_back({result.shape[d], a.strides[d], indices.strides[d], result.strides[d]});
  }
  return dims;
}

// The dims of the indices stand in place of the axis. The last of them is the indexed one, and of
// one index that is no array a dim of size 1.
Dims dims_of_gather(const BufferView& a, const BufferView& indices, const BufferView& result,
                    int axis) {
  Dims dims;
  for (int d = 0; d < axis; ++d) {
    dims.all.push_back({a.shape[d], a.strides[d], 0, result.strides[d]});
  }
  for (int d = 0; d < indices.rank; ++d) {
    const int64_t table = d + 1 == indices.rank ? a.strides[axis] : 0;
    dims.all.push_back({indices.shape[d], table, indices.strides[d], result.strides[axis + d]});
  }
  if (indices.rank == 0) dims.all.push_back({1, a.strides[axis], 0, 0});
  dims.indexed = static_cast<int>(dims.all.size()) - 1;
  for (int d = axis + 1; d < a.rank; ++d) {
    dims.all.push_back({a.shape[d], a.strides[d], 0, result.strides[d + indices.rank - 1]});
  }
  return dims;
}

}  // namespace

bool gather_by_program(core::Op op, const BufferView& a, const BufferView& indices,
                       const BufferView& result, int axis, vm::Target& target) {
  const bool per_element = op == core::Op::take_along;
  const Dims dims = per_element ? dims_of_take_along(a, indices, result, axis)
                                : dims_of_gather(a, indices, result, axis);
  const auto is_empty = [](const vm::GatherDim& dim) { return dim.size == 0; };
  if (std::any_of(dims.all.begin(), dims.all.end(), is_empty)) return true;
  std::vector<uint64_t> words(1024);
  const vm::Program program = vm::encode_gather(
      {a.dtype, dims.all, dims.indexed, a.shape[axis], per_element}, target.traits(), words);
  if (vm::verifies_programs().load(std::memory_order_relaxed)) vm::verify(program.words());
  std::byte* const globals[] = {a.data, indices.data, result.data};
  const vm::Launch launch{program, globals};
  return target.run({&launch, 1}).fault == vm::Fault::none;
}

}  // namespace dvm::runtime
