#include "capture/shadow_frame.h"
#include "opcode.h"

namespace dvm::capture {

using core::Event;
using core::kNoNode;
using core::NodeId;
using core::ShadowNode;

namespace {

// In the order of CPython 3.11's BINARY_OP arguments (opcode.h: NB_ADD ...).
constexpr const char* kBinaryOperators[] = {"+", "&",  "//", "<<", "@", "*", "%",
                                            "|", "**", ">>", "-",  "/", "^"};
constexpr int kInplaceBase = 13;
constexpr const char* kCompareOperators[] = {"<", "<=", "==", "!=", ">", ">="};

}  // namespace

NodeId Recording::keep(ShadowNode::Origin origin, PyObject* object, int index, std::string name,
                       PyObject* scope) {
  kept.push_back(Ref::borrow(object));
  if (scope) kept.push_back(Ref::borrow(scope));
  return graph.add({origin, index, std::move(name), scope, object});
}

void Recording::fill(NodeId node, PyObject* object) {
  ShadowNode& shadow = graph.nodes[static_cast<size_t>(node)];
  if (shadow.object != nullptr || object == nullptr) return;
  kept.push_back(Ref::borrow(object));
  shadow.object = object;
}

void Recording::abort(std::string reason, core::Loc loc) {
  if (aborted()) return;
  graph.aborted = std::move(reason);
  graph.aborted_at = loc;
}

ShadowFrame::ShadowFrame(Recording& recording, PyFrameObject* frame)
    : recording_(recording), frame_(dvm_frame_identity(frame)) {
  locals_.assign(static_cast<size_t>(dvm_frame_view(frame).code->co_nlocalsplus), kNoNode);
}

void ShadowFrame::bind_arguments(const std::vector<NodeId>& arguments) {
  std::copy(arguments.begin(), arguments.end(), locals_.begin());
}

core::Loc ShadowFrame::loc(const DvmFrameView& f) const {
  const int line = PyCode_Addr2Line(f.code, f.index * static_cast<int>(sizeof(_Py_CODEUNIT)));
  return core::make_loc(printable(f.code->co_filename), line);
}

void ShadowFrame::abort(const DvmFrameView& f, std::string reason) {
  recording_.abort(std::move(reason), loc(f));
}

NodeId ShadowFrame::pop() {
  const NodeId node = stack_.back();
  stack_.pop_back();
  return node;
}

std::vector<NodeId> ShadowFrame::pop(int count) {
  std::vector<NodeId> nodes(stack_.end() - count, stack_.end());
  stack_.resize(stack_.size() - static_cast<size_t>(count));
  return nodes;
}

void ShadowFrame::push_result(Event event) {
  push(recording_.graph.record(std::move(event)));
  pending_ = Pending::top;
}

NodeId ShadowFrame::constant(PyObject* object) {
  return recording_.keep(ShadowNode::Origin::constant, object);
}

void ShadowFrame::set_call_result(NodeId node) {
  core::RefGraph& graph = recording_.graph;
  const ShadowNode& call = graph.nodes[static_cast<size_t>(stack_.back())];
  graph.events[static_cast<size_t>(call.index)].kind = Event::Kind::followed;
  stack_.back() = node;
  pending_ = Pending::none;
  callee_ = nullptr;
}

NodeId ShadowFrame::returned(PyObject* value) {
  const NodeId node = stack_.empty() ? kNoNode : stack_.back();
  if (node != kNoNode) recording_.fill(node, value);
  return node;
}

void ShadowFrame::settle(const DvmFrameView& f) {
  if (pending_ == Pending::top && f.depth > 0) {
    recording_.fill(stack_.back(), f.stack[f.depth - 1]);
  } else if (pending_ == Pending::method && f.depth > 1) {
    // LOAD_METHOD left (function, self), or (NULL, bound object) for anything but a method.
    const NodeId self = stack_[stack_.size() - 2], method = stack_.back();
    if (f.stack[f.depth - 2] != nullptr) {
      recording_.fill(method, f.stack[f.depth - 2]);
      stack_[stack_.size() - 2] = method;
      stack_.back() = self;
    } else {
      recording_.fill(method, f.stack[f.depth - 1]);
      stack_[stack_.size() - 2] = kNoNode;
    }
  }
  pending_ = Pending::none;
  // A Python function whose frame never appeared (a generator, a C wrapper) is an opaque call.
  callee_ = nullptr;
}

void ShadowFrame::before_opcode(PyFrameObject* frame) {
  const DvmFrameView f = dvm_frame_view(frame);
  settle(f);
  if (f.depth != static_cast<int>(stack_.size())) {
    return abort(f, "the value stack has another depth than its shadow (opcode " +
                        std::to_string(f.opcode) + ")");
  }
  apply(f, frame);
}

NodeId ShadowFrame::load_global(const DvmFrameView& f, PyFrameObject* frame) {
  PyObject* name = PyTuple_GET_ITEM(f.code->co_names, f.oparg >> 1);
  Ref globals = Ref::steal(PyFrame_GetGlobals(frame));
  for (size_t i = 0; i < recording_.graph.nodes.size(); ++i) {
    const ShadowNode& node = recording_.graph.nodes[i];
    if (node.origin == ShadowNode::Origin::global && node.scope == globals.get() &&
        node.name == printable(name)) {
      return static_cast<NodeId>(i);
    }
  }
  const NodeId node = recording_.graph.add(
      {ShadowNode::Origin::global, 0, printable(name), globals.get(), nullptr});
  recording_.kept.push_back(std::move(globals));
  return node;
}

void ShadowFrame::call(const DvmFrameView& f) {
  Event event{Event::Kind::call, {}, {}, {}, kNoNode, loc(f)};
  std::vector<NodeId> arguments = pop(f.oparg);
  const NodeId second = pop(), first = pop();
  if (f.stack[f.depth - f.oparg - 2] != nullptr) {  // (function, self)
    arguments.insert(arguments.begin(), second);
    event.operands.push_back(first);
  } else {
    event.operands.push_back(second);
  }
  if (keyword_names_) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keyword_names_); ++i) {
      event.keywords.push_back(printable(PyTuple_GET_ITEM(keyword_names_, i)));
    }
  }
  keyword_names_ = nullptr;
  auto* callee =
      static_cast<PyObject*>(recording_.graph.nodes[static_cast<size_t>(event.operands[0])].object);
  if (callee && PyFunction_Check(callee)) {
    callee_ = callee;
    callee_arguments_ = arguments;
    // Only a plain positional call maps arguments to slots without repeating Python's binding.
    const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callee));
    const bool plain = event.keywords.empty() && code->co_argcount == int(arguments.size()) &&
                       code->co_kwonlyargcount == 0 &&
                       (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR)) == 0;
    if (!plain) callee_ = nullptr;
  }
  event.operands.insert(event.operands.end(), arguments.begin(), arguments.end());
  push_result(std::move(event));
}

void ShadowFrame::unpack(const DvmFrameView& f) {
  PyObject* sequence = f.stack[f.depth - 1];
  if (!PyTuple_CheckExact(sequence) || PyTuple_GET_SIZE(sequence) != f.oparg) {
    return abort(f, "unpacking something other than a tuple");
  }
  const NodeId base = pop();
  std::vector<NodeId> elements;
  for (int i = 0; i < f.oparg; ++i) {
    Ref index = Ref::steal(PyLong_FromLong(i));
    const NodeId element = recording_.graph.record(
        {Event::Kind::subscript, {}, {base, constant(index.get())}, {}, kNoNode, loc(f)});
    recording_.fill(element, PyTuple_GET_ITEM(sequence, i));
    elements.push_back(element);
  }
  stack_.insert(stack_.end(), elements.rbegin(), elements.rend());
}

void ShadowFrame::apply(const DvmFrameView& f, PyFrameObject* frame) {
  const auto top = [&](int i) -> NodeId& { return stack_[stack_.size() - static_cast<size_t>(i)]; };
  const auto local = [&]() -> NodeId& { return locals_[static_cast<size_t>(f.oparg)]; };
  const auto name = [&] { return printable(PyTuple_GET_ITEM(f.code->co_names, f.oparg)); };
  const auto event = [&](Event::Kind kind, std::string what, int operands) {
    std::vector<NodeId> nodes = pop(operands);
    push_result({kind, std::move(what), std::move(nodes), {}, kNoNode, loc(f)});
  };
  switch (f.opcode) {
    case RESUME:
    case NOP:
    case PRECALL:
    case COPY_FREE_VARS:
    case JUMP_FORWARD:
    case RETURN_VALUE:
      return;
    case POP_TOP:
      pop();
      return;
    case PUSH_NULL:
      return push(kNoNode);
    case COPY:
      return push(top(f.oparg));
    case SWAP:
      return std::swap(top(1), top(f.oparg));
    case LOAD_CONST:
      return push(constant(PyTuple_GET_ITEM(f.code->co_consts, f.oparg)));
    case LOAD_FAST:
      if (local() == kNoNode) return abort(f, "a local variable of unknown origin");
      return push(local());
    case STORE_FAST:
      local() = pop();
      return;
    case DELETE_FAST:
      local() = kNoNode;
      return;
    case LOAD_GLOBAL:
      if (f.oparg & 1) push(kNoNode);
      push(load_global(f, frame));
      pending_ = Pending::top;
      return;
    case LOAD_DEREF: {
      PyObject* cell = f.locals[f.oparg];
      const int free_begin = f.code->co_nlocalsplus - f.code->co_nfreevars;
      if (f.oparg < free_begin || PyCell_GET(cell) == nullptr) {
        return abort(f, "a variable shared with an inner function");
      }
      return push(recording_.keep(ShadowNode::Origin::closure, PyCell_GET(cell),
                                  f.oparg - free_begin, {}, dvm_frame_function(frame)));
    }
    case LOAD_ATTR:
      return event(Event::Kind::attribute, name(), 1);
    case LOAD_METHOD: {
      const NodeId self = top(1);
      const NodeId method =
          recording_.graph.record({Event::Kind::attribute, name(), {self}, {}, kNoNode, loc(f)});
      push(method);
      pending_ = Pending::method;
      return;
    }
    case KW_NAMES:
      keyword_names_ = PyTuple_GET_ITEM(f.code->co_consts, f.oparg);
      return;
    case CALL:
      return call(f);
    case BINARY_OP:
      if (f.oparg >= kInplaceBase) {
        // x += y on a number or a string makes a new object; on anything else it mutates x.
        PyObject* target = f.stack[f.depth - 2];
        if (!PyLong_CheckExact(target) && !PyFloat_CheckExact(target)) {
          return abort(f, "in-place operator");
        }
      }
      return event(Event::Kind::binary, kBinaryOperators[f.oparg % kInplaceBase], 2);
    case BINARY_SUBSCR:
      return event(Event::Kind::subscript, {}, 2);
    case COMPARE_OP:
      return event(Event::Kind::compare, kCompareOperators[f.oparg], 2);
    case IS_OP:
      return event(Event::Kind::compare, f.oparg ? "is not" : "is", 2);
    case UNARY_NEGATIVE:
      return event(Event::Kind::unary, "-", 1);
    case UNARY_POSITIVE:
      return event(Event::Kind::unary, "+", 1);
    case UNARY_INVERT:
      return event(Event::Kind::unary, "~", 1);
    case BUILD_TUPLE:
      return event(Event::Kind::tuple, {}, f.oparg);
    case BUILD_SLICE:
      return event(Event::Kind::slice, {}, f.oparg);
    case UNPACK_SEQUENCE:
      return unpack(f);
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_FORWARD_IF_FALSE:
      recording_.graph.events.push_back(
          {Event::Kind::branch, "truth", {pop()}, {}, kNoNode, loc(f)});
      return;
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_FORWARD_IF_NOT_NONE:
      recording_.graph.events.push_back(
          {Event::Kind::branch, "is None", {pop()}, {}, kNoNode, loc(f)});
      return;
    default:
      return abort(f, "opcode " + std::to_string(f.opcode));
  }
}

}  // namespace dvm::capture
