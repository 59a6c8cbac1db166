// Errors with a stable code (errors.def). User-visible failures are Error; a broken invariant of
// dvm itself is InternalError. Both carry the user's source line when it is known.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace dvm::core {

enum class ErrorCode : uint8_t {
#define DVM_ERROR(name, code, cls, hint) name,
#include "core/errors.def"
#undef DVM_ERROR
};

// One row of errors.def.
struct ErrorInfo {
  std::string_view name, code, python_class, hint;
};
const ErrorInfo& error_info(ErrorCode code);
int error_count();

// Where in the user's program something came from. `file` is interned for the process lifetime,
// so a Loc is two words and free to copy.
struct Loc {
  const std::string* file = nullptr;
  int32_t line = 0;
  explicit operator bool() const { return file != nullptr; }
  bool operator==(const Loc&) const = default;
};
Loc make_loc(std::string_view file, int line);
std::string to_string(Loc loc);  // "model.py:42", or "" when unknown

class Error : public std::exception {
 public:
  Error(ErrorCode code, Loc loc, std::string message);
  const char* what() const noexcept override { return text_.c_str(); }
  ErrorCode code() const { return code_; }
  Loc loc() const { return loc_; }
  const std::string& message() const { return message_; }

 private:
  ErrorCode code_;
  Loc loc_;
  std::string message_, text_;
};

// Throws Error; text is "CODE file:line: message. Hint."
[[noreturn]] void fail(ErrorCode code, Loc loc, std::string message);
[[noreturn]] inline void fail(ErrorCode code, std::string message) {
  fail(code, Loc{}, std::move(message));
}

[[noreturn]] void internal_failure(const char* condition, const char* file, int line,
                                   const std::string& message);

}  // namespace dvm::core

// An invariant of dvm itself; the message is only built on failure.
#define DVM_CHECK(condition, message)                                           \
  do {                                                                          \
    if (!(condition)) [[unlikely]]                                              \
      ::dvm::core::internal_failure(#condition, __FILE__, __LINE__, (message)); \
  } while (0)
