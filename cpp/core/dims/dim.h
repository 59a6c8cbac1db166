// Dim: the size of a tensor axis as a canonical integer polynomial over symbols and the atoms
// floordiv, mod, max, min and bcast. A DimContext interns them, so two Dims of one context are the
// same expression exactly when their handles are equal.
//
// Canonical forms use no facts: a symbol may be 0 or 1 and a divisor may be 0. What facts add is
// in core/dims/facts.h. Arithmetic is checked int64; what overflows, divides by the constant 0 or
// grows beyond the limits below is the poisoned Dim `overflow`, which absorbs every operation.
// Canonicalising may drop a sub-expression that would fail (x - x is 0 even if x divides by zero).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dvm::core {

class DimContext;
struct DimNode;
struct DimAtom;
struct DimTerm;

inline constexpr int64_t kDimMax = int64_t{1} << 62;

// Dims beyond these are poisoned: they bound the cost of every operation on hostile input.
inline constexpr int kDimMaxDepth = 48;   // nesting of atoms
inline constexpr int kDimMaxDegree = 32;  // of one product
inline constexpr int kDimMaxSize = 1024;  // factors of the fully written expression

// A size that is known only at run time. 0 and 1 are excluded only where lo says so.
struct Symbol {
  std::string name;
  int64_t lo = 0, hi = kDimMax;
};

enum class DimKind : uint8_t {
  constant,
  symbol,
  add,
  mul,
  floordiv,
  mod,
  max,
  min,
  bcast,
  overflow
};

// A handle with value semantics; it must not outlive its context. Default constructed it is "none",
// on which only comparison and bool are defined.
class Dim {
 public:
  Dim() = default;
  explicit Dim(const DimNode* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Dim&) const = default;

  // The outermost form: `add` has several terms, `mul` is one term that is no lone atom.
  DimKind kind() const;
  std::optional<int64_t> as_constant() const;
  bool is_symbol() const { return kind() == DimKind::symbol; }
  int symbol_index() const;  // only of a symbol
  bool is_overflow() const;

  // The sum of products, in canonical order (degree falls, the constant is last); empty for 0 and
  // for overflow. A compiler of Dims walks terms, then factors, then the operands of each atom.
  std::span<const DimTerm> terms() const;
  const DimAtom* as_atom() const;  // the one atom this Dim consists of, or null

  DimContext& context() const;
  const DimNode* node() const { return node_; }

 private:
  const DimNode* node_ = nullptr;
};

// What is not a polynomial: a symbol, or a function of two Dims. Interned, never modified.
struct DimAtom {
  DimKind kind;     // symbol, floordiv, mod, max, min or bcast
  int symbol = -1;  // index in the context, for kind symbol
  Dim lhs, rhs;     // operands of the others
  Dim self;         // this atom as a Dim
};

struct DimFactor {
  const DimAtom* atom;
  int exponent;  // >= 1
  bool operator==(const DimFactor&) const = default;
};

// coefficient * product of factors; factors are in canonical order, none for the constant term.
struct DimTerm {
  int64_t coefficient;  // never 0
  std::vector<DimFactor> factors;
  bool operator==(const DimTerm&) const = default;
};

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim operator+(Dim a, int64_t b);
Dim operator-(Dim a, int64_t b);
Dim operator*(Dim a, int64_t b);
Dim operator+(int64_t a, Dim b);
Dim operator-(int64_t a, Dim b);
Dim operator*(int64_t a, Dim b);
Dim operator-(Dim a);

// Rounding is towards minus infinity and mod has the sign of b, as in Python.
Dim floor_div(Dim a, Dim b);
Dim mod(Dim a, Dim b);
Dim ceil_div(Dim a, Dim b);  // -floor_div(-a, b)
Dim max(Dim a, Dim b);
Dim min(Dim a, Dim b);

// The size NumPy broadcasting gives two sizes: a if a == b or b == 1, b if a == 1. Unequal
// constants throw ShapeError. With one constant c other than 1 the result is c itself; whoever
// builds it owes the run-time check that the other size is 1 or c.
Dim bcast(Dim a, Dim b);

class DimContext : public std::enable_shared_from_this<DimContext> {
 public:
  static std::shared_ptr<DimContext> create();
  ~DimContext();
  DimContext(const DimContext&) = delete;
  DimContext& operator=(const DimContext&) = delete;

  Dim constant(int64_t value);
  Dim overflow();
  // The symbol of that name, new or existing; throws GraphError if it exists with another range or
  // the range is empty or beyond +-kDimMax. A name is a C identifier that names no function.
  Dim symbol(std::string name, int64_t lo = 0, int64_t hi = kDimMax);
  std::optional<Dim> find_symbol(std::string_view name) const;
  Dim symbol_at(int index) const;
  int symbol_count() const { return static_cast<int>(symbols_.size()); }
  const Symbol& symbol_info(int index) const { return symbols_[static_cast<size_t>(index)]; }

  // Inverse of to_string; symbols not yet known are declared with the default range. Throws
  // FormatError (text_syntax) naming the column.
  Dim parse(std::string_view text);

  // For builders of Dims inside core: a sum of terms in any order (their factors in canonical
  // order), and an atom that no rule of its kind simplifies.
  Dim sum(std::vector<DimTerm> terms);
  Dim atom(DimKind kind, Dim lhs, Dim rhs);

 private:
  struct Tables;
  DimContext();
  Dim intern(std::vector<DimTerm> terms, bool poisoned);

  std::unique_ptr<Tables> tables_;
  std::deque<Symbol> symbols_;
  std::vector<Dim> symbol_dims_;
};

// "s0*s1 + 2*s0 - 1", "floordiv(s0 + 3, 4)", "bcast(s0, s1)", "overflow". Depends on the structure
// and the names alone, so equal Dims of different contexts print alike.
std::string to_string(Dim dim);

// The value with symbol i set to symbol_values[i]; none on overflow, division by zero or a failing
// bcast. Allocates nothing.
std::optional<int64_t> evaluate(Dim dim, std::span<const int64_t> symbol_values);

// Indices of the symbols that occur anywhere in it, ascending.
std::vector<int> symbols_of(Dim dim);

// The canonical order of expressions and of products (graded lexicographic, the greater product
// first): <0, 0, >0. 0 only for the same one.
int compare(Dim a, Dim b);
int compare_products(std::span<const DimFactor> a, std::span<const DimFactor> b);

// What is left of `whole` once `part` is divided out; none where it does not divide.
std::optional<std::vector<DimFactor>> divide_product(std::span<const DimFactor> whole,
                                                     std::span<const DimFactor> part);

// The binary function of that kind (floordiv, mod, max, min or bcast).
Dim apply(DimKind kind, Dim lhs, Dim rhs);

// The polynomial with f(atom) in place of each of its atoms; operands of atoms are f's business.
template <class F>
Dim map_atoms(Dim dim, F&& f);

// The quotient and remainder of polynomial division by the leading term of b (exact identity
// a == q*b + r); q is 0 where nothing divides.
struct DimQuotient {
  Dim quotient, remainder;
};
DimQuotient divide(Dim a, Dim b);

template <class F>
Dim map_atoms(Dim dim, F&& f) {
  if (dim.is_overflow()) return dim;
  Dim result = dim.context().constant(0);
  for (const DimTerm& term : dim.terms()) {
    Dim product = dim.context().constant(term.coefficient);
    for (const DimFactor& factor : term.factors) {
      const Dim value = f(*factor.atom);
      for (int i = 0; i < factor.exponent; ++i) product = product * value;
    }
    result = result + product;
  }
  return result;
}

}  // namespace dvm::core
