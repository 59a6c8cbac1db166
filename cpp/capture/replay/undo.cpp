#include "capture/replay/undo.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "capture/library/extent.h"
#include "capture/library/library.h"

namespace dvm::capture {

namespace {

uint64_t bits(uint64_t begin, uint64_t end) {
  const uint64_t below = end == 64 ? ~uint64_t{0} : (uint64_t{1} << end) - 1;
  return below & (~uint64_t{0} << begin);
}

int64_t byte_count(const runtime::BufferView& view) {
  int64_t count = core::byte_size(view.dtype);
  for (int d = 0; d < view.rank; ++d) count *= view.shape[d];
  return count;
}

// Copies the bytes whose bits are set, run by run.
void copy_bytes(std::byte* to, const std::byte* from, uint64_t set) {
  while (set != 0) {
    const int begin = std::countr_zero(set);
    const int length = std::countr_one(set >> begin);
    std::memcpy(to + begin, from + begin, static_cast<size_t>(length));
    set &= begin + length == 64 ? 0 : ~uint64_t{0} << (begin + length);
  }
}

}  // namespace

class Undo::Kept {
 public:
  void open(PyObject* array, const Library& library) {
    opened_.push_back({Ref::borrow(array), extent_of(library.view(array)), &library,
                       library.counted_writes(array), false});
  }

  // The open memory that the bytes are part of; null: they are the replay's own.
  const Extent* keep(std::byte* at, size_t bytes) {
    const Opened* const within = opened(at);
    if (within == nullptr) return nullptr;
    keep_run(at, bytes);
    return &within->extent;
  }
  Block* last_block() const { return blocks_.last(); }

  void keep(const runtime::BufferView& view) {
    const Extent extent = extent_of(view);
    if (extent.begin == extent.end) return;
    Opened* const within = opened(view.data);
    if (within == nullptr || (within->is_kept && within->holds(extent))) return;
    keep_axes(view, view.data, 0);
    within->is_kept = extent.end - extent.begin == byte_count(view) &&
                      extent.begin == within->extent.begin && extent.end == within->extent.end;
  }

  void take_back() const {
    blocks_.each([](const Block& block) {
      for (size_t word = 0; word < kWords; ++word) {
        copy_bytes(block.begin + word * kWordBytes, block.was + word * kWordBytes,
                   block.kept[word]);
      }
    });
    // Of two that share memory, and so their count, the first one knows what it was.
    for (auto each = opened_.rbegin(); each != opened_.rend(); ++each) {
      if (each->writes) count_again(*each);
    }
  }

 private:
  struct Opened {
    Ref array;
    Extent extent;
    const Library* library;
    std::optional<uint32_t> writes;  // that its library had counted
    bool is_kept;                    // all that is between its first byte and its last
    bool holds(const Extent& other) const {
      return extent.begin <= other.begin && other.end <= extent.end;
    }
  };

  // What made the replay give up may be an error, which stays.
  static void count_again(const Opened& each) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!each.library->set_counted_writes(each.array.get(), *each.writes)) {
      PyErr_WriteUnraisable(each.array.get());
    }
    PyErr_Restore(type, value, traceback);
  }

  Opened* opened(const std::byte* at) {
    for (Opened& each : opened_) {
      if (each.extent.begin <= at && at < each.extent.end) return &each;
    }
    return nullptr;
  }

  void keep_axes(const runtime::BufferView& view, std::byte* at, int axis) {
    const int64_t item = core::byte_size(view.dtype);
    if (axis == view.rank) return keep_run(at, static_cast<size_t>(item));
    const int64_t count = view.shape[axis], stride = view.strides[axis];
    if (axis + 1 == view.rank && stride == item) {
      return keep_run(at, static_cast<size_t>(count * item));
    }
    for (int64_t i = 0; i < count; ++i) keep_axes(view, at + i * stride, axis + 1);
  }

  void keep_run(std::byte* at, size_t bytes) {
    while (bytes > 0) {
      const size_t place = reinterpret_cast<uintptr_t>(at) % kBlockBytes;
      const size_t count = std::min(bytes, kBlockBytes - place);
      keep_in(blocks_.at(at - place), place, place + count);
      at += count;
      bytes -= count;
    }
  }

  static void keep_in(Block& block, size_t begin, size_t end) {
    for (size_t word = begin / kWordBytes; word * kWordBytes < end; ++word) {
      const size_t first = word * kWordBytes;
      const uint64_t wanted =
          bits(std::max(begin, first) - first, std::min(end, first + kWordBytes) - first);
      const uint64_t fresh = wanted & ~block.kept[word];
      copy_bytes(block.was + first, block.begin + first, fresh);
      block.kept[word] |= fresh;
    }
  }

  // Blocks by where they begin: open addressing.
  class Blocks {
   public:
    Block& at(std::byte* begin) {
      if (last_ != nullptr && last_->begin == begin) return *last_;
      if (2 * (count_ + 1) > slots_.size()) grow();
      Block*& found = find(begin);
      if (found == nullptr) found = make(begin);
      return *(last_ = found);
    }
    Block* last() const { return last_; }
    template <typename Visit>
    void each(const Visit& visit) const {
      for (size_t i = 0; i < count_; ++i) visit(chunks_[i / kChunk][i % kChunk]);
    }

   private:
    static constexpr size_t kChunk = 32;

    Block*& find(std::byte* begin) {
      const size_t mask = slots_.size() - 1;
      size_t at = reinterpret_cast<uintptr_t>(begin) / kBlockBytes * 0x9E3779B97F4A7C15U >> 20;
      for (;; ++at) {
        Block*& slot = slots_[at & mask];
        if (slot == nullptr || slot->begin == begin) return slot;
      }
    }
    void grow() {
      slots_.assign(std::max<size_t>(64, 2 * slots_.size()), nullptr);
      each([&](Block& block) { find(block.begin) = &block; });
    }
    Block* make(std::byte* begin) {
      if (count_ % kChunk == 0) {
        chunks_.push_back(std::make_unique_for_overwrite<Block[]>(kChunk));
      }
      Block& made = chunks_.back()[count_ % kChunk];
      ++count_;
      made.begin = begin;
      std::ranges::fill(made.kept, 0);
      return &made;
    }

    std::vector<std::unique_ptr<Block[]>> chunks_;
    std::vector<Block*> slots_;
    size_t count_ = 0;
    Block* last_ = nullptr;
  };

  std::vector<Opened> opened_;
  Blocks blocks_;
};

Undo::Undo() = default;
Undo::~Undo() = default;

void Undo::open(PyObject* object) {
  const Library* const library = library_of(object);
  if (library == nullptr) return;  // a list, of which turns tell by themselves
  if (kept_ == nullptr) kept_ = std::make_unique<Kept>();
  kept_->open(object, *library);
}

void Undo::keep_elsewhere(std::byte* at, int64_t bytes) {
  if (kept_ == nullptr) return;
  const Extent* const open = kept_->keep(at, static_cast<size_t>(bytes));
  if (open == nullptr) return;
  Block* const block = kept_->last_block();
  last_ = {block, block->begin, *open};
}

void Undo::keep(const runtime::BufferView& elements) {
  if (kept_ != nullptr) kept_->keep(elements);
}

void Undo::keep(PyObject* array) {
  if (kept_ == nullptr) return;
  const Library* const library = library_of(array);
  const auto dtype = library != nullptr ? library->dtype_of(array) : std::nullopt;
  if (!dtype) return;
  runtime::BufferView view;
  library->view(array).read(array, *dtype, view);
  kept_->keep(view);
}

void Undo::take_back() {
  if (kept_ != nullptr) kept_->take_back();
  forget();
}

void Undo::forget() {
  kept_.reset();
  last_ = {};
}

}  // namespace dvm::capture
