#include "runtime/recall.h"

#include <algorithm>

namespace dvm::runtime {

RecallKey::RecallKey(const Plan& plan, const vm::Target& target, std::span<const BufferView> inputs,
                     std::span<const core::Scalar> scalars) {
  size_t size = 2 + scalars.size();
  for (const BufferView& input : inputs) size += 2 * static_cast<size_t>(input.rank);
  fits_ = !plan.regions.empty() && size <= kMost;
  if (!fits_) return;
  add(plan.regions.front().kernel.serial);
  add(reinterpret_cast<uintptr_t>(&target.traits()));
  for (const BufferView& input : inputs) {
    for (int d = 0; d < input.rank; ++d) add(static_cast<uint64_t>(input.shape[d]));
    for (int d = 0; d < input.rank; ++d) add(static_cast<uint64_t>(input.strides[d]));
  }
  for (const core::Scalar& scalar : scalars) add(scalar.bits());
}

bool Recalled::is_for(const RecallKey& key) const {
  if (!std::ranges::equal(key.words(), std::span(words, size))) return false;
  return std::all_of(runs, runs + run_count, [](const Run& run) {
    return run.encoding.encoded->stamp == run.encoding.stamp;
  });
}

bool Recalled::record(const RecallKey& key, const Plan& plan, std::span<const BufferView> buffers,
                      std::span<const Encoding> encoded) {
  constexpr size_t kMaxBuffers = 24;
  int roots[kMaxBuffers];      // of each register, as a Place has it
  int registers[kMaxBuffers];  // of each root
  const auto inputs = static_cast<int>(plan.inputs.size());
  if (static_cast<size_t>(plan.buffers) > kMaxBuffers) return false;
  size = 0;
  allocated_count = run_count = result_count = 0;
  for (int b = 0; b < inputs; ++b) roots[b] = registers[b] = b;
  const auto buffer = [&](int32_t b) -> const BufferView& {
    return buffers[static_cast<size_t>(b)];
  };
  const auto place = [&](int32_t b) {
    return Place{roots[b], buffer(b).data - buffer(registers[roots[b]]).data};
  };
  for (const Instruction& instruction : plan.code) {
    const int32_t* p = plan.pool.data() + instruction.operands;
    switch (instruction.op) {
      case PlanOp::host_alloc: {
        if (allocated_count == kMaxAllocated) return false;
        const int root = inputs + allocated_count;
        roots[instruction.result] = root;
        registers[root] = instruction.result;
        allocated[allocated_count++] = buffer(instruction.result);
        break;
      }
      case PlanOp::transpose:
      case PlanOp::reshape:
      case PlanOp::slice:
        roots[instruction.result] = roots[p[0]];
        break;
      case PlanOp::run: {
        if (run_count == kMaxRuns || static_cast<size_t>(run_count) == encoded.size()) return false;
        Run& run = runs[run_count];
        run.encoding = encoded[static_cast<size_t>(run_count++)];
        run.global_count = 0;
        ++p;
        for (int list = 0; list < 2; ++list) {
          for (int32_t count = *p++; count > 0; --count) {
            if (run.global_count == kMaxGlobals) return false;
            run.globals[run.global_count++] = place(*p++);
          }
        }
        break;
      }
      case PlanOp::ret:
        if (p[0] > kMaxResults) return false;
        for (int32_t k = 0; k < p[0]; ++k)
          results[result_count++] = {place(p[1 + k]), buffer(p[1 + k])};
        break;
      case PlanOp::alloc:
      case PlanOp::undefined:
      case PlanOp::whole:
      case PlanOp::fold:
      case PlanOp::call:
      case PlanOp::free:
        return false;
      default:
        break;  // sizes, and what is checked of them
    }
  }
  std::ranges::copy(key.words(), words);
  size = key.words().size();
  return true;
}

}  // namespace dvm::runtime
