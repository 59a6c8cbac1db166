// Packed copies of matrices in frozen memory, and threads that want them.
#include "runtime/memory/frozen_memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <vector>

namespace dvm::runtime {
namespace {

// A target whose packed columns have 64 bytes, and which packs when it may.
class PackingTarget final : public vm::Target {
 public:
  const vm::TargetTraits& traits() const override { return *vm::find_target("cpu"); }
  vm::RunStatus run(std::span<const vm::Launch>) override { return {}; }
  int64_t packed_column(const vm::RightMatrix&) const override { return 64; }
  void pack(const vm::RightMatrix& matrix, std::byte* to) const override {
    begun.set_value();
    may_end.wait();
    *to = *matrix.data;
  }

  mutable std::promise<void> begun;
  std::shared_future<void> may_end;
};

BufferView matrix_view(std::byte* data, int64_t rows) {
  return {.data = data,
          .owner = nullptr,
          .dtype = core::DType::f32,
          .rank = 2,
          .shape = {rows, 16},
          .strides = {64, 4}};
}
vm::RightMatrix right_matrix(const BufferView& view) {
  return {view.data,       view.shape[0],    view.shape[1],    view.strides[0],
          view.strides[1], core::DType::f32, core::DType::f32, core::Precision::highest};
}

class Frozen : public testing::Test {
 protected:
  static constexpr int64_t kRows = 64, kBytes = kRows * 64;

  Frozen() {
    memory_.add(elements_.data(), kBytes);
    target_.may_end = end_.get_future();
  }
  FrozenMemory::Factor find(const BufferView& view) {
    return memory_.find(view, right_matrix(view), target_);
  }
  BufferView view(int64_t rows) { return matrix_view(elements_.data(), rows); }

  std::vector<std::byte> elements_{static_cast<size_t>(kBytes), std::byte{7}};
  FrozenMemory memory_;
  PackingTarget target_;
  std::promise<void> end_;
};

TEST_F(Frozen, FindsWhatLiesInItAlone) {
  EXPECT_TRUE(find(view(kRows)));
  EXPECT_FALSE(find(view(kRows + 1)));
  EXPECT_FALSE(find(matrix_view(elements_.data() - 64, 2)));
  std::vector<BufferView> tensors = {view(kRows + 1), view(kRows), view(1)};
  tensors[2].rank = 1;
  EXPECT_EQ(memory_.which(tensors), uint64_t{0b010});
  memory_.remove(elements_.data());
  EXPECT_FALSE(find(view(kRows)));
  EXPECT_EQ(memory_.which(tensors), 0u);
}

TEST_F(Frozen, PacksOnce) {
  end_.set_value();
  const std::byte* const first = memory_.packed(find(view(kRows)), target_);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(*first, std::byte{7});
  // A second one would end the process: the promise is kept.
  EXPECT_EQ(memory_.packed(find(view(kRows)), target_), first);
  EXPECT_EQ(memory_.stats().packed_bytes, 64 * 64);
}

TEST_F(Frozen, PacksWhileOthersGoOn) {
  PackingTarget quick;
  std::promise<void> at_once;
  at_once.set_value();
  quick.may_end = at_once.get_future();
  const BufferView there = view(8);
  const std::byte* const copy =
      memory_.packed(memory_.find(there, right_matrix(there), quick), quick);
  std::future<const std::byte*> packing =
      std::async(std::launch::async, [&] { return memory_.packed(find(view(kRows)), target_); });
  target_.begun.get_future().wait();
  std::future<const std::byte*> other = std::async(std::launch::async, [&] {
    return memory_.packed(memory_.find(there, right_matrix(there), quick), quick);
  });
  const bool goes_on = other.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  end_.set_value();
  EXPECT_TRUE(goes_on);
  EXPECT_EQ(other.get(), copy);
  EXPECT_NE(packing.get(), nullptr);
}

// Views of a matrix may be without number; copies of them take no more than a few times its memory.
TEST_F(Frozen, HasSoMuchRoomForCopies) {
  end_.set_value();
  PackingTarget each[40];
  int packed = 0;
  for (int64_t k = 0; k < 40; ++k) {
    each[k].may_end = target_.may_end;
    const BufferView part = view(k + 1);
    if (const auto factor = memory_.find(part, right_matrix(part), each[k])) {
      EXPECT_NE(memory_.packed(factor, each[k]), nullptr);
      ++packed;
    }
  }
  EXPECT_EQ(packed, (4 * kBytes + 65536) / (64 * 64));
}

}  // namespace
}  // namespace dvm::runtime
