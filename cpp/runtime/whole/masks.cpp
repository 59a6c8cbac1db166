// Blocks of the mask are counted, so that each knows where what it chooses begins; then they are
// gone through by as many threads as that pays for.
#include "runtime/whole/masks.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "runtime/whole/gather.h"
#include "runtime/whole/walk.h"

namespace dvm::runtime {

namespace {

constexpr int64_t kBlock = int64_t{1} << 14;
constexpr int64_t kWord = sizeof(uint64_t);

uint64_t load_word(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// 1 in each byte that is not zero: true may be any other number.
uint64_t ones_of(uint64_t word) {
  constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
  return ((((word & kLow) + kLow) | word) & ~kLow) >> 7;
}

int64_t count_true(const uint8_t* mask, int64_t count) {
  constexpr uint64_t kEvery = 0x0001000100010001, kBytes = 0x00ff00ff00ff00ff;
  int64_t total = 0, i = 0;
  while (i + kWord <= count) {
    // A byte has room for as many.
    const int64_t end = std::min(count / kWord * kWord, i + 255 * kWord);
    uint64_t each = 0;
    for (; i < end; i += kWord) each += ones_of(load_word(mask + i));
    const uint64_t pairs = (each & kBytes) + (each >> 8 & kBytes);
    total += static_cast<int64_t>(pairs * kEvery >> 48);
  }
  for (; i < count; ++i) total += mask[i] != 0;
  return total;
}

// A mask whose elements are neighbours, and how many are true before each block of it.
class Mask {
 public:
  // Nothing where there is no memory.
  static std::unique_ptr<Mask> of(const BufferView& view, vm::Target& target) {
    std::unique_ptr<Mask> mask(new (std::nothrow) Mask(view.shape[0]));
    if (!mask || !mask->allocate(view)) return nullptr;
    const auto count = [](void* context, int64_t begin, int64_t end) noexcept {
      const Mask& all = *static_cast<Mask*>(context);
      for (int64_t k = begin; k < end; ++k) {
        all.before_[static_cast<size_t>(k + 1)] = count_true(all.at(k), all.size(k));
      }
    };
    target.share(mask->blocks_, static_cast<double>(kBlock) / 16, count, mask.get());
    for (int64_t k = 0; k < mask->blocks_; ++k) {
      mask->before_[static_cast<size_t>(k + 1)] += mask->before_[static_cast<size_t>(k)];
    }
    return mask;
  }

  int64_t total() const { return before_[static_cast<size_t>(blocks_)]; }

  // Calls f(from, to) with the position of each that is true, and how many were before it. False
  // where another thread has written the mask since it was counted; `to` is below the total even
  // then.
  template <typename F>
  bool choose(vm::Target& target, F f) const {
    struct Shared {
      const Mask& mask;
      F& f;
      std::atomic<bool> as_counted{true};
    } shared{*this, f};
    const auto work = [](void* context, int64_t begin, int64_t end) noexcept {
      Shared& all = *static_cast<Shared*>(context);
      for (int64_t k = begin; k < end; ++k) {
        if (!all.mask.choose_of(k, all.f)) all.as_counted.store(false, std::memory_order_relaxed);
      }
    };
    target.share(blocks_, static_cast<double>(kBlock), work, &shared);
    return shared.as_counted.load(std::memory_order_relaxed);
  }

 private:
  explicit Mask(int64_t count) : count_(count), blocks_((count + kBlock - 1) / kBlock) {}

  bool allocate(const BufferView& view) {
    before_.reset(new (std::nothrow) int64_t[static_cast<size_t>(blocks_ + 1)]);
    if (!before_) return false;
    before_[0] = 0;
    data_ = reinterpret_cast<const uint8_t*>(view.data);
    if (view.strides[0] == 1 || count_ <= 1) return true;
    dense_.reset(new (std::nothrow) uint8_t[static_cast<size_t>(count_)]);
    if (!dense_) return false;
    for (int64_t i = 0; i < count_; ++i) {
      dense_[static_cast<size_t>(i)] = element<uint8_t>(view.data, i * view.strides[0]);
    }
    data_ = dense_.get();
    return true;
  }

  const uint8_t* at(int64_t block) const { return data_ + block * kBlock; }
  int64_t size(int64_t block) const { return std::min(kBlock, count_ - block * kBlock); }

  // Without a branch for each: what is not chosen is written over by what comes next, of which
  // there is something as long as not all have been seen.
  template <typename F>
  bool choose_of(int64_t block, F f) const {
    const uint8_t* const mask = at(block);
    const int64_t begin = block * kBlock, all = before_[static_cast<size_t>(block + 1)];
    int64_t to = before_[static_cast<size_t>(block)], end = size(block), i = 0;
    if (to == all) return true;
    while (end > 0 && mask[end - 1] == 0) --end;
    const auto look = [&](int64_t at) {
      f(begin + at, std::min(to, all - 1));
      to += mask[at] != 0;
    };
    for (; i + kWord <= end; i += kWord) {
      if (load_word(mask + i) == 0) continue;
      for (int64_t j = 0; j < kWord; ++j) look(i + j);
    }
    for (; i < end; ++i) look(i);
    return to == all;
  }

  int64_t count_, blocks_;
  std::unique_ptr<int64_t[]> before_;
  std::unique_ptr<uint8_t[]> dense_;
  const uint8_t* data_ = nullptr;
};

bool find_positions(const Mask& mask, int64_t* positions, vm::Target& target) {
  return mask.choose(target, [positions](int64_t from, int64_t to) { positions[to] = from; });
}

}  // namespace

bool run_nonzero(const BufferView& mask, const BufferView& result, vm::Target& target) {
  const auto all = Mask::of(mask, target);
  if (!all || all->total() != result.shape[0]) return false;
  std::byte* const data = result.data;
  const int64_t step = result.strides[0];
  if (step == sizeof(int64_t))
    return find_positions(*all, reinterpret_cast<int64_t*>(data), target);
  return all->choose(target,
                     [=](int64_t from, int64_t to) { element<int64_t>(data, to * step) = from; });
}

bool run_compress(const BufferView& a, const BufferView& mask, const BufferView& result, int axis,
                  vm::Target& target) {
  if (mask.shape[0] != a.shape[axis] || !agree_but(axis, a, result)) return false;
  const auto all = Mask::of(mask, target);
  const int64_t total = all ? all->total() : -1;
  if (total != result.shape[axis]) return false;
  const int64_t bytes = core::byte_size(a.dtype);
  if (a.rank == 1 && result.strides[0] == bytes) {
    const std::byte* const from = a.data;
    std::byte* const to = result.data;
    const int64_t step = a.strides[0];
    return core::dispatch_size(a.dtype, [&]<typename T>() {
      return all->choose(target, [=](int64_t i, int64_t k) {
        std::memcpy(to + k * int64_t{sizeof(T)}, from + i * step, sizeof(T));
      });
    });
  }
  // Rows are moved as those of any positions.
  const std::unique_ptr<int64_t[]> positions(new (std::nothrow)
                                                 int64_t[static_cast<size_t>(total)]);
  if (!positions) return false;
  if (!find_positions(*all, positions.get(), target)) return false;
  BufferView indices{
      .data = reinterpret_cast<std::byte*>(positions.get()), .dtype = core::DType::i64, .rank = 1};
  indices.shape[0] = total;
  indices.strides[0] = sizeof(int64_t);
  return run_gather(core::Op::gather, a, indices, result, axis, target);
}

}  // namespace dvm::runtime
