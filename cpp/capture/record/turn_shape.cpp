#include "capture/record/turn_shape.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/library/library.h"
#include "capture/record/recorded_events.h"

namespace dvm::capture {

namespace {

// A loop within a turn that was left at its end or by `break`, and that is rolled.
struct Within {
  std::string_view begins;  // where in the code: the second word of its headers
  int depth = 0;            // of frames
  std::vector<Py_ssize_t> headers;
  Py_ssize_t out = -1;
  PyObject* variables = nullptr;
};

// By their first headers.
using Loops = std::unordered_map<Py_ssize_t, Within>;

Loops loops_between(PyObject* events, Py_ssize_t begin, Py_ssize_t end, const RolledLoops& rolled) {
  Loops found;
  std::vector<Within> open;
  int depth = 0;
  for (Py_ssize_t i = begin; i < end; ++i) {
    const std::string_view kind = text_of(events, i, kEventKind);
    if (kind == "enter" || kind == "resumes") {
      ++depth;
    } else if (kind == "leave" || kind == "yields") {
      --depth;
      while (!open.empty() && open.back().depth > depth) open.pop_back();
    } else if (kind == "header") {
      const std::string_view name = text_of(events, i, kEventName);
      const size_t first = name.find(' ') + 1;
      const std::string_view begins = name.substr(first, name.find(' ', first) - first);
      if (name.starts_with("enter")) open.push_back({begins, depth, {}, -1, nullptr});
      if (!open.empty() && open.back().begins == begins) open.back().headers.push_back(i);
    } else if (kind == "out") {
      const std::string_view name = text_of(events, i, kEventName);
      if (open.empty() || open.back().begins != name.substr(0, name.find(' '))) continue;
      open.back().out = i;
      const Py_ssize_t first = open.back().headers.front();
      if (const auto known = rolled.find(first); known != rolled.end()) {
        open.back().variables = known->second;
        found.emplace(first, std::move(open.back()));
      }
      open.pop_back();
    }
  }
  return found;
}

class Shape {
 public:
  Shape(PyObject* nodes, PyObject* events, const Loops& loops, PyObject* called,
        std::unordered_set<int64_t>& within)
      : nodes_(nodes), events_(events), loops_(loops), called_(called), within_(within) {}

  int64_t of(Py_ssize_t begin, Py_ssize_t end) {
    for (Py_ssize_t i = begin; i < end; ++i) {
      const auto loop = loops_.find(i);
      if (loop == loops_.end() || loop->second.out >= end) {
        add(i);
        if (const Py_ssize_t last = i > begin ? last_of_call(i) : -1; last >= 0 && last < end) {
          i = last - 1;  // to what it gave
        }
      } else {
        add(loop->second);
        i = loop->second.out;
      }
    }
    return static_cast<int64_t>(hash_);
  }

 private:
  void add(Py_ssize_t event) {
    PyObject* const keywords = field_of(events_, event, kEventKeywords);
    PyObject* const operands = field_of(events_, event, kEventOperands);
    add_name(field_of(events_, event, kEventKind));
    add_name(field_of(events_, event, kEventName));
    mix(static_cast<uint64_t>(PyList_GET_SIZE(keywords)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keywords); ++i) {
      add_name(PyList_GET_ITEM(keywords, i));
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(operands); ++i) {
      add_node(node_in(operands, i));
    }
    add_node(PyLong_AsSsize_t(field_of(events_, event, kEventResult)));
  }

  // However many turns there were, and in whatever order they went their ways.
  void add(const Within& loop) {
    const Py_ssize_t enter = loop.headers.front();
    add_name(field_of(events_, enter, kEventName));
    PyObject* const names = field_of(events_, enter, kEventKeywords);
    PyObject* const operands = field_of(events_, enter, kEventOperands);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
      const int is_read = PySequence_Contains(loop.variables, PyList_GET_ITEM(names, i));
      if (is_read < 0) PyErr_Clear();
      if (is_read > 0) add_node(node_in(operands, 1 + i));
    }
    mix(loop.headers.size() > 1 ? 1 : 0);
    for (size_t turn = 0; turn < loop.headers.size(); ++turn) {
      const Py_ssize_t begin = loop.headers[turn] + 1;
      const Py_ssize_t end = turn + 1 < loop.headers.size() ? loop.headers[turn + 1] : loop.out;
      if (end > begin)
        within_.insert(Shape(nodes_, events_, loops_, called_, within_).of(begin, end));
    }
    add(loop.out);
  }

  // The last event of an activation that is a step and begins there; -1: none does.
  Py_ssize_t last_of_call(Py_ssize_t event) const {
    if (PyDict_GET_SIZE(called_) == 0) return -1;
    const Ref key = Ref::steal(PyLong_FromSsize_t(event));
    PyObject* const last = key ? PyDict_GetItem(called_, key.get()) : nullptr;
    return last != nullptr ? PyLong_AsSsize_t(last) : -1;
  }

  void mix(uint64_t value) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
    hash_ = (hash_ ^ value) * kOdd;
    hash_ ^= hash_ >> 29;
  }

  void add_name(PyObject* name) {
    const Py_hash_t hash = PyObject_Hash(name);
    if (hash == -1) PyErr_Clear();
    mix(static_cast<uint64_t>(hash));
  }

  // Which of the nodes met it is, what kind of object it has, and which of the arrays and lists.
  void add_node(Py_ssize_t node) {
    const auto [found, added] = places_.try_emplace(node, places_.size());
    mix(found->second);
    if (!added || node < 0 || node >= PyList_GET_SIZE(nodes_)) return;
    PyObject* const object = field_of(nodes_, node, kNodeObject);
    mix(reinterpret_cast<uintptr_t>(Py_TYPE(object)));
    const Library* const library = exact_library_of(object);
    if (library != nullptr || PyList_CheckExact(object)) {
      mix(objects_.try_emplace(object, objects_.size()).first->second);
    }
    if (library == nullptr) return;
    const ArrayView array = library->view(object);
    mix(static_cast<uint64_t>(array.kind));
    mix(static_cast<uint64_t>(array.item_bytes));
    mix(static_cast<uint64_t>(array.rank));
    mix(array.flags & (kCContiguous | kFContiguous));
    mix(array.size() > 0 ? 1 : 0);
  }

  PyObject* const nodes_;
  PyObject* const events_;
  const Loops& loops_;
  PyObject* called_;
  std::unordered_set<int64_t>& within_;
  std::unordered_map<Py_ssize_t, size_t> places_;
  std::unordered_map<PyObject*, size_t> objects_;
  uint64_t hash_ = 0;
};

}  // namespace

TurnShape shape_of_turn(PyObject* nodes, PyObject* events, Py_ssize_t begin, Py_ssize_t end,
                        const RolledLoops& rolled, PyObject* called) {
  TurnShape shape;
  const Loops loops = loops_between(events, begin, end, rolled);
  shape.own = Shape(nodes, events, loops, called, shape.within).of(begin, end);
  return shape;
}

}  // namespace dvm::capture
