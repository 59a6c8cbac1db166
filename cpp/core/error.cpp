#include "core/error.h"

#include <array>
#include <mutex>
#include <set>

namespace dvm::core {

namespace {

constexpr std::array kErrors = {
#define DVM_ERROR(name, code, cls, hint) ErrorInfo{#name, code, #cls, hint},
#include "core/errors.def"
#undef DVM_ERROR
};

std::string compose(ErrorCode code, Loc loc, const std::string& message) {
  const ErrorInfo& info = error_info(code);
  std::string text(info.code);
  text += ' ';
  if (loc) text += to_string(loc) + ": ";
  text += message;
  text += ". Hint: ";
  text += info.hint;
  text += '.';
  return text;
}

}  // namespace

const ErrorInfo& error_info(ErrorCode code) { return kErrors[static_cast<size_t>(code)]; }
int error_count() { return static_cast<int>(kErrors.size()); }

Loc make_loc(std::string_view file, int line) {
  // Locations outlive graphs (decisions and reports keep them), hence the process-wide table.
  static std::mutex mutex;
  static std::set<std::string, std::less<>> files;
  std::lock_guard lock(mutex);
  auto it = files.find(file);
  if (it == files.end()) it = files.emplace(file).first;
  return Loc{&*it, line};
}

std::string to_string(Loc loc) {
  return loc ? *loc.file + ":" + std::to_string(loc.line) : std::string();
}

Error::Error(ErrorCode code, Loc loc, std::string message)
    : code_(code), loc_(loc), message_(std::move(message)), text_(compose(code, loc, message_)) {}

void fail(ErrorCode code, Loc loc, std::string message) {
  throw Error(code, loc, std::move(message));
}

void internal_failure(const char* condition, const char* file, int line,
                      const std::string& message) {
  std::string where(file);
  where = where.substr(where.find_last_of('/') + 1);
  throw Error(ErrorCode::internal, Loc{},
              message + " [" + condition + " at " + where + ":" + std::to_string(line) + "]");
}

}  // namespace dvm::core
