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
    const bool reads =
        std::find(node.inputs.begin(), node.inputs.end(), source) != node.inputs.end();
    if (reads && kind != OpClass::elementwise) return false;
  }
  return true;
}

}  // namespace dvm::runtime
