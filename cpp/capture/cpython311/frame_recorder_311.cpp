#include <algorithm>
#include <array>

#include "capture/cpython311/frame_recorder.h"
#include "capture/cpython311/instructions_311.h"
#include "opcode.h"

namespace dvm::capture {

using Kind = core::SeenEvent::Kind;

FrameRecorder::FrameRecorder(Record& record, PyFrameObject* frame,
                             std::span<const NodeId> parameters, bool may_stop, Shadow shadow,
                             CodeLoops* loops)
    : record_(record),
      identity_(dvm_frame_identity(frame)),
      locals_(std::move(shadow.locals)),
      stack_(std::move(shadow.stack)),
      may_stop_(may_stop) {
  const DvmFrameView f = dvm_frame_view(frame);
  code_ = f.code;
  globals_ = f.globals;
  record_.keep(reinterpret_cast<PyObject*>(f.code));
  if (loops != nullptr && !loops->of(f.code).empty()) loops_ = &loops->of(f.code);
  locals_.assign(static_cast<size_t>(f.code->co_nlocalsplus), kNoNode);
  stack_.clear();
  stack_.reserve(static_cast<size_t>(f.code->co_stacksize));
  std::copy(parameters.begin(), parameters.end(), locals_.begin());
  for (int slot = 0; slot < f.code->co_nlocalsplus; ++slot) {
    if (dvm_frame_is_cell(f.code, slot)) record_.adopt_cell(f.locals[slot], local(slot));
  }
}

NodeId FrameRecorder::pop() {
  const NodeId node = stack_.back();
  stack_.pop_back();
  return node;
}

std::span<const NodeId> FrameRecorder::tops(int count) const {
  return std::span(stack_).last(static_cast<size_t>(count));
}

void FrameRecorder::add(Kind kind, PyObject* name, std::span<const NodeId> operands) {
  event_ = record_.add(kind, name, operands, place());
}

bool FrameRecorder::stop() { return stopped_ = may_stop_; }

void FrameRecorder::begin_opcode(const DvmFrameView& f) {
  if (stopped_) throw Unrecordable("exception-raised\nStopIteration");
  if (raising_ != kNoNode) {
    enter_handler(f);
  } else if (pending_ != Pending::nothing) {
    settle(f);
  }
  if (f.depth != static_cast<int>(stack_.size())) {
    throw Unrecordable("stack-out-of-step\n" + std::to_string(f.opcode));
  }
  record_.count_opcode();
  instruction_ = f.index;
  if (loops_ != nullptr) pass_loops(f);
}

void FrameRecorder::before_opcode(const DvmFrameView& f) {
  begin_opcode(f);
  switch (const Instruction& row = instruction(f.opcode); row.action) {
    case Action::nothing:
      return;
    case Action::special:
      return special(f);
    case Action::refused:
      throw Unrecordable(row.text);
    default:
      return plain(f);
  }
}

void FrameRecorder::plain(const DvmFrameView& f) {
  const Instruction& row = instruction(f.opcode);
  const int count = row.count == Count::fixed   ? row.operands
                    : row.count == Count::oparg ? f.oparg
                                                : 2 * f.oparg;
  PyObject* name = row.name;
  switch (row.naming) {
    case Naming::text:
      break;
    case Naming::variable:
      name = PyTuple_GET_ITEM(code_->co_names, f.oparg);
      break;
    case Naming::binary:
      name = binary_operator(f.oparg);
      break;
    case Naming::compare:
      name = compare_operator(f.oparg);
      break;
    case Naming::identity:
      name = identity_operator(f.oparg);
      break;
    case Naming::contains:
      name = contains_operator(f.oparg);
      break;
  }
  if (row.action == Action::update) {
    const int items = count - 1;
    std::array<NodeId, 3> operands = {top(items + f.oparg)};
    std::ranges::copy(tops(items), operands.begin() + 1);
    add(row.kind, name, std::span(operands).first(static_cast<size_t>(count)));
    drop(items);
    pending_ = Pending::effect;
    return;
  }
  if (row.rotated) {
    std::rotate(stack_.end() - count, stack_.end() - count + 1, stack_.end());
  }
  add(row.kind, name, tops(count));
  drop(count);
  pending_ = Pending::effect;
  if (row.action == Action::produce) {
    push(kNoNode);
    pending_ = Pending::top;
  }
}

void FrameRecorder::special(const DvmFrameView& f) {
  switch (f.opcode) {
    case POP_TOP:
      return drop(1);
    case PUSH_NULL:
      return push(kNoNode);
    case COPY:
      return push(top(f.oparg));
    case SWAP:
      return std::swap(top(), top(f.oparg));
    case LOAD_CONST:
      return push(record_.constant(PyTuple_GET_ITEM(code_->co_consts, f.oparg)));
    case LOAD_ASSERTION_ERROR:
      return push(record_.constant(PyExc_AssertionError));
    case LOAD_CLOSURE:
      return push(record_.constant(f.locals[f.oparg]));
    case LOAD_FAST: {
      // A debugger may have assigned to it; an unbound variable raises by itself.
      const NodeId node = local(f.oparg);
      PyObject* object = f.locals[f.oparg];
      if (object != nullptr && (node == kNoNode || record_.object(node) != object)) {
        throw Unrecordable("unknown-local");
      }
      return push(node);
    }
    case STORE_FAST:
      local(f.oparg) = pop();
      return;
    case DELETE_FAST:
      local(f.oparg) = kNoNode;
      return;
    case LOAD_GLOBAL:
      if (f.oparg & 1) push(kNoNode);
      push(kNoNode);
      name_ = PyTuple_GET_ITEM(code_->co_names, f.oparg >> 1);
      pending_ = Pending::global;
      return;
    case LOAD_BUILD_CLASS:
      push(kNoNode);
      name_ = interned("__build_class__");
      pending_ = Pending::global;
      return;
    case STORE_GLOBAL: {
      PyObject* name = PyTuple_GET_ITEM(code_->co_names, f.oparg);
      const NodeId value = pop();
      add(Kind::store_global, name, std::array{value, record_.constant(globals_)});
      record_.set_global(globals_, name, value);
      pending_ = Pending::effect;
      return;
    }
    case LOAD_DEREF:
      return push(record_.cell(f.locals[f.oparg]));
    case STORE_DEREF:
    case DELETE_DEREF:
      return store_cell(f);
    case LOAD_METHOD:
      method_self_ = pop();
      add(Kind::attribute, PyTuple_GET_ITEM(code_->co_names, f.oparg), std::array{method_self_});
      push(kNoNode);
      push(kNoNode);
      pending_ = Pending::method;
      return;
    case KW_NAMES:
      keyword_names_ = PyTuple_GET_ITEM(code_->co_consts, f.oparg);
      return;
    case CALL:
      return call(f);
    case CALL_FUNCTION_EX:
      return call_ex(f);
    case BINARY_OP:
      add(f.oparg < kInplaceBase ? Kind::binary : Kind::inplace, binary_operator(f.oparg), tops(2));
      drop(1);
      pending_ = Pending::top;
      return;
    case BUILD_CONST_KEY_MAP: {
      std::vector<NodeId> items;
      PyObject* keys = f.stack[f.depth - 1];
      for (int i = 0; i < f.oparg; ++i) {
        items.push_back(record_.constant(PyTuple_GET_ITEM(keys, i)));
        items.push_back(top(f.oparg + 1 - i));
      }
      add(Kind::dict, words().empty, items);
      drop(f.oparg);
      pending_ = Pending::top;
      return;
    }
    case FORMAT_VALUE: {
      constexpr const char* kConversions[] = {"", "s", "r", "a"};
      const int count = f.oparg & 4 ? 2 : 1;
      add(Kind::format, interned(kConversions[f.oparg & 3]), tops(count));
      drop(count - 1);
      pending_ = Pending::top;
      return;
    }
    case MAKE_FUNCTION:
      return make_function(f);
    case FOR_ITER:
      add(Kind::next, words().empty, tops(1));
      push(kNoNode);
      pending_ = Pending::next;
      return;
    case SEND:
      sent_ = pop();
      add(Kind::next, words().empty, tops(1));
      push(kNoNode);
      pending_ = Pending::send;
      return;
    case UNPACK_SEQUENCE:
      return unpack(f.oparg, -1);
    case UNPACK_EX:
      return unpack(f.oparg & 0xff, f.oparg >> 8);
    case IMPORT_FROM:
      add(Kind::import_from, PyTuple_GET_ITEM(code_->co_names, f.oparg), tops(1));
      push(kNoNode);
      pending_ = Pending::top;
      return;
    case BEFORE_WITH:
      record_.add(Kind::attribute, words().exit, tops(1), place());
      add(Kind::with_enter, words().empty, tops(1));
      push(kNoNode);
      pending_ = Pending::with;
      return;
    case RETURN_VALUE:
      returned_ = pop();
      return;
    case MATCH_SEQUENCE:
    case MATCH_MAPPING:
    case GET_LEN:
    case MATCH_KEYS:
    case MATCH_CLASS:
      return match(f);
    case YIELD_VALUE:
      yielded_ = pop();
      return;
    case RAISE_VARARGS:
      return raise_statement(f);
    case PUSH_EXC_INFO:
      // What was handled before is put back by the interpreter, nobody else sees it.
      handled_.push_back(top());
      top() = record_.constant(Py_None);
      return push(handled_.back());
    case POP_EXCEPT:
      if (!handled_.empty()) handled_.pop_back();
      return drop(1);
    case RERAISE:
      raising_ = pop();
      return;
    case CHECK_EXC_MATCH:
      add(Kind::matches, words().empty, tops(2));
      top() = kNoNode;
      pending_ = Pending::top;
      return;
    case WITH_EXCEPT_START:
      return exit_with_exception(f);
    default:
      return branch(f, f.opcode == JUMP_IF_FALSE_OR_POP || f.opcode == JUMP_IF_TRUE_OR_POP);
  }
}

}  // namespace dvm::capture
