// Facts: what is known about the Dims of one context, and prove(), which answers yes or no only
// when every assignment of the symbols that satisfies the facts (and on which both sides are
// defined) agrees; everything else is unknown. Facts only ever narrow: fork() gives a child scope.
//
// The store is a small rewriting system over zero polynomials (facts.cpp), intervals and residue
// classes (bounds.cpp). It is incomplete by design, and every step is charged to a budget.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/dims/dim.h"

namespace dvm::core {

enum class Verdict : uint8_t { yes, no, unknown };
enum class DimCmp : uint8_t {
#define DVM_COMPARE(name, op, numpy) name,
#include "core/ops/compare.def"
#undef DVM_COMPARE
};

// Every integer x with lo <= x <= hi; the sentinels are the infinities.
struct Interval {
  static constexpr int64_t kMinusInf = INT64_MIN, kPlusInf = INT64_MAX;
  int64_t lo = kMinusInf, hi = kPlusInf;
  bool empty() const { return lo > hi; }
  bool contains(int64_t x) const { return lo <= x && x <= hi; }
  bool operator==(const Interval&) const = default;
};

// Every integer x with x mod stride == rem; stride 0 is the single integer rem, stride 1 says
// nothing.
struct Residue {
  int64_t stride = 1, rem = 0;
  bool operator==(const Residue&) const = default;
};

class Facts {
 public:
  explicit Facts(std::shared_ptr<DimContext> context);

  void add_equal(Dim a, Dim b);
  void add_range(Dim dim, int64_t lo, int64_t hi);
  void add_divisible(Dim dim, int64_t k, int64_t remainder = 0);  // dim mod k == remainder; k >= 1
  void add_nonzero(Dim dim);
  void add_product_equal(std::span<const Dim> a, std::span<const Dim> b);
  Facts fork() const { return *this; }

  // Set once the facts are seen to exclude each other; from then on prove() answers unknown.
  bool contradictory() const { return contradictory_; }

  // The same size for every assignment that satisfies the facts, in the simplest form known.
  // Dims proved equal by rewriting alone normalise to the same handle.
  Dim normalize(Dim dim) const;
  Interval interval(Dim dim) const;
  Residue residue(Dim dim) const;
  bool nonzero(Dim dim) const;

  DimContext& context() const { return *context_; }

 private:
  friend class Bounds;

  // lead == rest, used from left to right.
  struct Rule {
    DimTerm lead;
    Dim rest;
  };
  struct Range {
    Dim dim;  // no constant term, leading coefficient positive, coefficients coprime
    Interval interval;
  };
  struct Class {
    Dim dim;
    Residue residue;
  };

  // facts.cpp: recording. A new equation is queued; settle() solves the queue and restates what is
  // already known in terms of the solutions.
  void add_interval(Dim dim, Interval interval);
  void add_class(Dim dim, Residue residue);
  void note_nonzero(Dim dim);
  void settle();
  void absorb(Dim zero);
  void keep_meaning(const DimAtom& atom, Dim value);
  void restate();

  // facts_normalize.cpp: rewriting.
  Dim rewrite(const DimAtom& atom) const;
  Dim simplify(const DimAtom& atom) const;
  Dim reduce(Dim dim, const Rule* except = nullptr) const;

  std::shared_ptr<DimContext> context_;
  std::vector<std::pair<const DimAtom*, Dim>> definitions_;
  std::vector<Rule> rules_;
  std::vector<Range> ranges_;
  std::vector<Class> classes_;
  std::vector<Dim> nonzeros_;
  std::vector<Dim> pending_zeros_;
  bool contradictory_ = false;
  mutable std::unordered_map<const DimNode*, Dim> normal_forms_;  // of the present facts
};

Verdict prove(const Facts& facts, DimCmp cmp, Dim a, Dim b);
inline Verdict prove_equal(const Facts& facts, Dim a, Dim b) {
  return prove(facts, DimCmp::eq, a, b);
}

}  // namespace dvm::core
