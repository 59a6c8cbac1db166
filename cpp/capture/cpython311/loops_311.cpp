#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "capture/cpython311/frame_recorder.h"
#include "capture/cpython311/loops.h"
#include "opcode.h"

namespace dvm::capture {

namespace {

struct Decoded {
  int32_t start, unit;  // of the first EXTENDED_ARG, and of the instruction
  int opcode, oparg;
};

// As the compiler wrote them, whatever the interpreter has specialised since.
std::vector<Decoded> decoded(PyCodeObject* code) {
  const Ref bytes = made(PyCode_GetCode(code));
  const auto* const units = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get()));
  const auto count = static_cast<int32_t>(PyBytes_GET_SIZE(bytes.get()) / 2);
  std::vector<Decoded> all;
  Decoded next{0, 0, 0, 0};
  for (int32_t unit = 0; unit < count; ++unit) {
    const unsigned char* const at = units + ptrdiff_t{2} * unit;
    const int opcode = at[0];
    if (opcode == CACHE) {
      next.start = unit + 1;
      continue;
    }
    next.oparg = next.oparg << 8 | at[1];
    if (opcode == EXTENDED_ARG) continue;
    next.unit = unit;
    next.opcode = opcode;
    all.push_back(next);
    next = {unit + 1, 0, 0, 0};
  }
  return all;
}

bool jumps_back(int opcode) {
  switch (opcode) {
    case JUMP_BACKWARD:
    case POP_JUMP_BACKWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_NONE:
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
      return true;
    default:
      return false;
  }
}

bool jumps_ahead(int opcode) {
  switch (opcode) {
    case JUMP_FORWARD:
    case JUMP_IF_TRUE_OR_POP:
    case JUMP_IF_FALSE_OR_POP:
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_FORWARD_IF_NOT_NONE:
      return true;
    default:
      return false;
  }
}

bool names_variable(int opcode) {
  return opcode == LOAD_FAST || opcode == STORE_FAST || opcode == DELETE_FAST;
}

bool names_cell(int opcode) {
  return opcode == LOAD_DEREF || opcode == STORE_DEREF || opcode == DELETE_DEREF ||
         opcode == LOAD_CLOSURE;
}

std::vector<CodeLoop> found_in(PyCodeObject* code) {
  const std::vector<Decoded> instructions = decoded(code);
  std::map<int32_t, int32_t> ends;  // by the beginning
  for (const Decoded& each : instructions) {
    if (!jumps_back(each.opcode)) continue;
    int32_t& end = ends[each.unit + 1 - each.oparg];
    end = std::max(end, each.unit + 1);
  }
  // A `while` with a `continue` jumps back to two places: the loop of the first holds the other.
  for (auto outer = ends.rbegin(); outer != ends.rend(); ++outer) {
    for (const auto& [begin, end] : ends) {
      if (outer->first < begin && begin < outer->second) {
        outer->second = std::max(outer->second, end);
      }
    }
  }
  std::vector<CodeLoop> loops;
  for (const auto& [begin, end] : ends) {
    CodeLoop loop{begin, end, {}, {}, {}};
    std::set<int32_t> slots, set, cells;
    for (const Decoded& each : instructions) {
      if (!loop.holds(each.unit)) continue;
      if (names_variable(each.opcode)) slots.insert(each.oparg);
      if (each.opcode == STORE_FAST || each.opcode == DELETE_FAST) set.insert(each.oparg);
      if (names_cell(each.opcode)) cells.insert(each.oparg);
      loop.fills = loop.fills || each.opcode == LIST_APPEND;
      const bool leaves = jumps_ahead(each.opcode) && each.unit + 1 + each.oparg >= end;
      loop.is_left_early = loop.is_left_early || leaves || each.opcode == RETURN_VALUE;
    }
    loop.slots.assign(slots.begin(), slots.end());
    loop.set.assign(set.begin(), set.end());
    loop.cells.assign(cells.begin(), cells.end());
    loops.push_back(std::move(loop));
  }
  return loops;
}

}  // namespace

const std::vector<CodeLoop>& CodeLoops::of(PyCodeObject* code) {
  const auto [found, added] = known_.try_emplace(code);
  if (added) found->second = found_in(code);
  return found->second;
}

void FrameRecorder::pass_loops(const DvmFrameView& f) {
  const bool returns = f.opcode == RETURN_VALUE;
  while (!turning_.empty() && (returns || !turning_.back().loop->holds(f.start))) {
    const CodeLoop& loop = *turning_.back().loop;
    turning_.pop_back();
    const std::string name = std::to_string(loop.begin) + ' ' + std::to_string(f.start);
    const bool from_within = returns && loop.holds(f.start);
    mark(core::SeenEvent::Kind::out, name, loop, f, from_within ? &stack_.back() : nullptr);
  }
  for (const CodeLoop& loop : *loops_) {
    if (loop.begin != f.start) continue;
    const bool again = !turning_.empty() && turning_.back().loop == &loop;
    if (again) {
      ++turning_.back().turn;
    } else {
      turning_.push_back({&loop, 0});
    }
    std::string name =
        (again ? "again " : "enter ") + std::to_string(loop.begin) + ' ' + std::to_string(loop.end);
    if (std::exchange(behind_skipped_, false)) {
      name += ' ' + std::to_string(turning_.back().turn);
    }
    mark(core::SeenEvent::Kind::header, name, loop, f, nullptr);
  }
}

bool FrameRecorder::is_at_turn(const DvmFrameView& f) const {
  if (f.opcode != FOR_ITER || turning_.empty()) return false;
  const CodeLoop& loop = *turning_.back().loop;
  return loop.begin == f.start && (turning_.size() == 1 || !loop.is_left_early);
}

void FrameRecorder::go_on_at_turn(const DvmFrameView& f, int64_t skipped) {
  turning_.back().turn += skipped - 1;
  behind_skipped_ = true;
  const CodeLoop& loop = *turning_.back().loop;
  for (const int32_t slot : loop.set) {
    PyObject* const object = f.locals[slot];
    local(slot) = object == nullptr ? kNoNode : record_.met(object);
  }
  for (const int32_t slot : loop.cells) {
    PyObject* const cell = f.locals[slot];
    if (record_.adopted_contents(cell) != kNoNode) {
      PyObject* const contents = PyCell_GET(cell);
      record_.set_cell(cell, contents == nullptr ? kNoNode : record_.met(contents));
    }
  }
}

// The variables of the loop that have a value, and what the frame returns, get nodes of this event.
void FrameRecorder::mark(core::SeenEvent::Kind kind, const std::string& name, const CodeLoop& loop,
                         const DvmFrameView& f, NodeId* returned) {
  std::vector<NodeId*> places;
  std::vector<PyObject*> names;
  std::vector<NodeId> contents;
  contents.reserve(loop.cells.size());
  for (const int32_t slot : loop.cells) {
    const NodeId node = record_.adopted_contents(f.locals[slot]);
    if (node == kNoNode) continue;
    places.push_back(&contents.emplace_back(node));
    names.push_back(PyTuple_GET_ITEM(code_->co_localsplusnames, slot));
  }
  for (const int32_t slot : loop.slots) {
    if (local(slot) == kNoNode) continue;
    places.push_back(&local(slot));
    names.push_back(PyTuple_GET_ITEM(code_->co_localsplusnames, slot));
  }
  if (loop.fills && !stack_.empty() && stack_[0] != kNoNode) {
    places.push_back(&stack_[0]);
    names.push_back(interned("$0"));
  }
  if (returned != nullptr && *returned != kNoNode) {
    places.push_back(returned);
    names.push_back(words().empty);
  }
  std::vector<NodeId> operands = {record_.constant(reinterpret_cast<PyObject*>(code_))};
  for (const NodeId* place : places) operands.push_back(*place);
  for (NodeId* place : places) {
    operands.push_back(*place = record_.again(*place));
    record_.look_again(*place);
  }
  auto content = contents.begin();
  for (const int32_t slot : loop.cells) {
    PyObject* const cell = f.locals[slot];
    if (record_.adopted_contents(cell) != kNoNode) record_.set_cell(cell, *content++);
  }
  Ref keywords = made(PyTuple_New(std::ssize(names)));
  for (size_t i = 0; i < names.size(); ++i) {
    PyTuple_SET_ITEM(keywords.get(), static_cast<Py_ssize_t>(i), Py_NewRef(names[i]));
  }
  record_.keep(keywords.get());
  const Ref text = made(PyUnicode_FromStringAndSize(name.data(), std::ssize(name)));
  record_.keep(text.get());
  record_.add(kind, text.get(), operands, place(), keywords.get());
}

}  // namespace dvm::capture
