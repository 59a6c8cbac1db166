// The random generators a replay draws from: their states as they were before the first draw, so
// that a replay which is given up has drawn nothing.
#pragma once

#include <vector>

#include "capture/py.h"

namespace dvm::capture {

class RandomStates {
 public:
  // `owner`: a np.random.Generator, a RandomState, the module np.random, a random.Random. Once per
  // owner; false: a Python error is set.
  bool save(PyObject* owner);
  // Puts every saved state back. False: a Python error is set, a failure's or one that was pending.
  bool restore();

 private:
  struct Saved {
    Ref owner, state;
  };
  std::vector<Saved> saved_;
};

}  // namespace dvm::capture
