#include "vm/encode/memo.h"

#include <algorithm>
#include <new>
#include <type_traits>

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
  uint64_t hash() const { return hash_; }

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
  ++losses_;
  for (Set& set : sets_) {
    for (const Place& place : set) {
      if (place.entry == nullptr) continue;
      place.entry->key = {};
      place.entry->encoded.stamp = 0;
    }
  }
}

void Memo::encode_into(Encoded& encoded, const Kernel& kernel, const Binding& binding,
                       const TargetTraits& target, PhaseTimes* times) {
  const size_t capacity = arena_.capacity();
  encode_watched(kernel, binding, target, arena_, times, encoded);
  if (arena_.capacity() == capacity) return;
  // The block before had no room: the next time it is not begun.
  region_words_ = std::max(region_words_, kKeyWords + arena_.used());
}

Memo::Entry* Memo::next_entry() {
  static_assert(std::is_trivially_destructible_v<Entry> &&
                alignof(Entry) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  return new (room_.get() + made_++ * sizeof(Entry)) Entry;
}

Memo::Encoded& Memo::encode(const Kernel& kernel, const Binding& binding,
                            const TargetTraits& target) {
  make_room();
  KeyWriter writer(arena_.rest().first(kKeyWords));
  write_key(kernel, binding, target, writer);
  const std::span<uint64_t> key = writer.key();
  const uint64_t hash = writer.hash();
  Set& set = sets_[static_cast<size_t>(hash >> 32) % kSets];
  for (const Place& place : set) {
    if (place.hash == hash && place.entry != nullptr && std::ranges::equal(place.entry->key, key)) {
      return place.entry->encoded;
    }
  }

  std::ranges::rotate(set, set.end() - 1);  // the oldest is in front, and gives way
  Place& place = set.front();
  if (place.entry == nullptr) place.entry = next_entry();
  place.hash = hash;
  Entry& entry = *place.entry;
  arena_.take(key.size());
  entry.key = {};  // encode() may throw
  if (entry.encoded.stamp != 0) ++losses_;
  entry.encoded.stamp = 0;
  encode_into(entry.encoded, kernel, binding, target, nullptr);
  entry.key = key;
  entry.encoded.stamp = ++stamps_;
  return entry.encoded;
}

Memo::Encoded& Memo::encode_anew(const Kernel& kernel, const Binding& binding,
                                 const TargetTraits& target, PhaseTimes& times) {
  make_room();
  encode_into(unkept_, kernel, binding, target, &times);
  return unkept_;
}

}  // namespace dvm::vm
