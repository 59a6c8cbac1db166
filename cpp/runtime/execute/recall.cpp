#include "runtime/execute/recall.h"

#include <algorithm>

#include "runtime/memory/frozen_memory.h"

namespace dvm::runtime {

RecallKey::RecallKey(const Plan& plan, const vm::Target& target, const FrozenMemory& frozen,
                     std::span<const BufferView> inputs, std::span<const core::Scalar> scalars) {
  size_t size = 3 + scalars.size();
  for (const BufferView& input : inputs) size += 2 * static_cast<size_t>(input.rank);
  fits_ = !plan.regions.empty() && size <= kMost;
  if (!fits_) return;
  add(plan.regions.front().kernel.serial);
  add(reinterpret_cast<uintptr_t>(&target.traits()));
  add(frozen.which(inputs));  // which may be read in packed copies
  for (const BufferView& input : inputs) {
    for (int d = 0; d < input.rank; ++d) add(static_cast<uint64_t>(input.shape[d]));
    for (int d = 0; d < input.rank; ++d) add(static_cast<uint64_t>(input.strides[d]));
  }
  for (const core::Scalar& scalar : scalars) add(scalar.bits());
}

namespace {

// Of the run that has just ended. False: this Plan has no record.
bool write(Recalled& to, const Plan& plan, std::span<const BufferView> buffers,
           std::span<const Recalled::Encoding> encoded) {
  constexpr size_t kMaxBuffers = 24;
  int roots[kMaxBuffers];      // of each register, as a Place has it
  int registers[kMaxBuffers];  // of each root
  const auto given = static_cast<int>(plan.inputs.size() + plan.constants.size());
  if (static_cast<size_t>(plan.buffers) > kMaxBuffers) return false;
  to.allocated_count = to.run_count = to.result_count = 0;
  for (int b = 0; b < given; ++b) roots[b] = registers[b] = b;
  const auto buffer = [&](int32_t b) -> const BufferView& {
    return buffers[static_cast<size_t>(b)];
  };
  const auto place = [&](int32_t b) {
    return Recalled::Place{roots[b], buffer(b).data - buffer(registers[roots[b]]).data};
  };
  for (const Instruction& instruction : plan.code) {
    const int32_t* p = plan.pool.data() + instruction.operands;
    switch (info(instruction.op).recall) {
      case Recall::makes: {
        if (to.allocated_count == Recalled::kMaxAllocated) return false;
        const int root = given + to.allocated_count;
        roots[instruction.result] = root;
        registers[root] = instruction.result;
        to.allocated[to.allocated_count++] = buffer(instruction.result);
        break;
      }
      case Recall::views:
        roots[instruction.result] = roots[p[0]];
        break;
      case Recall::runs: {
        if (to.run_count == Recalled::kMaxRuns ||
            static_cast<size_t>(to.run_count) == encoded.size())
          return false;
        Recalled::Run& run = to.runs[to.run_count];
        run.encoding = encoded[static_cast<size_t>(to.run_count++)];
        run.global_count = 0;
        ++p;
        for (int list = 0; list < 2; ++list) {
          for (int32_t count = *p++; count > 0; --count) {
            if (run.global_count == Recalled::kMaxGlobals) return false;
            run.globals[run.global_count++] = place(*p++);
          }
        }
        break;
      }
      case Recall::gives:
        if (p[0] > Recalled::kMaxResults) return false;
        for (int32_t k = 0; k < p[0]; ++k)
          to.results[to.result_count++] = {place(p[1 + k]), buffer(p[1 + k])};
        break;
      case Recall::never:
        return false;
      case Recall::sizes:
        break;
    }
  }
  return true;
}

}  // namespace

const Recalled* Recalls::find(const RecallKey& key) const {
  const Recalled* const entry = entries_[key.hash() % entries_.size()].get();
  if (entry == nullptr || !std::ranges::equal(key.words(), std::span(entry->words, entry->size))) {
    return nullptr;
  }
  const bool current = std::all_of(
      entry->runs, entry->runs + entry->run_count,
      [](const Recalled::Run& run) { return run.encoding.encoded->stamp == run.encoding.stamp; });
  return current ? entry : nullptr;
}

void Recalls::record(const RecallKey& key, const Plan& plan, std::span<const BufferView> buffers,
                     std::span<const Recalled::Encoding> encoded) {
  std::unique_ptr<Recalled>& entry = entries_[key.hash() % entries_.size()];
  if (!entry) entry = std::make_unique<Recalled>();
  entry->size = 0;
  if (!write(*entry, plan, buffers, encoded)) return;
  std::ranges::copy(key.words(), entry->words);
  entry->size = key.words().size();
}

}  // namespace dvm::runtime
