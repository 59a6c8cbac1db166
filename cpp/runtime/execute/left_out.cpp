#include "runtime/execute/left_out.h"

#include <algorithm>
#include <optional>

namespace dvm::runtime {

namespace {

std::optional<int64_t> size_of(core::Dim dim, const vm::Kernel& kernel, const int64_t* dims) {
  if (const auto constant = dim.as_constant()) return constant;
  const auto found = std::find(kernel.dims.begin(), kernel.dims.end(), dim);
  if (found == kernel.dims.end()) return std::nullopt;  // of a value that no output needs
  return dims[found - kernel.dims.begin()];
}

bool has(const vm::KernelShape& shape, const vm::Kernel& kernel, size_t dim) {
  const auto* const end = shape.begin() + kernel.rank;
  return std::find(shape.begin(), end, static_cast<uint8_t>(dim)) != end;
}

}  // namespace

bool is_size(const vm::Kernel& kernel, size_t dim) {
  const auto has_dim = [&](const vm::KernelShape& shape) { return has(shape, kernel, dim); };
  if (std::ranges::any_of(kernel.shapes, has_dim)) return true;
  if (kernel.attention && std::ranges::any_of(kernel.attention->shape, has_dim)) return true;
  if (!kernel.product) return false;
  const vm::KernelProduct& product = *kernel.product;
  return has_dim(product.a_shape) || has_dim(product.b_shape) || has_dim(product.shape);
}

std::vector<LeftOutKernel> LeftOutKernels::make(const core::Region& region) {
  std::vector<LeftOutKernel> made;
  const core::Graph& body = region.body;
  for (core::Value v = 0; v < body.size(); ++v) {
    const core::Node& node = body.node(v);
    if (core::op_class(node.op) != core::OpClass::elementwise) continue;
    if (!core::may_raise(node.op, node.type.dtype)) continue;
    core::Region alone{region.name, body};
    alone.body.outputs = {v};
    made.push_back({v, vm::prepare(alone)});
  }
  return made;
}

std::vector<LeftOut> left_out(const PlanRegion& region, const int64_t* dims) {
  std::vector<LeftOut> found;
  const core::Graph& body = region.region.body;
  for (const LeftOutKernel& one : region.left_out->of(region.region)) {
    const core::Type& type = body.type(one.value);
    LeftOut left{one.kernel, {}, type.dtype, {}};
    for (core::Dim dim : type.shape) {
      if (const auto size = size_of(dim, region.kernel, dims)) left.shape.push_back(*size);
    }
    if (left.shape.size() < type.shape.size()) continue;
    if (std::count(left.shape.begin(), left.shape.end(), 0) != 0) continue;
    for (core::Dim dim : one.kernel.dims) {
      left.dims.push_back(size_of(dim, region.kernel, dims).value());
    }
    found.push_back(std::move(left));
  }
  return found;
}

}  // namespace dvm::runtime
