#include "capture/record/turn_nodes.h"

#include <algorithm>
#include <array>

#include "capture/record/recorded_events.h"

namespace dvm::capture {

TurnNodes::TurnNodes(PyObject* nodes, PyObject* events, Py_ssize_t begin, Py_ssize_t end,
                     std::span<const Py_ssize_t> given)
    : nodes_(nodes),
      events_(events),
      begin_(begin),
      known_(static_cast<size_t>(PyList_GET_SIZE(nodes))) {
  for (const Py_ssize_t node : given) known_.at(static_cast<size_t>(node)) = true;
  for (Py_ssize_t event = begin; event < end && outside_ < 0; ++event) pass(event);
}

bool TurnNodes::is_inside(Py_ssize_t node) const {
  if (node < 0 || node >= std::ssize(known_)) return false;
  if (known_[static_cast<size_t>(node)]) return true;
  constexpr std::array<std::string_view, 4> kOfTheFunction = {"constant", "global", "closure",
                                                              "default"};
  const std::string_view origin = text_of(nodes_, node, kNodeOrigin);
  if (std::ranges::find(kOfTheFunction, origin) != kOfTheFunction.end()) return true;
  return origin == "event" && PyLong_AsSsize_t(field_of(nodes_, node, kNodeIndex)) >= begin_;
}

Py_ssize_t TurnNodes::first(Py_ssize_t node) const {
  const auto found = first_.find(node);
  return found == first_.end() ? node : found->second;
}

// Of variables that nobody reads nothing is known, though loops hand them on.
void TurnNodes::pass(Py_ssize_t event) {
  const std::string_view kind = text_of(events_, event, kEventKind);
  PyObject* const operands = field_of(events_, event, kEventOperands);
  if (kind == "header" || kind == "out") {
    const Py_ssize_t half = PyList_GET_SIZE(field_of(events_, event, kEventKeywords));
    for (Py_ssize_t i = 0; i < half; ++i) {
      const Py_ssize_t old = node_in(operands, 1 + i), made = node_in(operands, 1 + half + i);
      first_[made] = first(old);
      if (is_inside(old)) known_.at(static_cast<size_t>(made)) = true;
    }
    return;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(operands); ++i) {
    const Py_ssize_t node = node_in(operands, i);
    if (!is_inside(node)) {
      outside_ = node;
      return;
    }
  }
  const Py_ssize_t result = PyLong_AsSsize_t(field_of(events_, event, kEventResult));
  if (result >= 0) known_.at(static_cast<size_t>(result)) = true;
}

}  // namespace dvm::capture
