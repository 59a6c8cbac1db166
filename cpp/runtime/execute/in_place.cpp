#include "runtime/execute/in_place.h"

#include <algorithm>
#include <vector>

namespace dvm::runtime {

using core::Op;
using core::OpClass;
using core::Value;

bool may_write_over(const core::Graph& body, size_t input) {
  // Results that sizes of 1 set apart would be written one after the other.
  if (body.outputs.size() != 1) return false;
  const Value result = body.outputs[0];
  if (result + 1 != body.size() || core::op_class(body.node(result).op) != OpClass::elementwise) {
    return false;
  }
  Value source = -1;
  for (const Value v : body.inputs()) {
    if (body.node(v).op == Op::input && input-- == 0) source = v;
  }
  const core::Type &from = body.type(source), &to = body.type(result);
  if (from.dtype != to.dtype || from.shape != to.shape) return false;
  for (const core::Node& node : body.nodes()) {
    const OpClass kind = core::op_class(node.op);
    if (kind == OpClass::reduce) return false;
    // Of a factor that the Region makes, a row is read for all columns of the product.
    const bool makes_factor =
        kind == OpClass::matrix && std::ranges::any_of(node.inputs, [&](Value v) {
          return core::op_class(body.node(v).op) == OpClass::elementwise;
        });
    if (makes_factor) return false;
    const bool reads =
        std::find(node.inputs.begin(), node.inputs.end(), source) != node.inputs.end();
    if (reads && kind != OpClass::elementwise) return false;
  }
  return true;
}

}  // namespace dvm::runtime
