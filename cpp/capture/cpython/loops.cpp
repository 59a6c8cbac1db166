#include "capture/cpython/loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "capture/cpython/frame_recorder.h"

namespace dvm::capture {

namespace {

bool jumps_back(const Decoded& each) {
  const Op op = each.first.op;
  return each.target >= 0 && each.target <= each.start && op != Op::nothing && op != Op::send;
}

bool jumps_ahead(const Decoded& each) {
  const Op op = each.first.op;
  return each.target > each.unit && op != Op::for_iter && op != Op::send;
}

// The places of a code that the instructions of one loop name.
struct Named {
  std::set<int32_t> slots, set, cells;

  void add(Operation operation) {
    switch (operation.op) {
      case Op::store_fast:
      case Op::delete_fast:
        set.insert(operation.arg);
        [[fallthrough]];
      case Op::load_fast:
        slots.insert(operation.arg);
        return;
      case Op::load_deref:
      case Op::store_deref:
      case Op::delete_deref:
      case Op::load_closure:
        cells.insert(operation.arg);
        return;
      default:
        return;
    }
  }
};

std::vector<CodeLoop> found_in(PyCodeObject* code) {
  const CodeTable& table = code_table(code);
  std::map<int32_t, int32_t> ends;  // by the beginning
  for (const Decoded& each : table.instructions()) {
    if (!jumps_back(each)) continue;
    int32_t& end = ends[each.target];
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
    CodeLoop loop{.begin = begin, .end = end};
    const Decoded* const first = table.at(begin);
    const int32_t below = first != nullptr ? first->depth : 0;  // entries that a turn finds
    Named named;
    for (const Decoded& each : table.instructions()) {
      if (!loop.holds(each.unit)) continue;
      named.add(each.first);
      named.add(each.then);
      const int32_t list = each.depth - 1 - each.first.arg;
      if (each.first.op == Op::list_append && list < below) loop.filled = list;
      const bool returns = each.first.op == Op::return_value || each.then.op == Op::return_value;
      const bool leaves = jumps_ahead(each) && each.target >= end;
      loop.is_left_early = loop.is_left_early || leaves || returns;
    }
    loop.slots.assign(named.slots.begin(), named.slots.end());
    loop.set.assign(named.set.begin(), named.set.end());
    loop.cells.assign(named.cells.begin(), named.cells.end());
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

void FrameRecorder::pass_loops(const FrameView& f) {
  const bool returns = f.op == Op::return_value;
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

bool FrameRecorder::is_at_turn(const FrameView& f) const {
  return f.op == Op::for_iter && !turning_.empty() && turning_.back().loop->begin == f.start;
}

void FrameRecorder::go_on_at_turn(const FrameView& f, int64_t skipped) {
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
                         const FrameView& f, NodeId* returned) {
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
  const auto filled = static_cast<size_t>(loop.filled);
  if (loop.filled >= 0 && filled < stack_.size() && stack_[filled] != kNoNode) {
    places.push_back(&stack_[filled]);
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
