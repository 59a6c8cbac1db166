// Regions from text, and calls of them on operands in any layout, for the tests of prepare() to
// encode().
#pragma once

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/region.h"
#include "core/reference/reference.h"
#include "vm/encode/encode.h"

namespace dvm::vm {

// `body` is the text of a Graph without its first and last line.
inline core::Region region_of(std::string_view body) {
  return {"r0", core::parse_graph("graph v1 {\n" + std::string(body) + "\n}\n")};
}

inline const TargetTraits& target_named(std::string_view name) { return *find_target(name); }

// A tensor operand somewhere inside a larger buffer.
struct Tensor {
  DType dtype;
  std::vector<int64_t> shape, strides;  // strides in bytes, of the tensor's own rank
  int64_t base = 0;                     // of element 0 in `buffer`
  std::vector<std::byte> buffer;

  Tensor(DType type, std::vector<int64_t> sizes) : dtype(type), shape(std::move(sizes)) {
    strides.resize(shape.size());
    int64_t stride = core::byte_size(dtype);
    for (size_t d = shape.size(); d-- > 0;) {
      strides[d] = stride;
      stride *= shape[d];
    }
    buffer.resize(static_cast<size_t>(stride));
  }

  // Any order of dims in memory, gaps between rows, dims that run backwards.
  void shuffle_layout(std::mt19937_64& random) {
    std::vector<size_t> order(shape.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    int64_t stride = core::byte_size(dtype);
    base = 0;
    for (size_t d : order) {
      strides[d] = random() % 3 == 0 ? -stride : stride;
      if (strides[d] < 0) base += (std::max<int64_t>(shape[d], 1) - 1) * stride;
      stride *= shape[d] + (random() % 3 == 0 ? static_cast<int64_t>(random() % 3) : 0);
    }
    buffer.assign(static_cast<size_t>(stride), std::byte{0});
  }

  // Calls f(index in C order, pointer) for each element.
  template <typename F>
  void for_each(F f) {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, offset = base;
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
        offset += rest % shape[d] * strides[d];
      }
      f(i, buffer.data() + offset);
    }
  }
};

// The arguments of one call of a Kernel: operands are inputs, then outputs, dense at first.
struct Call {
  std::vector<int64_t> symbols, dims;
  std::vector<Scalar> scalars;
  std::vector<Tensor> operands;

  Call(const core::Region& region, const Kernel& kernel, std::vector<int64_t> symbol_values)
      : symbols(std::move(symbol_values)), rank_(kernel.rank) {
    for (core::Dim dim : kernel.dims) dims.push_back(core::evaluate(dim, symbols).value());
    for (core::Value v : region.body.inputs()) {
      if (region.body.node(v).op == core::Op::input) add(region.body.type(v));
    }
    for (core::Value v : region.body.outputs) add(region.body.type(v));
  }

  Binding binding() {
    strides_.clear();
    for (const Tensor& tensor : operands) {
      std::array<int64_t, kMaxRank> aligned{};
      std::copy(tensor.strides.begin(), tensor.strides.end(),
                aligned.begin() + rank_ - static_cast<int>(tensor.strides.size()));
      strides_.push_back(aligned);
    }
    // A vector of arrays is the contiguous array of arrays that Binding points to.
    return {dims.data(), scalars.data(),
            reinterpret_cast<const int64_t(*)[kMaxRank]>(strides_.data())};
  }

 private:
  void add(const core::Type& type) {
    std::vector<int64_t> shape;
    for (core::Dim dim : type.shape) shape.push_back(core::evaluate(dim, symbols).value());
    operands.emplace_back(type.dtype, shape);
  }

  int rank_;
  std::vector<std::array<int64_t, kMaxRank>> strides_;
};

}  // namespace dvm::vm
