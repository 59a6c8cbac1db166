#include "capture/path/plain_bits.h"

#include <algorithm>
#include <unordered_set>

#include "capture/replay/subroutine.h"

namespace dvm::capture {

namespace {

using core::DType;
using core::Op;

// Each of them rounds the one true result, as IEEE 754 has it.
bool rounds_once(Op op) {
  constexpr Op kOnce[] = {Op::add, Op::sub, Op::mul, Op::div, Op::sqrt, Op::square, Op::cast};
  return std::ranges::find(kOnce, op) != std::end(kOnce);
}

// What raises no flag rounds nothing. Halves are computed wider than the library does, and bodies
// may hold anything.
bool has_plain_bits(const core::Node& node) {
  const DType dtype = node.type.dtype;
  if (core::op_class(node.op) == core::OpClass::opaque) return false;
  if (!core::is_floating(dtype) || !core::may_raise(node.op, dtype)) return true;
  return (dtype == DType::f32 || dtype == DType::f64) && rounds_once(node.op);
}

// `seen`: paths that were asked, or are being: what calls itself is within itself.
bool has_plain_bits(const Path& path, std::unordered_set<const Path*>& seen) {
  if (!seen.insert(&path).second) return true;
  if (path.parent != nullptr && !has_plain_bits(*path.parent, seen)) return false;
  return std::ranges::all_of(path.steps, [&](const Step& step) {
    const int32_t* p = path.operands(step);
    if (step.op == StepOp::run_) {
      const auto& nodes = path.segments[static_cast<size_t>(p[0])]->graph.nodes();
      return std::ranges::all_of(nodes, [](const auto& node) { return has_plain_bits(node); });
    }
    if (step.op != StepOp::loop_ && step.op != StepOp::invoke_) return true;
    return std::ranges::all_of(subroutine_of(path.object(p[1])).paths(),
                               [&](const auto& way) { return has_plain_bits(*way, seen); });
  });
}

}  // namespace

bool has_plain_bits(const Path& path) {
  std::unordered_set<const Path*> seen;
  return has_plain_bits(path, seen);
}

}  // namespace dvm::capture
