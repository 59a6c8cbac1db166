#include "capture/cpython/frame_view.h"

namespace dvm::capture {

FrameView frame_view(PyFrameObject* frame) {
  const DvmFrameParts parts = dvm_frame_parts(frame);
  const CodeTable& table = code_table(parts.code);
  static constexpr Decoded kNone;
  const Decoded* const at = table.at(parts.unit);
  const Decoded& each = at != nullptr ? *at : kNone;
  const auto* const locals = static_cast<const FrameEntry*>(parts.locals);
  return {.code = parts.code,
          .globals = parts.globals,
          .locals = locals,
          .stack = locals + parts.code->co_nlocalsplus,
          .depth = parts.depth >= 0 ? parts.depth : each.depth,
          .op = each.first.op,
          .arg = each.first.arg,
          .index = each.unit,
          .start = each.start,
          .then = each.then,
          .table = &table};
}

}  // namespace dvm::capture
