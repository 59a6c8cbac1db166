// One call of a Region on dense arrays, for tools that have sizes and no arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/graph/graph.h"
#include "vm/tile/bind.h"

namespace dvm::driver {

class DenseCall {
 public:
  // `symbols`: the sizes of the Region's symbols, by their index. ShapeError where a Dim is no size
  // with these.
  DenseCall(const core::Graph& body, const vm::Kernel& kernel, std::span<const int64_t> symbols)
      : scalars_(kernel.scalars.size()) {
    for (core::Dim dim : kernel.dims) dims_.push_back(size(dim, symbols));
    int operand = 0;
    auto add = [&](const core::Type& type) {
      int64_t stride = core::byte_size(type.dtype);
      for (int d = type.rank() - 1; d >= 0; --d) {
        strides_[operand][kernel.rank - type.rank() + d] = stride;
        stride *= std::max<int64_t>(size(type.shape[static_cast<size_t>(d)], symbols), 1);
      }
      ++operand;
    };
    for (const core::Node& node : body.nodes()) {
      if (node.op == core::Op::input) add(node.type);
    }
    for (core::Value v : body.outputs) add(body.type(v));
  }

  vm::Binding binding() const { return {dims_.data(), scalars_.data(), strides_}; }

 private:
  static int64_t size(core::Dim dim, std::span<const int64_t> symbols) {
    const std::optional<int64_t> value = core::evaluate(dim, symbols);
    if (!value || *value < 0 || *value > int64_t{1} << 40) {
      core::fail(core::ErrorCode::shape_mismatch,
                 "with these sizes " + core::to_string(dim) + " is no size");
    }
    return *value;
  }

  std::vector<int64_t> dims_;
  std::vector<core::Scalar> scalars_;
  int64_t strides_[vm::kMaxGlobals][core::kMaxRank] = {};
};

}  // namespace dvm::driver
