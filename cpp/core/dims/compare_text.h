// The comparisons of sizes by the names that texts have for them.
#pragma once

#include <optional>
#include <string_view>

#include "core/dims/facts.h"

namespace dvm::core {

inline std::optional<DimCmp> compare_from_text(std::string_view name) {
#define DVM_COMPARE(row, op, numpy) \
  if (name == #row) return DimCmp::row;
#include "core/ops/compare.def"
#undef DVM_COMPARE
  return std::nullopt;
}

}  // namespace dvm::core
