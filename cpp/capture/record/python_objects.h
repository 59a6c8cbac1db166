// What core/graph/references.h must know about the objects of a recording, answered for CPython.
// Looks only at objects whose type is built in and runs no code of the user.
#pragma once

#include "capture/py.h"
#include "core/graph/references.h"

namespace dvm::capture {

class PythonObjects : public core::HostObjects {
 public:
  bool has_identity(core::HostHandle object) const override;
  bool is_held(const core::Recording& recording, const core::SeenEvent& event) const override;
  core::NodeId changed_by(const core::Recording& recording,
                          const core::SeenEvent& call) const override;
};

}  // namespace dvm::capture
