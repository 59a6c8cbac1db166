// The constants of the cost model (cost.def), and the table in use: the defaults, until a
// calibration replaces them, at any time.
#pragma once

#include <bit>
#include <cstdint>

#include "core/ops/dtype.h"

namespace dvm::vm {

enum class CostClass : uint8_t {
#define DVM_COST_CLASS(name, ...) name,
#define DVM_COST(...)
#include "vm/target/cost.def"
#undef DVM_COST
#undef DVM_COST_CLASS
};

inline constexpr int kCostColumns = 7;
inline constexpr const char* kCostColumnNames[kCostColumns] = {"i8",  "i16", "i32", "i64",
                                                               "f16", "f32", "f64"};
constexpr int cost_column(core::DType dtype) {
  const int width = std::countr_zero(static_cast<unsigned>(core::byte_size(dtype)));
  return core::is_floating(dtype) ? 3 + width : width;
}

constexpr int cost_bytes(int column) { return 1 << (column < 4 ? column : column - 3); }

struct CostTable {
  double element_ns[10][kCostColumns] = {
#define DVM_COST_CLASS(name, b1, b2, b4, b8, f16, f32, f64, synopsis) \
  {b1, b2, b4, b8, f16, f32, f64},
#define DVM_COST(...)
#include "vm/target/cost.def"
#undef DVM_COST
#undef DVM_COST_CLASS
  };
#define DVM_COST_CLASS(...)
#define DVM_COST(name, value, least, most, synopsis) double name = value;
#include "vm/target/cost.def"
#undef DVM_COST
#undef DVM_COST_CLASS
};

const CostTable& cost_table();
// The former table stays where it is: other threads may be reading it.
void set_cost_table(const CostTable& measured);

}  // namespace dvm::vm
