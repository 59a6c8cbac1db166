// What a Dim handle points to, and the checked arithmetic of its coefficients. Private to core.
#pragma once

#include <limits>

#include "core/dims/dim.h"

namespace dvm::core {

// Wide enough for every product of two int64.
__extension__ using Wide = __int128;

// INT64_MIN counts as overflow, so that negating a coefficient is always safe.
inline bool fits(Wide x) {
  constexpr Wide kLimit = std::numeric_limits<int64_t>::max();
  return -kLimit <= x && x <= kLimit;
}

inline int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
inline int64_t floor_remainder(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

struct DimNode {
  DimContext* context;
  std::vector<DimTerm> terms;
  bool overflow = false;
  int depth = 0, size = 0;  // measured against kDimMaxDepth and kDimMaxSize
};

inline int64_t constant_term(Dim a) {
  const auto terms = a.terms();
  return !terms.empty() && terms.back().factors.empty() ? terms.back().coefficient : 0;
}

bool is_symbol_name(std::string_view name);

}  // namespace dvm::core
