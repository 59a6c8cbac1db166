// Tokens of the Plan's text form.
#include "runtime/plan_text.h"

#include <charconv>
#include <cstdio>
#include <limits>

#include "core/error.h"

namespace dvm::runtime {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || c > 0x7e) {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

void LineCursor::skip_blanks() {
  while (at_ < line_.size() && line_[at_] == ' ') ++at_;
}

bool LineCursor::at_end() {
  skip_blanks();
  return at_ == line_.size();
}

bool LineCursor::accept(std::string_view token) {
  skip_blanks();
  const std::string_view here = line_.substr(at_);
  if (!here.starts_with(token)) return false;
  // A word ends where its letters end: "i" is no prefix of "input".
  if (is_word(token.back()) && here.size() > token.size() && is_word(here[token.size()])) {
    return false;
  }
  at_ += token.size();
  return true;
}

void LineCursor::expect(std::string_view token) {
  if (!accept(token)) fail("expected '" + std::string(token) + "'");
}

std::string_view LineCursor::word() {
  skip_blanks();
  const size_t begin = at_;
  while (at_ < line_.size() && is_word(line_[at_])) ++at_;
  if (at_ == begin) fail("expected a name");
  return line_.substr(begin, at_ - begin);
}

int64_t LineCursor::integer() {
  skip_blanks();
  int64_t value = 0;
  const char* begin = line_.data() + at_;
  const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), value);
  if (error != std::errc()) fail("expected an integer of 64 bits");
  at_ += static_cast<size_t>(end - begin);
  return value;
}

int32_t LineCursor::small() {
  const int64_t value = integer();
  if (value < 0 || value > std::numeric_limits<int32_t>::max()) fail("number out of range");
  return static_cast<int32_t>(value);
}

std::string LineCursor::string() {
  expect("\"");
  std::string out;
  while (true) {
    if (at_ >= line_.size()) fail("unterminated string");
    char c = line_[at_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at_ >= line_.size()) fail("unterminated string");
    c = line_[at_++];
    if (c == '"' || c == '\\') {
      out += c;
    } else if (c == 'n') {
      out += '\n';
    } else if (c == 'x' && at_ + 2 <= line_.size()) {
      const int high = hex_digit(line_[at_]), low = hex_digit(line_[at_ + 1]);
      if (high < 0 || low < 0) fail("expected two hexadecimal digits");
      out += static_cast<char>(high * 16 + low);
      at_ += 2;
    } else {
      fail("unknown escape in a string");
    }
  }
}

std::string_view LineCursor::rest() {
  skip_blanks();
  std::string_view text = line_.substr(at_);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  at_ = line_.size();
  return text;
}

void LineCursor::fail(const std::string& message) const {
  core::fail(core::ErrorCode::text_syntax, "line " + std::to_string(number_) + ", column " +
                                               std::to_string(at_ + 1) + ": " + message);
}

}  // namespace dvm::runtime
