// array[key] and reshape of what is pending.
#include <algorithm>
#include <utility>

#include "bindings/lazy/record.h"
#include "bindings/lazy/recording.h"

namespace dvm::bindings::lazy {

namespace {

// A key that needs no values, which NumPy would make a view for.
class Key {
 public:
  // False: it is another, or an error of NumPy's.
  bool read(PyObject* key, const Operand& operand) {
    const bool is_tuple = PyTuple_CheckExact(key);
    const Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(key) : 1;
    PyObject* const* parts = is_tuple ? PySequence_Fast_ITEMS(key) : &key;
    const auto new_axes = std::count(parts, parts + count, Py_None);
    const auto dots = std::count(parts, parts + count, Py_Ellipsis);
    const auto others = static_cast<int>(count - new_axes - dots);
    if (dots > 1 || others > operand.rank || new_axes + operand.rank > core::kMaxRank) return false;
    for (int d = 0; d < operand.rank; ++d) axes_[d].count = operand.shape[d];
    int axis = 0, place = 0;
    for (Py_ssize_t k = 0; k < count; ++k) {
      if (parts[k] == Py_None) {
        added_ |= uint32_t{1} << place++;
      } else if (parts[k] == Py_Ellipsis) {
        axis += operand.rank - others;
        place += operand.rank - others;
      } else if (PySlice_Check(parts[k])) {
        if (!slice(parts[k], axes_[axis++])) return false;
        ++place;
      } else {
        taken_ |= uint32_t{1} << axis;
        if (!index(parts[k], axes_[axis++])) return false;
      }
    }
    return true;
  }

  // A node for each axis that is cut, and one where axes come or go.
  PyObject* record(Recording& recording, const Operand& operand, PyObject* made) const {
    Node node{.form = {.computes = operand.dtype, .dtype = operand.dtype}, .rank = operand.rank};
    std::copy_n(operand.shape, operand.rank, node.shape);
    node.form.operands[0] = recording.node_of(operand, operand.dtype);
    bool is_cut = false;
    for (int d = 0; d < operand.rank; ++d) {
      const Axis& axis = axes_[d];
      if (axis.count == node.shape[d] && axis.step == 1) continue;
      if (std::exchange(is_cut, true)) node.form.operands[0] = recording.add_within(node);
      node.form.kind = Kind::slice;
      node.form.axes = static_cast<uint32_t>(d);
      node.form.step = axis.step;
      node.number = core::Scalar::of_int(axis.start);
      node.shape[d] = axis.count;
    }
    if (is_cut && (taken_ | added_) == 0) return recording.add(node, made);
    if (is_cut) node.form.operands[0] = recording.add_within(node);
    Node view{.form = {.kind = Kind::reshape, .computes = operand.dtype, .dtype = operand.dtype}};
    view.form.operands[0] = node.form.operands[0];
    for (int d = 0; d <= operand.rank; ++d) {
      while ((added_ >> view.rank & 1U) != 0) view.shape[view.rank++] = 1;
      if (d < operand.rank && (taken_ >> d & 1U) == 0) view.shape[view.rank++] = node.shape[d];
    }
    return recording.add(view, made);
  }

 private:
  struct Axis {
    int64_t start = 0, count = 0;
    int32_t step = 1;
  };

  static bool slice(PyObject* given, Axis& axis) {
    const auto* slice = reinterpret_cast<PySliceObject*>(given);
    for (PyObject* part : {slice->start, slice->stop, slice->step}) {
      if (part != Py_None && !PyLong_CheckExact(part)) return false;
    }
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(given, &start, &stop, &step) < 0) {
      PyErr_Clear();
      return false;
    }
    axis.count = PySlice_AdjustIndices(axis.count, &start, &stop, step);
    // Of none and of one the step is no matter, and what begins nowhere begins at 0.
    if (axis.count <= 1) step = 1;
    axis.start = axis.count == 0 ? 0 : start;
    axis.step = static_cast<int32_t>(step);
    return axis.step == step;
  }

  static bool index(PyObject* given, Axis& axis) {
    if (!PyLong_CheckExact(given)) return false;
    int overflow = 0;
    int64_t place = PyLong_AsLongLongAndOverflow(given, &overflow);
    if (place < 0) place += axis.count;
    if (overflow != 0 || place < 0 || place >= axis.count) return false;
    axis = {.start = place, .count = 1};
    return true;
  }

  Axis axes_[core::kMaxRank];
  uint32_t taken_ = 0, added_ = 0;  // axes of the array that go, and of the result that are new
};

}  // namespace

PyObject* part(PyObject* a, PyObject* key) {
  Recording recording;
  if (!recording.begin({&a, 1})) return nullptr;
  Operand operand;
  if (!as_array(a)->is_pending() || !recording.read(a, operand)) Py_RETURN_NONE;
  Key read;
  if (!read.read(key, operand)) Py_RETURN_NONE;
  PyObject* made = Recording::new_array();
  return made == nullptr ? nullptr : read.record(recording, operand, made);
}

}  // namespace dvm::bindings::lazy
