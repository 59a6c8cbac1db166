// FrameRecorder: calls that the compiler has written out as loops.
#include <algorithm>
#include <array>

#include "capture/cpython/frame_recorder.h"

namespace dvm::capture {

using Kind = core::SeenEvent::Kind;

bool FrameRecorder::begins_written_out(const FrameView& f) const {
  return written_out_ != nullptr && f.op == Op::for_iter &&
         std::ranges::find(*written_out_, f.index, &WrittenOutCall::loop) != written_out_->end();
}

// Whether the instruction is a part of such a call, whose event comes before its loop begins.
bool FrameRecorder::pass_written_out(const FrameView& f) {
  if (in_written_out_) {
    if (f.op == Op::load_const || f.op == Op::list_to_tuple) end_written_out(f);
    return true;
  }
  for (size_t i = 0; i < written_out_->size(); ++i) {
    const WrittenOutCall& call = (*written_out_)[i];
    if (f.index == call.compares || f.index == call.jumps) {
      drop(1);
    } else if (f.index == call.drops) {
      written_out_callees_[i] = pop();
    } else if (f.index == call.makes) {
      push(kNoNode);
    } else if (f.index == call.loop) {
      method_self_ = kNoNode;
      add(Kind::call, words().empty, std::array{written_out_callees_[i], top()});
      in_written_out_ = true;
    } else {
      continue;
    }
    return true;
  }
  return false;
}

// The loop is over. What it results in is a constant, or made now of the list that it has filled.
void FrameRecorder::end_written_out(const FrameView& f) {
  in_written_out_ = false;
  drop(1);
  if (f.depth != static_cast<int>(stack_.size())) {
    throw Unrecordable(std::string("stack-out-of-step\n") + name_of(f.op));
  }
  if (f.op == Op::list_to_tuple) {
    pending_ = Pending::top;
  } else {
    push(produced(PyTuple_GET_ITEM(code_->co_consts, f.arg)));
    event_ = -1;
    followed_ = kNoNode;
  }
}

}  // namespace dvm::capture
