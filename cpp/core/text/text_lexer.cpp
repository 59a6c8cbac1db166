// Scans on demand, without a token stream: what a character means depends on what the grammar
// expects at that place (an integer, a real, a Dim), so there is nothing to classify beforehand.
#include "core/text/text_lexer.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "core/error.h"

namespace dvm::core {

namespace {

constexpr uint64_t kPlainNaN = 0x7ff8000000000000;

bool is_printable(char c) { return 32 <= c && c < 127; }

size_t word_length(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && (is_letter(text[n]) || (n > 0 && is_digit(text[n])))) ++n;
  return n;
}

std::string hex(uint64_t value, int digits = 1) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (; value != 0 || static_cast<int>(text.size()) < digits; value >>= 4)
    text.insert(text.begin(), kDigits[value & 15]);
  return text;
}

}  // namespace

void TextLexer::error(const std::string& message) const {
  fail(ErrorCode::text_syntax, what_ + ", line " + std::to_string(line_) + ": " + message);
}

void TextLexer::unexpected(std::string_view expected) {
  skip();
  std::string found = "the end of the text";
  if (const size_t length = word_length(rest())) {
    found = "'" + std::string(rest().substr(0, std::min<size_t>(length, 40))) + "'";
  } else if (!rest().empty()) {
    const char c = rest()[0];
    found = is_printable(c) ? std::string{'\'', c, '\''}
                            : "byte 0x" + hex(static_cast<unsigned char>(c), 2);
  }
  error("expected " + std::string(expected) + ", found " + found);
}

void TextLexer::skip() {
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
    if (at_ == text_.size()) break;
    if (text_[at_] == '\n') {
      ++line_;
    } else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r') {
      break;
    }
  }
}

bool TextLexer::at_end() { return skip(), at_ == text_.size(); }

bool TextLexer::next_is(std::string_view punctuation) {
  return skip(), rest().starts_with(punctuation);
}
bool TextLexer::take(std::string_view punctuation) {
  if (!next_is(punctuation)) return false;
  at_ += punctuation.size();
  return true;
}
void TextLexer::expect(std::string_view punctuation) {
  if (!take(punctuation)) unexpected("'" + std::string(punctuation) + "'");
}

bool TextLexer::next_is_word() { return skip(), word_length(rest()) > 0; }
std::string_view TextLexer::word(std::string_view expected) {
  if (!next_is_word()) unexpected(expected);
  const std::string_view found = rest().substr(0, word_length(rest()));
  at_ += found.size();
  return found;
}
bool TextLexer::take_word(std::string_view word) {
  skip();
  if (rest().substr(0, word_length(rest())) != word) return false;
  at_ += word.size();
  return true;
}
void TextLexer::expect_word(std::string_view word) {
  if (!take_word(word)) unexpected("'" + std::string(word) + "'");
}

std::optional<uint64_t> TextLexer::digits(size_t& end) {
  skip();
  const bool hexadecimal = rest().starts_with("0x");
  const std::string_view digits = rest().substr(hexadecimal ? 2 : 0);
  uint64_t magnitude = 0;
  const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(),
                                              magnitude, hexadecimal ? 16 : 10);
  if (status == std::errc::invalid_argument) unexpected("an integer");
  end = static_cast<size_t>(stop - text_.data());
  return status == std::errc() ? std::optional(magnitude) : std::nullopt;
}

int64_t TextLexer::integer(int64_t lo, int64_t hi) {
  const bool negative = take("-");
  size_t end = 0;
  const std::optional<uint64_t> magnitude = digits(end);
  constexpr uint64_t kMax = INT64_MAX;
  const bool representable = magnitude && *magnitude <= kMax + (negative ? 1 : 0);
  const auto value =
      static_cast<int64_t>(negative ? -magnitude.value_or(0) : magnitude.value_or(0));
  if (!representable || value < lo || value > hi)
    error("integer out of range [" + std::to_string(lo) + ", " + std::to_string(hi) + "]");
  at_ = end;
  return value;
}

uint64_t TextLexer::natural() {
  size_t end = 0;
  const std::optional<uint64_t> value = digits(end);
  if (!value) error("integer out of range [0, " + std::to_string(UINT64_MAX) + "]");
  at_ = end;
  return *value;
}

double TextLexer::real() {
  const bool negative = take("-");
  const double sign = negative ? -1.0 : 1.0;
  if (take_word("inf")) return sign * HUGE_VAL;
  if (take_word("nan")) {
    if (!take("(")) return std::copysign(std::bit_cast<double>(kPlainNaN), sign);
    const double value = std::bit_cast<double>(integer(1, INT64_MAX));
    if (!std::isnan(value)) error("these bits are no NaN");
    expect(")");
    return std::copysign(value, sign);
  }
  skip();
  const bool hexadecimal = rest().starts_with("0x");
  const std::string_view digits = rest().substr(hexadecimal ? 2 : 0);
  // from_chars would take a sign, inf or nan of its own here.
  const bool numeric =
      !digits.empty() && (is_digit(digits[0]) || (hexadecimal && is_letter(digits[0])));
  if (!numeric) unexpected("a number");
  double value = 0;
  const auto [end, status] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value,
                      hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (status == std::errc::result_out_of_range) error("the number does not fit into f64");
  if (status != std::errc() || !std::isfinite(value)) unexpected("a number");
  at_ = static_cast<size_t>(end - text_.data());
  return std::copysign(value, sign);
}

std::string TextLexer::quoted() {
  expect("\"");
  std::string value;
  while (true) {
    if (at_ == text_.size() || text_[at_] == '\n') error("the string has no end");
    const char c = text_[at_++];
    if (c == '"') return value;
    if (c != '\\') {
      value += c;
      continue;
    }
    if (take("x")) {
      unsigned byte = 0;
      const std::string_view digits = rest().substr(0, 2);
      const auto [end, status] =
          std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (status != std::errc() || end != digits.data() + 2) unexpected("two hexadecimal digits");
      value += static_cast<char>(byte);
      at_ += 2;
    } else if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\\')) {
      value += text_[at_++];
    } else {
      unexpected("one of '\"', '\\' or 'x' after '\\'");
    }
  }
}

// Dims have a parser of their own, which wants the whole expression: this finds its end. The column
// of its message counts from there, the line is added here.
Dim TextLexer::dim(DimContext& dims) {
  skip();
  int depth = 0;
  size_t end = at_;
  for (; end < text_.size() && text_[end] != '\n'; ++end) {
    const char c = text_[end];
    if (depth == 0 && std::string_view(",)]}#").find(c) != std::string_view::npos) break;
    depth += (c == '(') - (c == ')');
  }
  try {
    const Dim dim = dims.parse(text_.substr(at_, end - at_));
    at_ = end;
    return dim;
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) throw;
    error(e.message());
  }
}

void TextLexer::list(std::string_view open, std::string_view close,
                     const std::function<void()>& element) {
  if (++nesting_ > kMaxNesting) error("lists are nested too deeply");
  expect(open);
  if (!take(close)) {
    do {
      element();
    } while (take(","));
    expect(close);
  }
  --nesting_;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += std::string{'\\', c};
    } else if (is_printable(c)) {
      out += c;
    } else {
      out += "\\x" + hex(static_cast<unsigned char>(c), 2);
    }
  }
  return out + '"';
}

// Hexadecimal is exact and short; NaNs other than the usual one carry their bits.
std::string real_text(double value) {
  const std::string sign = std::signbit(value) ? "-" : "";
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign + "inf";
  if (std::isnan(value)) {
    const auto bits = std::bit_cast<uint64_t>(magnitude);
    return sign + (bits == kPlainNaN ? "nan" : "nan(0x" + hex(bits) + ")");
  }
  char digits[32];
  const auto [end, status] =
      std::to_chars(digits, digits + sizeof digits, magnitude, std::chars_format::hex);
  return sign + "0x" + std::string(digits, end);
}

}  // namespace dvm::core
