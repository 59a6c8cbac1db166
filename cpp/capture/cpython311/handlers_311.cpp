// The format: Objects/exception_handling_notes.txt of CPython. Entries are ordered and do not
// overlap; each number takes bytes of 6 bits, of which bit 6 says that another follows.
#include "capture/cpython311/handlers.h"

namespace dvm::capture {

namespace {

int number(const unsigned char*& at) {
  int value = *at & 63;
  while (*at++ & 64) value = value << 6 | (*at & 63);
  return value;
}

}  // namespace

std::optional<Handler> handler_of(const PyCodeObject* code, int instruction) {
  PyObject* table = code->co_exceptiontable;
  const auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(table));
  const unsigned char* const end = at + PyBytes_GET_SIZE(table);
  while (at < end) {
    const int start = number(at), size = number(at), target = number(at), depth = number(at);
    if (instruction < start) break;
    if (instruction < start + size) return Handler{target, depth >> 1, (depth & 1) != 0};
  }
  return std::nullopt;
}

}  // namespace dvm::capture
