// The events and nodes of a recording as Python has them (bindings/bind_recording.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

enum { kNodeOrigin, kNodeIndex, kNodeName, kNodeScope, kNodeObject, kNodeSnapshot };
enum { kEventKind, kEventName, kEventOperands, kEventKeywords, kEventResult };

inline PyObject* field_of(PyObject* records, Py_ssize_t number, int place) {
  return PyTuple_GET_ITEM(PyList_GET_ITEM(records, number), place);
}

// Where its tuples have one; they live as long as the recording.
std::string_view text_of(PyObject* records, Py_ssize_t number, int place);

// Of the nodes that an event has in a list: that at a place.
inline Py_ssize_t node_in(PyObject* list, Py_ssize_t place) {
  return PyLong_AsSsize_t(PyList_GET_ITEM(list, place));
}

// What is asked of all events, or nodes, of a recording.
// marks: events between which frames and loops are what they are.
// layouts: those that give an array another shape or dtype.
// seen: nodes whose object was looked at when it was met: the first of each object.
struct RecordingIndex {
  std::vector<Py_ssize_t> marks, layouts, seen;
};
RecordingIndex index_of(PyObject* nodes, PyObject* events);

}  // namespace dvm::capture
