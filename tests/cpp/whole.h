// How much is tried: samples in `make test`, all where DVM_TEST_WHOLE is set. Only cases that run
// the same code stand for others.
#pragma once

#include <cstdlib>

namespace dvm {

inline bool whole() {
  const char* const asked = std::getenv("DVM_TEST_WHOLE");
  return asked != nullptr && *asked != '\0';
}
inline unsigned how_many(unsigned sample, unsigned all) { return whole() ? all : sample; }

}  // namespace dvm
