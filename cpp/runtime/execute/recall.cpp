#include "runtime/execute/recall.h"

#include <algorithm>

#include "core/verifies.h"
#include "runtime/execute/size_math.h"
#include "runtime/memory/frozen_memory.h"
#include "vm/encode/encode.h"

namespace dvm::runtime {

RecallKey::RecallKey(std::vector<uint64_t>& words, const Plan& plan, const vm::Target& target,
                     const FrozenMemory& frozen, std::span<const BufferView> inputs,
                     std::span<const core::Scalar> scalars)
    : fits_(!plan.regions.empty()) {
  if (!fits_) return;
  size_t size = 3 + scalars.size();
  for (const BufferView& input : inputs) size += 2 * static_cast<size_t>(input.rank);
  if (words.size() < size) words.resize(size);
  uint64_t* word = words.data();
  const auto add = [&](uint64_t value) {
    *word++ = value;
    hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15u;
  };
  add(plan.regions.front().kernel.serial);
  add(reinterpret_cast<uintptr_t>(&target.traits()));
  add(frozen.which(inputs));  // which may be read in packed copies
  for (const BufferView& input : inputs) {
    for (int d = 0; d < input.rank; ++d) add(static_cast<uint64_t>(input.shape[d]));
    for (int d = 0; d < input.rank; ++d) add(static_cast<uint64_t>(input.strides[d]));
  }
  for (const core::Scalar& scalar : scalars) add(scalar.bits());
  words_ = {words.data(), size};
}

namespace {

// Of more temporaries it takes too long to find places.
constexpr size_t kMostTemporaries = 1024;

class Writer {
 public:
  Writer(Recalled& to, const Plan& plan, std::span<const BufferView> buffers,
         std::span<const int64_t> sizes, const RunNotes& notes,
         std::span<const Temporary> temporaries)
      : to_(to),
        plan_(plan),
        buffers_(buffers),
        sizes_(sizes),
        notes_(notes),
        block_(static_cast<int32_t>(plan.inputs.size() + plan.constants.size())),
        placement_(place(temporaries)) {
    if (core::verifies()) verify(temporaries, placement_);
    for (int32_t b = 0; b < block_; ++b) roots_.push_back({b, 0, buffer(b).data});
    roots_.resize(static_cast<size_t>(plan.buffers));
  }

  void write() {
    for (const Instruction& instruction : plan_.code) {
      add(instruction, plan_.pool.data() + instruction.operands);
    }
    to_.block_bytes = placement_.bytes;
  }

 private:
  struct Root {
    int32_t root;
    int64_t offset;  // in it, of
    const std::byte* data;
  };

  const BufferView& buffer(int32_t b) const { return buffers_[static_cast<size_t>(b)]; }
  Root& root(int32_t b) { return roots_[static_cast<size_t>(b)]; }
  Recalled::Place place_of(int32_t b) {
    return {root(b).root, root(b).offset + (buffer(b).data - root(b).data)};
  }
  Recalled::View view_of(int32_t b) { return {place_of(b), buffer(b)}; }
  int64_t next_temporary() { return placement_.offsets[taken_++]; }

  void add(const Instruction& instruction, const int32_t* p) {
    const int32_t result = instruction.result;
    switch (info(instruction.op).recall) {
      case Recall::makes: {
        root(result) = {block_ + 1 + made_++, 0, buffer(result).data};
        const core::ByteRange bytes = bytes_of(buffer(result));
        add_step(Recalled::Kind::make, instruction, {&result, 1}).size = bytes.high - bytes.low;
        return;
      }
      case Recall::takes:
        root(result) = {block_, next_temporary(), buffer(result).data};
        return;
      case Recall::views:
        root(result) = root(p[0]);
        return;
      case Recall::runs:
        return add_run(instruction, p);
      case Recall::computes:
        return add_computation(instruction);
      case Recall::frees:
        if (root(p[0]).root > block_) add_step(Recalled::Kind::free, instruction, {});
        return;
      case Recall::gives:
        for (int32_t k = 0; k < p[0]; ++k) to_.results.push_back(view_of(p[1 + k]));
        return;
      case Recall::nothing:
      case Recall::never:
        return;
    }
  }

  Recalled::Step& add_step(Recalled::Kind kind, const Instruction& instruction,
                           std::span<const int32_t> operands) {
    to_.steps.push_back({kind, false, static_cast<int32_t>(&instruction - plan_.code.data()),
                         static_cast<int32_t>(to_.views.size()),
                         static_cast<int32_t>(operands.size())});
    for (const int32_t b : operands) {
      to_.registers.push_back(b);
      to_.views.push_back(view_of(b));
    }
    return to_.steps.back();
  }

  void add_computation(const Instruction& instruction) {
    std::vector<int32_t> buffers;
    int64_t size = 0;
    for (const Operand& operand : operands_of(plan_, instruction)) {
      if (operand.kind == 'i') size = sizes_[static_cast<size_t>(operand.words[0])];
      if (operand.kind != 'b' && operand.kind != 'B') continue;
      buffers.insert(buffers.end(), operand.words.begin(), operand.words.end());
    }
    add_step(Recalled::Kind::compute, instruction, buffers).size = size;
  }

  void add_run(const Instruction& instruction, const int32_t* p) {
    const Recalled::Encoding& encoding = notes_.encodings[to_.encodings.size()];
    to_.encodings.push_back(encoding);
    const bool hands_over = std::ranges::count(notes_.handed_over, to_.encodings.size()) > 0;
    Recalled::Step step{Recalled::Kind::run, hands_over,
                        static_cast<int32_t>(&instruction - plan_.code.data()),
                        static_cast<int32_t>(to_.places.size()), 0};
    const int32_t region = *p++;
    const vm::Compiled& compiled = encoding.encoded->compiled;
    if (compiled.packed >= 0) {
      const int16_t matrix = plan_.regions[static_cast<size_t>(region)].kernel.product->b;
      step.packed = static_cast<int32_t>(to_.packed.size());
      to_.packed.push_back({region, view_of(p[1 + matrix])});
    }
    for (int list = 0; list < 2; ++list) {
      for (int32_t count = *p++; count > 0; --count) to_.places.push_back(place_of(*p++));
    }
    for (int k = 0; k < compiled.workspace_count; ++k) {
      to_.places.push_back({block_, compiled.workspace_bytes[k] > 0 ? next_temporary() : 0});
    }
    step.count = static_cast<int32_t>(to_.places.size()) - step.first;
    to_.steps.push_back(step);
  }

  Recalled& to_;
  const Plan& plan_;
  const std::span<const BufferView> buffers_;
  const std::span<const int64_t> sizes_;
  const RunNotes& notes_;
  const int32_t block_;
  const Placement placement_;
  size_t taken_ = 0;
  int32_t made_ = 0;
  std::vector<Root> roots_;  // of each register
};

bool are_current(std::span<const Recalled::Encoding> encodings) {
  return std::ranges::all_of(encodings, [](const Recalled::Encoding& encoding) {
    return encoding.encoded->stamp == encoding.stamp;
  });
}

bool may_be_recorded(const Plan& plan) {
  return std::ranges::none_of(plan.code, [](const Instruction& instruction) {
    return info(instruction.op).recall == Recall::never;
  });
}

}  // namespace

void Recalled::clear() {
  words.clear();
  steps.clear();
  encodings.clear();
  places.clear();
  registers.clear();
  views.clear();
  packed.clear();
  results.clear();
}

const Recalled* Recalls::find(const RecallKey& key, const vm::Memo& memo) {
  Recalled* const entry = entries_[key.hash() % entries_.size()].get();
  if (entry == nullptr || !std::ranges::equal(key.words(), entry->words)) return nullptr;
  if (entry->losses != memo.losses()) {
    if (!are_current(entry->encodings)) return nullptr;
    entry->losses = memo.losses();
  }
  return entry;
}

void Recalls::record(const RecallKey& key, const Plan& plan, std::span<const BufferView> buffers,
                     std::span<const int64_t> sizes, const RunNotes& notes,
                     std::span<const Temporary> temporaries, const vm::Memo& memo) {
  if (!notes.is_plain || temporaries.size() > kMostTemporaries || !may_be_recorded(plan) ||
      !are_current(notes.encodings))
    return;
  std::unique_ptr<Recalled>& entry = entries_[key.hash() % entries_.size()];
  if (!entry) entry = std::make_unique<Recalled>();
  entry->clear();
  Writer(*entry, plan, buffers, sizes, notes, temporaries).write();
  entry->words.assign(key.words().begin(), key.words().end());
  entry->losses = memo.losses();
}

}  // namespace dvm::runtime
