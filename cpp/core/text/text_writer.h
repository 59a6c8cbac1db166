// Text that is written piece by piece, for printers. Not a stream of the C++ library: those bring
// all of its locales into the extension module, a third of a megabyte.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace dvm::core {

class TextWriter {
 public:
  TextWriter& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  TextWriter& operator<<(char letter) {
    text_ += letter;
    return *this;
  }
  template <std::integral Number>
  TextWriter& operator<<(Number number) {
    text_ += std::to_string(number);
    return *this;
  }
  // As many digits as tell it from its neighbours.
  template <std::floating_point Number>
  TextWriter& operator<<(Number number) {
    char room[32];
    text_.append(room, std::to_chars(room, room + sizeof(room), number).ptr);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace dvm::core
