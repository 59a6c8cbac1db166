// A scanner for dvm's text forms (Graph, Plan, Program). A parser asks for what its grammar expects
// next; anything else is a FormatError naming the line. White space separates tokens, and '#'
// starts a comment that runs to the end of the line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/dims/dim.h"

namespace dvm::core {

inline bool is_digit(char c) { return '0' <= c && c <= '9'; }
inline bool is_letter(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_';
}

class TextLexer {
 public:
  // `what` begins every error message, e.g. "graph".
  TextLexer(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  bool at_end();
  int line() const { return line_; }

  // Punctuation: exactly these characters, e.g. "->". take() consumes them if they are next.
  bool take(std::string_view punctuation);
  void expect(std::string_view punctuation);
  bool next_is(std::string_view punctuation);

  // A word: a letter or '_', then letters, digits or '_'.
  std::string_view word(std::string_view expected);  // `expected` says what, for the error
  bool take_word(std::string_view word);
  void expect_word(std::string_view word);
  bool next_is_word();

  int64_t integer(int64_t lo, int64_t hi);  // [-] decimal or 0x digits
  uint64_t natural();                       // decimal or 0x digits, up to 64 bits
  double real();                            // decimal or hexadecimal, inf, nan, nan(0xbits)
  std::string quoted();                     // the inverse of quote()
  Dim dim(DimContext& dims);                // up to a ',' or bracket outside of its own brackets

  // open [element {, element}] close. Lists may nest kMaxNesting deep.
  void list(std::string_view open, std::string_view close, const std::function<void()>& element);

  [[noreturn]] void error(const std::string& message) const;
  // "expected X, found Y" at the next token.
  [[noreturn]] void unexpected(std::string_view expected);

 private:
  static constexpr int kMaxNesting = 64;
  void skip();
  // The digits that are next and where they end; nothing if 64 bits cannot hold them.
  std::optional<uint64_t> digits(size_t& end);
  std::string_view rest() const { return text_.substr(at_); }

  std::string what_;
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int nesting_ = 0;
};

// What the lexer reads back: bits survive, and the spelling does not depend on the locale.
std::string quote(std::string_view text);
std::string real_text(double value);

}  // namespace dvm::core
