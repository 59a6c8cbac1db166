#include "runtime/whole/by_programs.h"

#include <algorithm>
#include <vector>

#include "core/ops/fp_flags.h"
#include "vm/encode/along_program.h"
#include "vm/encode/gather_program.h"

namespace dvm::runtime {

namespace {

using vm::BoxDim;

constexpr size_t kWords = 1024;  // more than any of these Programs has

// Strides of a dim of the result are those of the table, the indices and the result.
struct Dims {
  std::vector<BoxDim> all;  // outermost first
  int indexed = 0;          // where the indices move
};

Dims dims_of_take_along(const BufferView& a, const BufferView& indices, const BufferView& result,
                        int axis) {
  Dims dims;
  dims.indexed = axis;
  for (int d = 0; d < a.rank; ++d) {
    dims.all.push_back({result.shape[d], {a.strides[d], indices.strides[d], result.strides[d]}});
  }
  return dims;
}

// The dims of the indices stand in place of the axis. The last of them is the indexed one, and of
// one index that is no array a dim of size 1.
Dims dims_of_gather(const BufferView& a, const BufferView& indices, const BufferView& result,
                    int axis) {
  Dims dims;
  for (int d = 0; d < axis; ++d) {
    dims.all.push_back({a.shape[d], {a.strides[d], 0, result.strides[d]}});
  }
  for (int d = 0; d < indices.rank; ++d) {
    const int64_t table = d + 1 == indices.rank ? a.strides[axis] : 0;
    dims.all.push_back({indices.shape[d], {table, indices.strides[d], result.strides[axis + d]}});
  }
  if (indices.rank == 0) dims.all.push_back({1, {a.strides[axis], 0, 0}});
  dims.indexed = static_cast<int>(dims.all.size()) - 1;
  for (int d = axis + 1; d < a.rank; ++d) {
    dims.all.push_back({a.shape[d], {a.strides[d], 0, result.strides[d + indices.rank - 1]}});
  }
  return dims;
}

bool is_empty(std::span<const BoxDim> dims) {
  return std::any_of(dims.begin(), dims.end(), [](const BoxDim& dim) { return dim.size == 0; });
}

// The fault that a kernel found.
vm::Fault run(vm::Target& target, std::span<const vm::Launch> launches) {
  const vm::RunStatus status = target.run(launches);
  core::raise(status.flags);
  return status.fault;
}

}  // namespace

vm::Target* runs_programs(vm::Target& target, int64_t positions) {
  return target.kernels() == nullptr && positions <= vm::kMaxTiles ? &target : nullptr;
}

bool gather_by_program(core::Op op, const BufferView& a, const BufferView& indices,
                       const BufferView& result, int axis, vm::Target& target) {
  const bool per_element = op == core::Op::take_along;
  const Dims dims = per_element ? dims_of_take_along(a, indices, result, axis)
                                : dims_of_gather(a, indices, result, axis);
  if (is_empty(dims.all)) return true;
  uint64_t words[kWords];
  const vm::Program program = vm::encode_gather(
      {a.dtype, dims.all, dims.indexed, a.shape[axis], per_element}, target.traits(), words);
  std::byte* const globals[] = {a.data, indices.data, result.data};
  const vm::Launch launch{program, globals};
  return run(target, {&launch, 1}) == vm::Fault::none;
}

void along_by_program(core::Op op, core::Op with, std::span<const BufferView* const> operands,
                      const BufferView& result, int axis, vm::Target& target) {
  const bool begins_elsewhere = op == core::Op::fold || op == core::Op::fold_where;
  vm::AlongSpec spec{.op = op,
                     .with = with,
                     .dtype = operands[0]->dtype,
                     .dims = {},
                     .count = operands[begins_elsewhere ? 1 : 0]->shape[axis],
                     .steps = {}};
  std::vector<BoxDim> dims(static_cast<size_t>(result.rank));
  std::vector<std::byte*> globals;
  const auto add = [&](const BufferView& view) {
    const size_t k = globals.size();
    spec.steps[k] = view.strides[axis];
    for (size_t d = 0; d < dims.size(); ++d) dims[d].strides[k] = view.strides[d];
    globals.push_back(view.data);
  };
  for (const BufferView* operand : operands) add(*operand);
  add(result);
  for (size_t d = 0; d < dims.size(); ++d) dims[d].size = result.shape[d];
  // Of an array of rank 1 a dim of one element is left.
  if (dims.size() > 1) {
    dims.erase(dims.begin() + axis);
  } else {
    dims[0] = {1, {}};
  }
  if (is_empty(dims)) return;
  spec.dims = dims;
  uint64_t words[kWords];
  const vm::Launch launch{vm::encode_along(spec, target.traits(), words), globals};
  run(target, {&launch, 1});
}

void iota_by_programs(const BufferView& result, vm::Target& target) {
  const int64_t size = result.shape[0];
  const int64_t row = vm::first_row(result.dtype, size, target.traits());
  if (size == 0) return;
  std::byte* const globals[] = {result.data, result.data};
  uint64_t words[2][kWords];
  std::vector<vm::Launch> launches;
  const auto count = [&](int64_t begin, int64_t end) {
    const vm::CountSpec spec{result.dtype, begin, end, result.strides[0]};
    vm::Launch launch{vm::encode_count(spec, target.traits(), words[launches.size()]), globals};
    launch.waits_for = vm::find_waits(launches, launch);
    launches.push_back(launch);
  };
  count(0, row);
  if (row < size) count(row, size);
  run(target, launches);
}

}  // namespace dvm::runtime
