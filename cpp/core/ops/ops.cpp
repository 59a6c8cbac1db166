// The tables behind graph.h and elementwise.h, expanded from the .def files.
#include <array>
#include <cmath>
#include <limits>

#include "core/graph/graph.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"

namespace dvm::core {

namespace {

constexpr auto kOps = [] {
  using namespace attr;  // the attrs column names its members
  return std::to_array<OpInfo>({
#define DVM_OP(name, arity, cls, attrs, raises, synopsis) \
  {#name, synopsis, arity, OpClass::cls, Raises::raises, attrs},
#include "core/ops/ops.def"
#undef DVM_OP
  });
}();

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<size_t>(op)]; }
std::span<const OpInfo> all_ops() { return kOps; }

bool may_raise(Op op, DType result) {
  const Raises raises = info(op).raises;
  return raises == Raises::any || (raises == Raises::floats && is_floating(result));
}

std::optional<Op> op_from_text(std::string_view name) {
  for (size_t i = 0; i < kOps.size(); ++i) {
    if (kOps[i].name == name) return static_cast<Op>(i);
  }
  return std::nullopt;
}

Scalar identity_value(Identity identity, DType dtype) {
  return dispatch(dtype, [&]<DType D>() {
    const bool low = identity == Identity::lowest;
    if (identity == Identity::zero) return Scalar();
    if constexpr (is_floating(D)) {
      if (identity == Identity::one) return Scalar::of_float(1);
      return Scalar::of_float(low ? -HUGE_VAL : HUGE_VAL);
    } else {
      using Limits = std::numeric_limits<Storage<D>>;
      if (identity == Identity::one) return Scalar::of_int(1);
      if (D == DType::boolean) return Scalar::of_int(low ? 0 : 1);
      return Scalar::of_int(static_cast<int64_t>(low ? Limits::min() : Limits::max()));
    }
  });
}

const ElementwiseInfo* elementwise_info(Op op) {
  const ElementwiseInfo* row = kElementwise;
#define DVM_ELEMENTWISE(name, ...) \
  if (op == Op::name) return row;  \
  ++row;
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
  return nullptr;
}

bool is_comparison(Op op) {
  switch (op) {
#define DVM_COMPARE(name, op, numpy) case Op::name:
#include "core/ops/compare.def"
#undef DVM_COMPARE
    return true;
    default:
      return false;
  }
}

bool computes_as_float(Op op) { return op != Op::nextafter && op != Op::spacing; }

bool combines(Op op, DType dtype) {
  if (is_comparison(op)) return dtype == DType::boolean;
  const ElementwiseInfo* row = elementwise_info(op);
  return row && row->arity == 2 && is_closed(row->operands, row->result, dtype);
}

}  // namespace dvm::core
