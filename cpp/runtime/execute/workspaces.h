// Memory for what one Program of a Region leaves to another.
#pragma once

#include <span>

#include "runtime/execute/context.h"

namespace dvm::runtime {

class Workspaces {
 public:
  Workspaces(ExecutionContext::State& state, std::span<const int64_t> bytes)
      : state_(state), bytes_(bytes) {
    for (; count_ < bytes.size() && !missing_; ++count_) {
      data_[count_] = bytes[count_] > 0 ? state.blocks.take(bytes[count_]) : nullptr;
      missing_ = bytes[count_] > 0 && !data_[count_];
    }
  }
  ~Workspaces() {
    for (size_t k = 0; k < count_; ++k) {
      if (data_[k]) state_.give(data_[k], bytes_[k]);
    }
  }
  Workspaces(const Workspaces&) = delete;
  Workspaces& operator=(const Workspaces&) = delete;
  std::span<std::byte* const> data() const { return {data_, count_}; }
  bool missing() const { return missing_; }

 private:
  ExecutionContext::State& state_;
  const std::span<const int64_t> bytes_;
  size_t count_ = 0;
  bool missing_ = false;
  std::byte* data_[vm::kMaxWorkspaces];
};

}  // namespace dvm::runtime
