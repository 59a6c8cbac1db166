// Regions from text, and calls of them on dense operands, for the tests of prepare() .. encode().
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph.h"
#include "core/region.h"
#include "vm/encode.h"

namespace dvm::vm {

// `body` is a Graph without its first and last line, e.g. "%0 = input f32[s0]\nreturn %0".
inline core::Region region_of(std::string_view body) {
  return {"r0", core::parse_graph("graph v1 {\n" + std::string(body) + "\n}\n")};
}

// The arguments of one call: concrete sizes by symbol, and dense strides unless changed.
struct Call {
  std::vector<int64_t> symbols, dims;
  std::vector<Scalar> scalars;
  std::vector<std::array<int64_t, kMaxRank>> strides;
  std::vector<std::vector<int64_t>> shapes;  // of each operand, aligned to the Kernel's rank
  std::vector<DType> dtypes;

  Call(const core::Region& region, const Kernel& kernel, std::vector<int64_t> symbol_values)
      : symbols(std::move(symbol_values)) {
    for (core::Dim dim : kernel.dims) dims.push_back(*core::evaluate(dim, symbols));
    for (core::Value v : region.body.inputs()) {
      if (region.body.node(v).op == core::Op::input) add(kernel, region.body.type(v));
    }
    for (core::Value v : region.body.outputs) add(kernel, region.body.type(v));
  }

  Binding binding() {
    // vector<array> is the contiguous array of arrays that Binding points to.
    return {dims.data(), scalars.data(),
            reinterpret_cast<const int64_t(*)[kMaxRank]>(strides.data())};
  }

 private:
  void add(const Kernel& kernel, const core::Type& type) {
    std::vector<int64_t> shape(static_cast<size_t>(kernel.rank), 1);
    for (int d = 0; d < type.rank(); ++d) {
      shape[static_cast<size_t>(kernel.rank - type.rank() + d)] =
          *core::evaluate(type.shape[static_cast<size_t>(d)], symbols);
    }
    std::array<int64_t, kMaxRank> dense{};
    int64_t stride = core::byte_size(type.dtype);
    for (size_t d = shape.size(); d-- > 0;) {
      dense[d] = stride;
      stride *= shape[d];
    }
    strides.push_back(dense);
    shapes.push_back(shape);
    dtypes.push_back(type.dtype);
  }
};

inline const TargetTraits& target_named(std::string_view name) { return *find_target(name); }

}  // namespace dvm::vm
