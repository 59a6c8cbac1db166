// What instructions do, whichever version of CPython their code is of: see ops.def.
#pragma once

#include <cstdint>

namespace dvm::capture {

enum class Op : uint8_t {
#define DVM_OP(name) name,
#include "capture/cpython/ops.def"
#undef DVM_OP
  count
};

const char* name_of(Op op);

struct Operation {
  Op op = Op::nothing;
  int32_t arg = 0;
  bool operator==(const Operation&) const = default;
};

}  // namespace dvm::capture
