#include "capture/record/arguments.h"

#include <algorithm>

namespace dvm::capture {

namespace {

using Kind = core::SeenEvent::Kind;

// Whether they are slices of the same parts: for x[a:b] the interpreter makes one of its own that
// the recording has not met.
bool are_same_slices(PyObject* one, PyObject* other) {
  if (one == nullptr || other == nullptr || !PySlice_Check(one) || !PySlice_Check(other)) {
    return false;
  }
  const auto* const a = reinterpret_cast<PySliceObject*>(one);
  const auto* const b = reinterpret_cast<PySliceObject*>(other);
  return a->start == b->start && a->stop == b->stop && a->step == b->step;
}

class RecordedBinding {
 public:
  RecordedBinding(Record& record, PyFunctionObject* function, const FrameView& f)
      : record_(record),
        function_(function),
        f_(f),
        nodes_(static_cast<size_t>(parameter_slots(f.code)), kNoNode) {}

  bool positional(const std::vector<NodeId>& nodes) {
    const auto count = std::min<size_t>(nodes.size(), static_cast<size_t>(f_.code->co_argcount));
    std::copy_n(nodes.begin(), count, nodes_.begin());
    surplus_.assign(nodes.begin() + static_cast<ptrdiff_t>(count), nodes.end());
    return surplus_.empty() || (f_.code->co_flags & CO_VARARGS);
  }

  bool named(const std::vector<PyObject*>& names, const std::vector<NodeId>& nodes) {
    for (size_t i = 0; i < names.size(); ++i) {
      const int slot = find(names[i]);
      if (slot >= 0) {
        nodes_[static_cast<size_t>(slot)] = nodes[i];
        continue;
      }
      if (!(f_.code->co_flags & CO_VARKEYWORDS)) return false;
      surplus_names_.push_back(names[i]);
      surplus_named_.push_back(nodes[i]);
    }
    return true;
  }

  bool defaults() {
    const int positional = f_.code->co_argcount;
    PyObject* tuple = function_->func_defaults;
    const int first = positional - (tuple ? static_cast<int>(PyTuple_GET_SIZE(tuple)) : 0);
    for (int slot = 0; slot < positional + f_.code->co_kwonlyargcount; ++slot) {
      NodeId& node = nodes_[static_cast<size_t>(slot)];
      if (node != kNoNode) continue;
      PyObject* object = nullptr;
      if (slot < positional) {
        if (slot >= first) object = PyTuple_GET_ITEM(tuple, slot - first);
      } else if (function_->func_kwdefaults) {
        object = PyDict_GetItemWithError(function_->func_kwdefaults, name(slot));
      }
      if (object == nullptr) return false;
      node = record_.preset(reinterpret_cast<PyObject*>(function_), slot, object);
    }
    return true;
  }

  // The frame's own objects: nothing but this call can have put them there.
  bool agrees() const {
    const int plain = f_.code->co_argcount + f_.code->co_kwonlyargcount;
    for (int slot = 0; slot < plain; ++slot) {
      const NodeId node = nodes_[static_cast<size_t>(slot)];
      PyObject* const own = record_.object(node);
      if (own != parameter(f_, slot) && !are_same_slices(own, parameter(f_, slot))) return false;
    }
    int slot = plain;
    if (f_.code->co_flags & CO_VARARGS) {
      PyObject* tuple = parameter(f_, slot++);
      if (PyTuple_GET_SIZE(tuple) != static_cast<Py_ssize_t>(surplus_.size())) return false;
      for (size_t i = 0; i < surplus_.size(); ++i) {
        if (PyTuple_GET_ITEM(tuple, i) != record_.object(surplus_[i])) return false;
      }
    }
    return !(f_.code->co_flags & CO_VARKEYWORDS) ||
           PyDict_GET_SIZE(parameter(f_, slot)) == static_cast<Py_ssize_t>(surplus_named_.size());
  }

  std::vector<NodeId> finish(Place place) {
    int slot = f_.code->co_argcount + f_.code->co_kwonlyargcount;
    for (int plain = 0; plain < slot; ++plain) {
      const NodeId node = nodes_[static_cast<size_t>(plain)];
      PyObject* const object = parameter(f_, plain);
      if (record_.object(node) != object) record_.set_object(node, object);
    }
    if (f_.code->co_flags & CO_VARARGS) {
      nodes_[static_cast<size_t>(slot)] =
          record_.derive(Kind::tuple, words().empty, surplus_, place, parameter(f_, slot));
      ++slot;
    }
    if (f_.code->co_flags & CO_VARKEYWORDS) {
      std::vector<NodeId> items;
      for (size_t i = 0; i < surplus_names_.size(); ++i) {
        items.push_back(record_.constant(surplus_names_[i]));
        items.push_back(surplus_named_[i]);
      }
      nodes_[static_cast<size_t>(slot)] =
          record_.derive(Kind::dict, words().empty, items, place, parameter(f_, slot));
    }
    return std::move(nodes_);
  }

 private:
  PyObject* name(int slot) const { return PyTuple_GET_ITEM(f_.code->co_localsplusnames, slot); }

  int find(PyObject* wanted) const {
    const int end = f_.code->co_argcount + f_.code->co_kwonlyargcount;
    for (int slot = f_.code->co_posonlyargcount; slot < end; ++slot) {
      if (name(slot) == wanted || PyUnicode_Compare(name(slot), wanted) == 0) return slot;
    }
    return -1;
  }

  Record& record_;
  PyFunctionObject* function_;
  const FrameView& f_;
  std::vector<NodeId> nodes_, surplus_, surplus_named_;
  std::vector<PyObject*> surplus_names_;
};

}  // namespace

PyObject* parameter(const FrameView& f, int slot) {
  PyObject* object = f.locals[slot];
  return dvm_frame_is_cell(f.code, slot) ? PyCell_GET(object) : object;
}

int parameter_slots(const PyCodeObject* code) {
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

std::optional<std::vector<NodeId>> bind_arguments(Record& record, PyFunctionObject* function,
                                                  const FrameView& f, const Arguments& arguments,
                                                  Place place) {
  RecordedBinding binding(record, function, f);
  if (!binding.positional(arguments.positional) ||
      !binding.named(arguments.names, arguments.named) || !binding.defaults() ||
      !binding.agrees()) {
    return std::nullopt;
  }
  return binding.finish(place);
}

}  // namespace dvm::capture
