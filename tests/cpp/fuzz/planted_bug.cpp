// Succeeds when the fuzzer finds a planted bug: a fuzzer that cannot fail proves nothing.
#include <cstdio>
#include <stdexcept>

#include "core/error.h"
#include "fuzz/fuzz_main.h"

int main() {
  using namespace dvm;
  const fuzz::Reader reader = {
      "planted-bug", [](fuzz::Random&) { return std::string("tile 832 of 40, tail 320"); },
      [](std::string_view text) {
        if (!text.starts_with("tile")) core::fail(core::ErrorCode::text_syntax, "no tile");
        if (text.find("40") == std::string_view::npos &&
            text.find("320") == std::string_view::npos) {
          throw std::logic_error("planted");
        }
      }};
  char name[] = "planted_bug", option[] = "--seconds", value[] = "5";
  char* arguments[] = {name, option, value};
  const bool found = fuzz::fuzz_main(3, arguments, {&reader, 1}) != 0;
  std::puts(found ? "found" : "missed");
  return found ? 0 : 1;
}
