// What the Plan's printer and parser share: quoted strings, and a cursor over one line of text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dvm::runtime {

// "..." with \\, \", \n and \xHH for what is not printable ASCII.
std::string quote(std::string_view text);

// Reads tokens from left to right, skipping blanks between them. Failures throw FormatError with
// the line and column.
class LineCursor {
 public:
  LineCursor(std::string_view line, int number) : line_(line), number_(number) {}

  bool at_end();
  bool accept(std::string_view token);  // takes it if it comes next
  void expect(std::string_view token);
  std::string_view word();  // [A-Za-z_0-9]+, at least one character
  int64_t integer();
  int32_t small();  // 0 <= x < 2**31
  std::string string();
  std::string_view rest();  // up to the end of the line, without blanks around it

  [[noreturn]] void fail(const std::string& message) const;

 private:
  void skip_blanks();

  std::string_view line_;
  int number_;
  size_t at_ = 0;
};

}  // namespace dvm::runtime
