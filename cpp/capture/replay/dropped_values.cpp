#include "capture/replay/dropped_values.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "capture/cpython311/instance_dict.h"
#include "capture/record/lifetimes.h"

namespace dvm::capture {

namespace {

constexpr std::string_view kDropNothing[] = {"append", "appendleft", "extend", "extendleft",
                                             "insert", "reverse",    "sort",   "add"};

// What a register holds, or will hold when the effect runs: constants are made where they are
// first read.
PyObject* held_in(const Frame& f, int32_t reg) {
  if (f[reg] != nullptr) return f[reg];
  for (const Step& step : f.path->steps) {
    const int32_t* p = f.path->operands(step);
    if (step.op == StepOp::constant_ && p[0] == reg) return f.path->object(p[1]);
  }
  return nullptr;  // it is made behind the commit, and nobody has seen it yet
}

class DroppedValues {
 public:
  explicit DroppedValues(const Frame& frame) : f_(frame) {}

  void add(const Step& step) {
    const int32_t* p = f_.path->operands(step);
    switch (step.op) {
      case StepOp::set_attribute_:
      case StepOp::delete_attribute_:
        return add_attribute(held_in(f_, p[0]), f_.path->object(p[1]));
      case StepOp::set_item_:
      case StepOp::delete_item_:
        return add_item(f_[p[0]], held_in(f_, p[1]));
      case StepOp::set_variable_:
        return add(PyDict_GetItemWithError(f_.path->object(p[0]), f_.path->object(p[1])));
      case StepOp::set_cell_:
        return PyCell_Check(f_[p[0]]) ? add(PyCell_GET(f_[p[0]])) : void();
      case StepOp::list_replace_:
        return add_all(f_[p[0]]);
      case StepOp::effect_:
        return add_call(held_in(f_, p[1]), p + 3, p[2]);
      default:
        return;
    }
  }

  bool tell() {
    if (values_.empty()) return false;
    // Registers hold some of them, too, and let go at the end.
    Lifetimes lifetimes;
    for (PyObject* const value : values_) lifetimes.hold(value);
    std::ranges::sort(values_);
    const auto [last, end] = std::ranges::unique(values_);
    values_.erase(last, end);
    for (int32_t reg = 0; reg < f_.call.path->registers; ++reg) {
      if (std::ranges::binary_search(values_, f_[reg])) lifetimes.hold(f_[reg]);
    }
    return !lifetimes.look().empty();
  }

 private:
  void add(PyObject* value) {
    if (value != nullptr && !is_mute(value)) values_.push_back(value);
  }

  void add_attribute(PyObject* object, PyObject* name) {
    if (object == nullptr) return;
    if (PyType_Check(object))
      return add(_PyType_Lookup(reinterpret_cast<PyTypeObject*>(object), name));
    PyObject* const found = _PyType_Lookup(Py_TYPE(object), name);
    if (found != nullptr && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
      const Ref slot = Ref::steal(Py_TYPE(found)->tp_descr_get(
          found, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
      add(slot.get());
    } else {
      add(dvm_instance_attribute(object, name));
    }
  }

  void add_item(PyObject* container, PyObject* key) {
    if (container == nullptr || key == nullptr) return;
    if (PyDict_Check(container)) return add(PyDict_GetItemWithError(container, key));
    if (!PyList_Check(container) && !is_deque(container)) return;
    const Py_ssize_t size = Py_SIZE(container);
    const Py_ssize_t index = PyNumber_AsSsize_t(key, nullptr);
    const Py_ssize_t place = index < 0 ? index + size : index;
    if (PySlice_Check(key) || place < 0 || place >= size) return add_all(container);
    const Ref item = Ref::steal(PySequence_GetItem(container, place));
    add(item.get());
  }

  void add_all(PyObject* container) {
    if (container == nullptr) return;
    if (PyDict_Check(container)) {
      Py_ssize_t position = 0;
      for (PyObject *key, *value; PyDict_Next(container, &position, &key, &value);) {
        add(key), add(value);
      }
      return;
    }
    const Ref items = Ref::steal(PySequence_Tuple(container));
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items.get()); ++i) {
      add(PyTuple_GET_ITEM(items.get(), i));
    }
  }

  // A method of a container; other calls drop nothing.
  void add_call(PyObject* callee, const int32_t* arguments, int32_t count) {
    if (callee == nullptr || count == 0 || f_[arguments[0]] == nullptr) return;
    PyObject* const container = f_[arguments[0]];
    const bool is_container = PyList_Check(container) || PyDict_Check(container) ||
                              PyAnySet_Check(container) || is_deque(container);
    if (Py_IS_TYPE(callee, &PyWrapperDescr_Type)) {  // __setattr__, __setitem__, __delitem__
      if (count < 2) return;
      PyObject* const key = held_in(f_, arguments[1]);
      return is_container ? add_item(container, key) : add_attribute(container, key);
    }
    if (!is_container || !Py_IS_TYPE(callee, &PyMethodDescr_Type)) return;
    const std::string_view name = reinterpret_cast<PyMethodDescrObject*>(callee)->d_method->ml_name;
    const bool is_bounded = is_deque(container) && has_limit(container);
    if (!is_bounded && std::ranges::find(kDropNothing, name) != std::end(kDropNothing)) return;
    const Py_ssize_t size = PyObject_Size(container);
    if (size == 0) return;
    if (PyList_Check(container) && name == "pop") {
      return count > 1 ? add_item(container, held_in(f_, arguments[1]))
                       : add_last(container, size - 1);
    }
    if (is_deque(container) && (name == "pop" || name == "popleft")) {
      return add_last(container, name == "pop" ? size - 1 : 0);
    }
    add_all(container);
  }

  void add_last(PyObject* sequence, Py_ssize_t place) {
    const Ref item = Ref::steal(PySequence_GetItem(sequence, place));
    add(item.get());
  }

  static bool has_limit(PyObject* deque) {
    const Ref limit = Ref::steal(PyObject_GetAttrString(deque, "maxlen"));
    return limit && limit.get() != Py_None;
  }

  const Frame& f_;
  std::vector<PyObject*> values_;
};

bool may_drop(StepOp op) {
  switch (op) {
    case StepOp::set_attribute_:
    case StepOp::delete_attribute_:
    case StepOp::set_item_:
    case StepOp::delete_item_:
    case StepOp::set_variable_:
    case StepOp::set_cell_:
    case StepOp::list_replace_:
    case StepOp::effect_:
      return true;
    default:
      return false;
  }
}

}  // namespace

void note_drops(Path& path) {
  const auto commit = std::ranges::find(path.steps, StepOp::commit_, &Step::op);
  std::vector<int32_t> made;  // behind the commit: nobody has it
  for (auto step = commit; step != path.steps.end(); ++step) {
    if (step->op != StepOp::constant_) {
      for_each_register(path, *step, [&](int32_t reg, bool defines) {
        if (defines) made.push_back(reg);
      });
    }
    if (!may_drop(step->op)) continue;
    const int32_t* const p = path.operands(*step);
    const bool is_call = step->op == StepOp::effect_;
    if (is_call && p[2] == 0) continue;
    const int32_t object = is_call ? p[3] : p[0];
    const bool is_new =
        step->op != StepOp::set_variable_ && std::ranges::find(made, object) != made.end();
    if (!is_new) path.drops.push_back(static_cast<int32_t>(step - path.steps.begin()));
  }
}

bool drops_tell(const Frame& frame) {
  DroppedValues values(frame);
  for (const int32_t step : frame.path->drops) {
    values.add(frame.path->steps[static_cast<size_t>(step)]);
  }
  const bool tell = values.tell();
  PyErr_Clear();
  return tell;
}

}  // namespace dvm::capture
