// Dims -> instructions of a Plan. Equal sub-expressions share a register; symbols are read off the
// shapes of arrays, and every size of a shape that binds no symbol becomes a check.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "runtime/plan/plan.h"

namespace dvm::driver {

class SizeCode {
 public:
  SizeCode(runtime::PlanBuilder& builder, const core::DimContext& dims);

  // `buffer` has this type: binds the symbols its sizes determine and checks the others. A size
  // that determines nothing yet waits until its symbols are known, as in core/graph/bind_symbols.h.
  void bind(int32_t buffer, const core::Type& type);
  // A scalar argument, in a register: defines the symbol, or has its value.
  void define(core::Dim symbol, int32_t number);
  // Where all that arrives at once is bound: solves what waits by division, which sizes of 0 fail.
  void settle();

  // The register that holds the size; throws GraphError where no shape tells one of its symbols.
  int32_t value(core::Dim dim, core::Loc loc);
  std::vector<int32_t> values(const core::Shape& shape, core::Loc loc);

  void check(core::DimCmp cmp, int32_t a, int32_t b, std::string note = {});
  // NumPy broadcasting of `from` to `to`: equal, or `from` is 1.
  void check_broadcast(core::Dim from, core::Dim to, core::Loc loc);
  void check_equal(core::Dim a, core::Dim b, core::Loc loc);
  void check_at_least(core::Dim a, core::Dim b, core::Loc loc);

 private:
  struct Equation {
    core::Dim dim;
    int32_t size;         // register
    bool number = false;  // of any sign and magnitude, unlike the size of an array
  };
  using Key = std::tuple<runtime::PlanOp, int64_t, int64_t>;

  void solve();
  bool apply(const Equation& equation, bool divides);
  bool is_known(core::Dim dim) const;
  int32_t literal(int64_t value);
  int32_t emit(runtime::PlanOp op, int32_t a, int32_t b);
  int32_t product(const core::DimTerm& term);
  int32_t atom(const core::DimAtom& atom);
  int32_t compute(core::Dim dim);
  void bind_symbol(int symbol, int32_t size, bool check_low, bool check_high);
  bool first_check(core::DimCmp cmp, int32_t a, int32_t b);

  runtime::PlanBuilder& builder_;
  const core::DimContext& dims_;
  std::vector<int32_t> symbols_;  // registers, -1 while unknown
  std::map<Key, int32_t> known_;
  std::map<std::tuple<core::DimCmp, int32_t, int32_t>, bool> checked_;
  std::vector<Equation> waiting_;
};

}  // namespace dvm::driver
