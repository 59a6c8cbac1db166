// The state of a generator of random numbers, as it was: a np.random.Generator, a RandomState, a
// random.Random. As bytes where it is known where they are, else as the generator itself gives it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "capture/library/library.h"
#include "capture/py.h"

namespace dvm::capture {

// Whose state a generator's is; null: it has no such thing.
Ref bit_generator_of(PyObject* owner);

class RandomState {
 public:
  // None: a Python error is set.
  static std::optional<RandomState> of(PyObject* owner);
  // False: a Python error is set.
  bool put_back(PyObject* owner) const;

 private:
  Library::RandomState place_;  // of the bytes
  std::vector<std::byte> bytes_;
  Ref object_;  // what bytes do not say; null: nothing
};

}  // namespace dvm::capture
