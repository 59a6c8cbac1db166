#include "capture/record/recorded_events.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace dvm::capture {

std::string_view text_of(PyObject* records, Py_ssize_t number, int place) {
  Py_ssize_t size = 0;
  const char* const start = PyUnicode_AsUTF8AndSize(field_of(records, number, place), &size);
  if (start == nullptr) PyErr_Clear();
  return start == nullptr ? std::string_view() : std::string_view(start, static_cast<size_t>(size));
}

RecordingIndex index_of(PyObject* nodes, PyObject* events) {
  constexpr std::array<std::string_view, 8> kMarks = {"enter", "resumes", "throws", "given",
                                                      "leave", "yields",  "header", "out"};
  constexpr std::array<std::string_view, 3> kLayout = {"shape", "strides", "dtype"};
  RecordingIndex index;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(events); ++i) {
    const std::string_view kind = text_of(events, i, kEventKind);
    if (std::ranges::find(kMarks, kind) != kMarks.end()) {
      index.marks.push_back(i);
    } else if (kind == "store_attribute" &&
               std::ranges::find(kLayout, text_of(events, i, kEventName)) != kLayout.end()) {
      index.layouts.push_back(i);
    }
  }
  std::unordered_set<PyObject*> met;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); ++i) {
    if (field_of(nodes, i, kNodeSnapshot) == Py_None) continue;
    if (met.insert(field_of(nodes, i, kNodeObject)).second) index.seen.push_back(i);
  }
  return index;
}

}  // namespace dvm::capture
