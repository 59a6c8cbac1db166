// The format: Objects/exception_handling_notes.txt of CPython. Entries are ordered and do not
// overlap; each number takes bytes of 6 bits, of which bit 6 says that another follows.
#include "capture/cpython/handlers.h"

namespace dvm::capture {

namespace {

int number(const unsigned char*& at) {
  int value = *at & 63;
  while (*at++ & 64) value = value << 6 | (*at & 63);
  return value;
}

}  // namespace

std::vector<Handler> handlers_of(const PyCodeObject* code) {
  PyObject* table = code->co_exceptiontable;
  const auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(table));
  const unsigned char* const end = at + PyBytes_GET_SIZE(table);
  std::vector<Handler> all;
  while (at < end) {
    const int begin = number(at), size = number(at), target = number(at), depth = number(at);
    all.push_back({begin, begin + size, target, depth >> 1, (depth & 1) != 0});
  }
  return all;
}

std::optional<Handler> handler_of(const PyCodeObject* code, int instruction) {
  for (const Handler& handler : handlers_of(code)) {
    if (instruction < handler.begin) break;
    if (instruction < handler.end) return handler;
  }
  return std::nullopt;
}

}  // namespace dvm::capture
