// The text form of a Dim:
//   sum     := ['-'] product { ('+' | '-') product }
//   product := operand { '*' operand }
//   operand := '-' operand | number | name | function '(' sum ',' sum ')' | '(' sum ')'
// The printer uses the part of it without inner signs and parentheses; a power is a repeated
// factor.
#include <array>
#include <utility>

#include "core/dims/dim_node.h"
#include "core/error.h"
#include "core/text/text_lexer.h"

namespace dvm::core {

namespace {

constexpr std::array<std::pair<DimKind, std::string_view>, 5> kFunctions = {{
    {DimKind::floordiv, "floordiv"},
    {DimKind::mod, "mod"},
    {DimKind::max, "max"},
    {DimKind::min, "min"},
    {DimKind::bcast, "bcast"},
}};
constexpr std::string_view kOverflowText = "overflow";

// Bounds on what parse() accepts: the longest print within the limits of dim.h fits easily.
constexpr size_t kMaxName = 64, kMaxText = size_t{1} << 18;
constexpr int kMaxNesting = 2 * kDimMaxDepth;
constexpr int64_t kMaxWork = int64_t{1} << 20;  // terms touched

std::optional<DimKind> function_named(std::string_view name) {
  for (const auto& [kind, spelling] : kFunctions)
    if (spelling == name) return kind;
  return std::nullopt;
}

void print(Dim dim, std::string& out);

void print(const DimAtom& atom, std::string& out) {
  if (atom.kind == DimKind::symbol) {
    out += atom.self.context().symbol_info(atom.symbol).name;
    return;
  }
  for (const auto& [kind, spelling] : kFunctions)
    if (kind == atom.kind) out += spelling;
  out += '(';
  print(atom.lhs, out);
  out += ", ";
  print(atom.rhs, out);
  out += ')';
}

void print(Dim dim, std::string& out) {
  if (dim.is_overflow()) {
    out += kOverflowText;
    return;
  }
  if (dim.terms().empty()) out += '0';
  bool first = true;
  for (const DimTerm& term : dim.terms()) {
    const bool negative = term.coefficient < 0;
    out += first ? (negative ? "-" : "") : (negative ? " - " : " + ");
    first = false;
    const int64_t magnitude = negative ? -term.coefficient : term.coefficient;
    bool star = magnitude != 1 || term.factors.empty();
    if (star) out += std::to_string(magnitude);
    for (const DimFactor& factor : term.factors)
      for (int i = 0; i < factor.exponent; ++i) {
        if (std::exchange(star, true)) out += '*';
        print(*factor.atom, out);
      }
  }
}

class Parser {
 public:
  Parser(DimContext& context, std::string_view text) : context_(context), text_(text) {}

  Dim whole() {
    if (text_.size() > kMaxText) error("the expression is too long");
    const Dim dim = sum();
    if (skip_spaces(); at_ < text_.size()) error("expected the end of the expression");
    return dim;
  }

 private:
  [[noreturn]] void error(std::string_view what) const {
    std::string found = "the end";
    if (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      constexpr std::string_view kHex = "0123456789abcdef";
      found = 32 <= c && c < 127 ? std::string{'\'', text_[at_], '\''}
                                 : std::string("byte 0x") + kHex[c >> 4] + kHex[c & 15];
    }
    fail(ErrorCode::text_syntax, "dim expression, column " + std::to_string(at_ + 1) + ": " +
                                     std::string(what) + ", found " + found);
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) error(std::string("expected '") + c + "'");
  }
  Dim charge(Dim dim) {
    work_ += static_cast<int64_t>(dim.node()->size) + 1;
    if (work_ > kMaxWork) error("the expression takes too long to simplify");
    return dim;
  }

  Dim sum() {
    // Collected first and added once: adding one by one would be quadratic.
    std::vector<DimTerm> terms;
    bool overflow = false, negative = false;
    do {
      const Dim next = negative ? -product() : product();
      overflow |= next.is_overflow();
      terms.insert(terms.end(), next.terms().begin(), next.terms().end());
      negative = take('-');
    } while (negative || take('+'));
    return charge(overflow ? context_.overflow() : context_.sum(std::move(terms)));
  }

  Dim product() {
    Dim dim = operand();
    while (take('*')) dim = charge(dim * operand());
    return dim;
  }

  Dim operand() {
    struct Nesting {
      int& depth;
      ~Nesting() { --depth; }
    } nesting{++depth_};
    if (depth_ > kMaxNesting) error("the expression is nested too deeply");
    if (take('-')) return -operand();
    if (take('(')) {
      const Dim dim = sum();
      expect(')');
      return dim;
    }
    const size_t start = (skip_spaces(), at_);
    if (start < text_.size() && is_digit(text_[start])) return number();
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (name.empty()) error("expected a number, a name or '('");
    if (name == kOverflowText) return context_.overflow();
    if (const auto kind = function_named(name)) return function(*kind);
    if (const auto symbol = context_.find_symbol(name)) return *symbol;
    if (name.size() <= kMaxName) return context_.symbol(std::string(name));
    at_ = start;
    error("the name is too long");
  }

  Dim function(DimKind kind) {
    expect('(');
    const Dim lhs = sum();
    expect(',');
    const Dim rhs = sum();
    expect(')');
    charge(lhs), charge(rhs);
    return charge(apply(kind, lhs, rhs));
  }

  Dim number() {
    const size_t start = at_;
    Wide value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (!fits(value)) {
        at_ = start;
        error("the number does not fit into 64 bits");
      }
    }
    return context_.constant(static_cast<int64_t>(value));
  }

  DimContext& context_;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  int64_t work_ = 0;
};

}  // namespace

bool is_symbol_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || is_digit(name[0])) return false;
  for (const char c : name)
    if (!is_letter(c) && !is_digit(c)) return false;
  return name != kOverflowText && !function_named(name);
}

std::string to_string(Dim dim) {
  std::string out;
  print(dim, out);
  return out;
}

Dim DimContext::parse(std::string_view text) { return Parser(*this, text).whole(); }

}  // namespace dvm::core
