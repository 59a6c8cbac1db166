// Bounds: the interval and residue analysis behind Facts. Private to core.
//
// Both are abstract interpretations of a polynomial, sharpened by the recorded facts: a fact about
// q bounds p through p == c*q + rest (one step of Fourier-Motzkin, repeated to a small depth).
// A budget of expressions looked at bounds the cost of every question.
#pragma once

#include "core/dims/dim_node.h"
#include "core/dims/facts.h"

namespace dvm::core {

Interval meet(Interval a, Interval b);
Interval scaled(Interval a, int64_t factor);
Interval shift(Interval a, int64_t offset);

class Bounds {
 public:
  explicit Bounds(const Facts& facts) : facts_(facts) {}

  Interval interval(Dim dim, int depth = kDepth);
  Residue residue(Dim dim, int depth = kDepth);
  bool nonzero(Dim dim, int depth = kDepth);

 private:
  static constexpr int kDepth = 3, kBudget = 1000;

  Interval of_term(const DimTerm& term, int depth);
  Interval of_atom(const DimAtom& atom, int depth);
  Interval by_elimination(Dim dim, int depth);
  Interval by_grouping(Dim dim, int depth);
  Interval by_cases(Dim dim, int depth);
  Interval through(Dim dim, Dim fact, Interval known, int depth);
  Residue residue_of(const DimAtom& atom, int depth);

  const Facts& facts_;
  int budget_ = kBudget;
};

// dim without its content and sign: coprime coefficients, the first one positive; `factor` times
// that is dim. Of 0 it is 0 with factor 1.
struct Primitive {
  Dim dim;
  int64_t factor;
};
Primitive primitive(Dim dim);

// dim divided by those factors of all its terms that are not zero: it is zero where dim is.
Dim cancel_nonzero(Dim dim, Bounds& bounds);

}  // namespace dvm::core
