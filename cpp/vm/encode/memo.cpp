#include "vm/encode/memo.h"

#include <algorithm>

namespace dvm::vm {

namespace {

// Writes a key word by word, and mixes each into a hash.
class KeyWriter {
 public:
  explicit KeyWriter(std::span<uint64_t> words) : words_(words) {}

  void add(uint64_t word) {
    words_[size_++] = word;
    hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15u;
  }
  void add_address(const void* object) { add(reinterpret_cast<uintptr_t>(object)); }

  std::span<uint64_t> key() const { return words_.first(size_); }
  size_t slot(size_t count) const { return static_cast<size_t>(hash_ >> 32) % count; }

 private:
  std::span<uint64_t> words_;
  size_t size_ = 0;
  uint64_t hash_ = 0;
};

// A Kernel is told by its serial number, for another may be made where an old one was; rows of
// targets live as long as the process.
void write_key(const Kernel& kernel, const Binding& binding, const TargetTraits& target,
               KeyWriter& writer) {
  writer.add(kernel.serial);
  writer.add_address(&target);
  writer.add(static_cast<uint64_t>(binding.packed_column));
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    writer.add(static_cast<uint64_t>(binding.dims[i]));
  }
  for (int i = 0; i < kernel.scalar_count; ++i) writer.add(binding.scalars[i].bits());
  for (int global = 0; global < kernel.input_count + kernel.output_count; ++global) {
    for (int d = 0; d < kernel.rank; ++d) {
      writer.add(static_cast<uint64_t>(binding.strides[global][d]));
    }
  }
}

// Not inlined, so that the casts happen between the reads of the flags.
[[gnu::noinline]] void encode_watched(const Kernel& kernel, const Binding& binding,
                                      const TargetTraits& target, Arena& arena, PhaseTimes* times,
                                      Memo::Encoded& encoded) {
  const core::WatchFpFlags watch;
  encoded.compiled = encode(kernel, binding, target, arena, times);
  encoded.raised = watch.raised();
  encoded.work = Memo::kUntold;
}

}  // namespace

void Memo::make_room() {
  if (!starts_over()) return;
  arena_.reset();
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (!entry) continue;
    entry->key = {};
    entry->encoded.stamp = 0;
  }
}

Memo::Encoded& Memo::encode(const Kernel& kernel, const Binding& binding,
                            const TargetTraits& target) {
  make_room();
  KeyWriter writer(arena_.rest().first(kKeyWords));
  write_key(kernel, binding, target, writer);
  const std::span<uint64_t> key = writer.key();
  std::unique_ptr<Entry>& place = entries_[writer.slot(entries_.size())];
  if (!place) place = std::make_unique<Entry>();
  Entry& entry = *place;
  if (std::ranges::equal(entry.key, key)) return entry.encoded;

  arena_.take(key.size());
  entry.key = {};  // encode() may throw
  entry.encoded.stamp = 0;
  encode_watched(kernel, binding, target, arena_, nullptr, entry.encoded);
  entry.key = key;
  entry.encoded.stamp = ++stamps_;
  return entry.encoded;
}

Memo::Encoded& Memo::encode_anew(const Kernel& kernel, const Binding& binding,
                                 const TargetTraits& target, PhaseTimes& times) {
  make_room();
  encode_watched(kernel, binding, target, arena_, &times, unkept_);
  return unkept_;
}

}  // namespace dvm::vm
