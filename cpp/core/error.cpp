#include "core/error.h"

#include <array>
#include <atomic>
#include <functional>

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
  if (!text.ends_with('?')) text += '.';
  if (!info.hint.empty()) text += " Hint: " + std::string(info.hint) + ".";
  return text;
}

struct FileName {
  std::string text;
  const FileName* next;
};
constexpr size_t kFileLists = 64;

// Locations outlive graphs (decisions and reports keep them): one table for the process, of which
// nothing is ever removed. It has no lock, which a fork could leave closed for ever in the child.
const std::string* file_name(std::string_view file) {
  static constinit std::atomic<const FileName*> lists[kFileLists] = {};
  std::atomic<const FileName*>& list = lists[std::hash<std::string_view>{}(file) % kFileLists];
  const FileName* head = list.load(std::memory_order_acquire);
  const FileName* searched = nullptr;  // from here on, in vain
  FileName* added = nullptr;
  for (;;) {
    for (const FileName* name = head; name != searched; name = name->next) {
      if (name->text != file) continue;
      delete added;
      return &name->text;
    }
    if (added == nullptr) added = new FileName{std::string(file), nullptr};
    added->next = searched = head;
    if (list.compare_exchange_strong(head, added, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
      return &added->text;
    }
  }
}

}  // namespace

const ErrorInfo& error_info(ErrorCode code) { return kErrors[static_cast<size_t>(code)]; }
int error_count() { return static_cast<int>(kErrors.size()); }

Loc make_loc(std::string_view file, int line) { return Loc{file_name(file), line}; }

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
