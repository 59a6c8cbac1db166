// Comparing the steps of two paths whose registers have different numbers.
#pragma once

#include <vector>

#include "capture/path/path.h"

namespace dvm::capture {

// Which register of a known path each register of a new one is.
class Renaming {
 public:
  explicit Renaming(int32_t registers) : known_(static_cast<size_t>(registers), -1) {}
  int32_t of(int32_t fresh) const { return known_[static_cast<size_t>(fresh)]; }
  void bind(int32_t fresh, int32_t known) { known_[static_cast<size_t>(fresh)] = known; }
  bool same(int32_t known, int32_t fresh) const { return of(fresh) == known; }
  bool same(const std::vector<int32_t>& known, const std::vector<int32_t>& fresh) const;

 private:
  std::vector<int32_t> known_;
};

// A step of a path.
struct StepOf {
  const Path& path;
  const Step& step;
  const int32_t* operands() const { return path.operands(step); }
};

// Whether both do the same with the same registers; then what the fresh one defines is bound.
// Not for name guards and segments, which may differ and still be shared.
bool same_step(StepOf known, StepOf fresh, Renaming& renaming);

// Whether both are one guard with two outcomes: the same question about the same registers.
bool same_question(StepOf known, StepOf fresh, const Renaming& renaming);

// Whether one Plan can serve both, given all the outputs that either wants.
bool same_segment(const Segment& known, const Segment& fresh, const Renaming& renaming);

}  // namespace dvm::capture
