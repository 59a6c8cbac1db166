#include "capture/cpython/frame_recorder.h"

#include <algorithm>
#include <array>

#include "capture/cpython/instructions.h"
#include "capture/cpython/written_out_calls.h"

namespace dvm::capture {

using Kind = core::SeenEvent::Kind;

namespace {

// What the compiler takes to be so, whatever its name stands for by now.
PyObject* common_constant(int number) {
  static constexpr std::array kNames = {"AssertionError", "NotImplementedError", "tuple", "all",
                                        "any"};
  static const auto constants = [] {
    std::array<PyObject*, kNames.size()> found;
    const Ref builtins = made(PyImport_ImportModule("builtins"));
    for (size_t i = 0; i < found.size(); ++i) {
      found[i] = made(PyObject_GetAttrString(builtins.get(), kNames[i])).release();
    }
    return found;
  }();
  return constants.at(static_cast<size_t>(number));
}

}  // namespace

FrameRecorder::FrameRecorder(Record& record, PyFrameObject* frame,
                             std::span<const NodeId> parameters, bool may_stop, Shadow shadow,
                             CodeLoops* loops)
    : record_(record),
      identity_(dvm_frame_identity(frame)),
      locals_(std::move(shadow.locals)),
      stack_(std::move(shadow.stack)),
      may_stop_(may_stop) {
  const FrameView f = frame_view(frame);
  code_ = f.code;
  globals_ = f.globals;
  record_.keep(reinterpret_cast<PyObject*>(f.code));
  if (loops != nullptr && !loops->of(f.code).empty()) loops_ = &loops->of(f.code);
  if (const auto& calls = written_out_calls(f.code); !calls.empty()) {
    written_out_ = &calls;
    written_out_callees_.assign(calls.size(), kNoNode);
  }
  locals_.assign(static_cast<size_t>(f.code->co_nlocalsplus), kNoNode);
  stack_.clear();
  stack_.reserve(static_cast<size_t>(f.code->co_stacksize));
  std::copy(parameters.begin(), parameters.end(), locals_.begin());
  for (int slot = 0; slot < f.code->co_nlocalsplus; ++slot) {
    const bool is_made = f.locals[slot] != nullptr && PyCell_Check(f.locals[slot]);
    if (is_made && dvm_frame_is_cell(f.code, slot)) {
      record_.adopt_cell(f.locals[slot], local(slot));
    }
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

void FrameRecorder::begin_opcode(const FrameView& f) {
  if (stopped_) throw Unrecordable("exception-raised\nStopIteration");
  if (raising_ != kNoNode) {
    enter_handler(f);
  } else if (in_written_out_) {
    return;
  } else if (pending_ != Pending::nothing) {
    settle(f);
  }
  if (f.depth != static_cast<int>(stack_.size())) {
    throw Unrecordable(std::string("stack-out-of-step\n") + name_of(f.op));
  }
  record_.count_opcode();
  instruction_ = f.index;
  if (loops_ != nullptr && !begins_written_out(f)) pass_loops(f);
}

void FrameRecorder::before_opcode(const FrameView& f) {
  begin_opcode(f);
  if (written_out_ != nullptr && pass_written_out(f)) return;
  apply(f);
  if (f.then.op == Op::nothing) return;
  const FrameView second = f.second();
  if (loops_ != nullptr && second.op == Op::return_value) pass_loops(second);
  apply(second);
}

// Whether what is asked for its iterator is one that was got in the same way: in some versions
// comprehensions and generator expressions ask twice.
bool FrameRecorder::is_own_iterator(const FrameView& f) const {
  const NodeId node = stack_.back();
  if (node == kNoNode || Py_TYPE(f.stack[f.depth - 1])->tp_iter != PyObject_SelfIter) return false;
  const Operation before = f.table->before(f.index);
  if (before.op == Op::load_fast && before.arg == 0) {
    PyObject* const name = PyTuple_GET_ITEM(code_->co_localsplusnames, 0);
    if (PyUnicode_CompareWithASCIIString(name, ".0") == 0) return true;
  }
  const core::SeenNode& seen = record_.data().node(node);
  return seen.origin == core::SeenNode::Origin::event &&
         record_.event(seen.index).kind == Kind::iter;
}

void FrameRecorder::apply(const FrameView& f) {
  switch (const Instruction& row = instruction(f.op); row.action) {
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

void FrameRecorder::plain(const FrameView& f) {
  const Instruction& row = instruction(f.op);
  const int count = row.count == Count::fixed   ? row.operands
                    : row.count == Count::oparg ? f.arg
                                                : 2 * f.arg;
  PyObject* name = row.name;
  switch (row.naming) {
    case Naming::text:
      break;
    case Naming::variable:
      name = f.name(f.arg);
      break;
    case Naming::binary:
      name = binary_operator(f.arg);
      break;
    case Naming::compare:
      name = compare_operator(f.arg);
      break;
    case Naming::identity:
      name = identity_operator(f.arg);
      break;
    case Naming::contains:
      name = contains_operator(f.arg);
      break;
  }
  if (row.action == Action::update) {
    const int items = count - 1;
    std::array<NodeId, 3> operands = {top(items + f.arg)};
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

void FrameRecorder::special(const FrameView& f) {
  switch (f.op) {
    case Op::pop_top:
      return drop(1);
    case Op::push_null:
      return push(kNoNode);
    case Op::copy:
      return push(top(f.arg));
    case Op::swap:
      return std::swap(top(), top(f.arg));
    case Op::load_const:
      return push(constant(PyTuple_GET_ITEM(code_->co_consts, f.arg)));
    case Op::load_small_int:
      return push(record_.constant(made(PyLong_FromLong(f.arg)).get()));
    case Op::load_common_constant:
      return push(record_.constant(common_constant(f.arg)));
    case Op::load_fast:
    case Op::load_closure:
      return load_local(f);
    case Op::load_fast_and_clear:
      load_local(f);
      local(f.arg) = kNoNode;
      return;
    case Op::make_cell:
      count_ = f.arg;
      pending_ = Pending::cell;
      return;
    case Op::store_fast:
      local(f.arg) = pop();
      return;
    case Op::delete_fast:
      local(f.arg) = kNoNode;
      return;
    case Op::load_global:
    case Op::load_global_under_null:
      push(kNoNode);
      above_ = f.op == Op::load_global_under_null ? 1 : 0;
      if (above_ > 0) push(kNoNode);
      name_ = f.name(f.arg);
      pending_ = Pending::global;
      return;
    case Op::load_build_class:
      push(kNoNode);
      above_ = 0;
      name_ = interned("__build_class__");
      pending_ = Pending::global;
      return;
    case Op::store_global: {
      PyObject* name = f.name(f.arg);
      const NodeId value = pop();
      add(Kind::store_global, name, std::array{value, record_.constant(globals_)});
      record_.set_global(globals_, name, value);
      pending_ = Pending::effect;
      return;
    }
    case Op::load_deref:
      return push(record_.cell(f.locals[f.arg]));
    case Op::store_deref:
    case Op::delete_deref:
      return store_cell(f);
    case Op::load_method:
      method_self_ = pop();
      add(Kind::attribute, f.name(f.arg), std::array{method_self_});
      push(kNoNode);
      push(kNoNode);
      pending_ = Pending::method;
      return;
    case Op::kw_names:
      keyword_names_ = PyTuple_GET_ITEM(code_->co_consts, f.arg);
      return;
    case Op::call:
      return call(f);
    case Op::call_kw:
      keyword_names_ = f.stack[f.depth - 1];
      record_.keep(keyword_names_);
      drop(1);
      return call(f);
    case Op::call_function_ex:
      return call_ex(f);
    case Op::load_super_attr:
      return load_super(f);
    case Op::slice:
    case Op::store_slice:
      return slice(f);
    case Op::unary_not:
      if (std::exchange(is_asked_, false)) return;
      add(Kind::unary, interned("not"), tops(1));
      top() = kNoNode;
      pending_ = Pending::top;
      return;
    case Op::compare_truth:
      return compare_truth(f);
    case Op::to_bool:
      return ask_truth(f);
    case Op::binary:
      add(f.arg < kInplaceBase ? Kind::binary : Kind::inplace, binary_operator(f.arg), tops(2));
      drop(1);
      pending_ = Pending::top;
      return;
    case Op::build_const_key_map: {
      std::vector<NodeId> items;
      PyObject* keys = f.stack[f.depth - 1];
      for (int i = 0; i < f.arg; ++i) {
        items.push_back(record_.constant(PyTuple_GET_ITEM(keys, i)));
        items.push_back(top(f.arg + 1 - i));
      }
      add(Kind::dict, words().empty, items);
      drop(f.arg);
      pending_ = Pending::top;
      return;
    }
    case Op::format:
    case Op::convert:
      return format(f);
    case Op::set_function_attribute:
      return part_of_function(f);
    case Op::make_function:
      return make_function(f);
    case Op::get_iter:
      if (is_own_iterator(f)) return;
      add(Kind::iter, words().empty, tops(1));
      top() = kNoNode;
      pending_ = Pending::top;
      return;
    case Op::for_iter:
      add(Kind::next, words().empty, tops(1));
      push(kNoNode);
      fall_through_ = f.table->at(f.index)->next;
      pending_ = Pending::next;
      return;
    case Op::send:
      sent_ = pop();
      add(Kind::next, words().empty, tops(1));
      push(kNoNode);
      fall_through_ = f.table->at(f.index)->next;
      pending_ = Pending::send;
      return;
    case Op::end_send:
      top(2) = top();
      return drop(1);
    case Op::check_no_stop_iteration:
      if (PyErr_GivenExceptionMatches(f.stack[f.depth - 1], PyExc_StopIteration)) {
        throw Unrecordable("exception-turned");
      }
      return;
    case Op::cleanup_throw:
      if (PyErr_GivenExceptionMatches(f.stack[f.depth - 1], PyExc_StopIteration)) {
        throw Unrecordable("exception-turned");
      }
      raising_ = top();
      return;
    case Op::unpack_sequence:
      return unpack(f.arg, -1);
    case Op::unpack_ex:
      return unpack(f.arg & 0xff, f.arg >> 8);
    case Op::import_from:
      add(Kind::import_from, f.name(f.arg), tops(1));
      push(kNoNode);
      pending_ = Pending::top;
      return;
    case Op::before_with:
      record_.add(Kind::attribute, words().exit, tops(1), place());
      add(Kind::with_enter, words().empty, tops(1));
      push(kNoNode);
      pending_ = Pending::with;
      return;
    case Op::load_special:
      return load_special(f);
    case Op::return_value:
      returned_ = pop();
      return;
    case Op::match_sequence:
    case Op::match_mapping:
    case Op::get_len:
    case Op::match_keys:
    case Op::match_class:
      return match(f);
    case Op::yield_value:
      yielded_ = pop();
      return;
    case Op::raise_varargs:
      return raise_statement(f);
    case Op::push_exc_info:
      // What was handled before is put back by the interpreter, nobody else sees it.
      handled_.push_back(top());
      top() = record_.constant(Py_None);
      return push(handled_.back());
    case Op::pop_except:
      if (!handled_.empty()) handled_.pop_back();
      return drop(1);
    case Op::reraise:
      raising_ = pop();
      return;
    case Op::check_exc_match:
      add(Kind::matches, words().empty, tops(2));
      top() = kNoNode;
      pending_ = Pending::top;
      return;
    case Op::with_except_start:
      return exit_with_exception(f);
    default:
      return branch(f, f.op == Op::jump_if_false_or_pop || f.op == Op::jump_if_true_or_pop);
  }
}

}  // namespace dvm::capture
