// What is found out of a code object once, which that keeps and has freed when it dies.
#pragma once

#include <memory>

#include "capture/cpython/frame_parts.h"
#include "capture/record/record.h"

namespace dvm::capture {

template <typename Kept>
const Kept& kept_by(PyCodeObject* code, std::unique_ptr<Kept> (*find)(PyCodeObject*)) {
  static const Py_ssize_t place =
      dvm_code_new_place([](void* kept) { delete static_cast<Kept*>(kept); });
  if (place < 0) throw Unrecordable("recorder-failed\nno place left in code objects");
  if (void* const kept = dvm_code_kept(code, place)) return *static_cast<Kept*>(kept);
  std::unique_ptr<Kept> found = find(code);
  if (dvm_code_keep(code, place, found.get()) < 0) made(nullptr);
  return *found.release();
}

}  // namespace dvm::capture
