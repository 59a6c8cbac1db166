#include "vm/target/launch.h"

namespace dvm::vm {

bool conflict(const Launch& a, const Launch& b) {
  const std::span<const Global> of_a = a.program.globals(), of_b = b.program.globals();
  for (size_t i = 0; i < of_a.size(); ++i) {
    const Global& x = of_a[i];
    if (x.low == x.high) continue;
    // As integers: the bytes of a stream begin anywhere from its base.
    const auto x_base = reinterpret_cast<intptr_t>(a.globals[i]);
    for (size_t j = 0; j < of_b.size(); ++j) {
      const Global& y = of_b[j];
      if (y.low == y.high || (x.written | y.written) == 0) continue;
      const auto y_base = reinterpret_cast<intptr_t>(b.globals[j]);
      if (x_base + x.low < y_base + y.high && y_base + y.low < x_base + x.high) return true;
    }
  }
  return false;
}

uint32_t find_waits(std::span<const Launch> earlier, const Launch& launch) {
  uint32_t waits = 0, ended = 0;
  for (size_t k = earlier.size(); k-- > 0;) {
    if ((ended >> k & 1) == 0) {
      if (!conflict(earlier[k], launch)) continue;
      waits |= 1U << k;
    }
    ended |= earlier[k].waits_for;
  }
  return waits;
}

}  // namespace dvm::vm
