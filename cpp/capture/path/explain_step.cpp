#include "capture/path/explain_step.h"

#include "capture/library/library.h"
#include "capture/replay/frame.h"

namespace dvm::capture {

namespace {

bool is_plain_value(PyObject* object, int depth = 3) {
  if (PyTuple_CheckExact(object)) {
    bool plain = depth > 0;
    for (Py_ssize_t i = 0; plain && i < PyTuple_GET_SIZE(object); ++i) {
      plain = is_plain_value(PyTuple_GET_ITEM(object, i), depth - 1);
    }
    return plain;
  }
  return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
         PyComplex_CheckExact(object);
}

std::string shortened(const std::string& text) {
  constexpr size_t kLongest = 60;
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

// "numpy.sort" of what has a name; none of it runs code of the user's.
std::string qualified(PyObject* callable) {
  const auto text = [&](const char* attribute) {
    Ref found = Ref::steal(PyObject_GetAttrString(callable, attribute));
    if (!found) PyErr_Clear();
    return found && PyUnicode_CheckExact(found.get()) ? std::string(printable(found.get())) : "";
  };
  const std::string module = text("__module__");
  std::string name = text("__qualname__");
  // torch.conv1d is a method of a class that nobody sees.
  if (name.empty() || (name.starts_with('_') && PyCFunction_Check(callable))) {
    name = text("__name__");
  }
  if (name.empty()) return describe(callable);
  return module.empty() || module == "builtins" ? name : module + "." + name;
}

// Functions of C, whose names are no code of the user's.
bool is_native_function(PyObject* object) {
  return PyCFunction_Check(object) || Py_IS_TYPE(object, &PyMethodDescr_Type) ||
         std::string_view(Py_TYPE(object)->tp_name) == "numpy._ArrayFunctionDispatcher";
}

}  // namespace

std::string safe_repr(PyObject* object) {
  if (object == nullptr) return "nothing";
  if (is_plain_value(object) || PyType_CheckExact(object)) {
    if (const Ref text = Ref::steal(PyObject_Repr(object))) return shortened(printable(text.get()));
    PyErr_Clear();
  }
  if (PyType_Check(object)) return reinterpret_cast<PyTypeObject*>(object)->tp_name;
  if (PyFunction_Check(object)) {
    return std::string("function ") +
           printable(reinterpret_cast<PyFunctionObject*>(object)->func_qualname);
  }
  if (PyModule_CheckExact(object)) {
    const char* name = PyModule_GetName(object);
    if (name == nullptr) PyErr_Clear();
    return std::string("module ") + (name ? name : "?");
  }
  return is_native_function(object) ? qualified(object) : describe(object);
}

namespace {

// The step that defines a register of the path, there or where the path came from.
const Step* definition_of(const Path*& path, int32_t reg) {
  size_t end = path->steps.size();
  while (path != nullptr) {
    for (size_t i = 0; i < end; ++i) {
      bool defines = false;
      for_each_register(*path, path->steps[i],
                        [&](int32_t r, bool defined) { defines |= defined && r == reg; });
      if (defines) return &path->steps[i];
    }
    end = static_cast<size_t>(path->parent_step < 0 ? 0 : path->parent_step);
    path = path->parent;
  }
  return nullptr;
}

// What the user calls what a register holds.
std::string name_of(const Frame& frame, const Path* path, int32_t reg) {
  const Step* step = definition_of(path, reg);
  if (step == nullptr) return "a value";
  const int32_t* p = path->operands(*step);
  const auto text = [&](int32_t object) { return std::string(printable(path->object(object))); };
  switch (step->op) {
    case StepOp::argument_: {
      PyObject* names = frame.call.parameters;
      if (names == nullptr || p[1] >= PyTuple_GET_SIZE(names)) return "an argument";
      return std::string("argument ") + printable(PyTuple_GET_ITEM(names, p[1]));
    }
    case StepOp::variable_:
      return "global " + text(p[2]);
    case StepOp::cell_:
      return "a closure variable";
    case StepOp::contents_:
      return "a variable of " + name_of(frame, path, p[1]);
    case StepOp::cell_of_:
      return name_of(frame, path, p[1]);
    case StepOp::preset_:
      return "a default of " + name_of(frame, path, p[1]);
    case StepOp::attribute_:
    case StepOp::getattr_:
    case StepOp::class_attribute_:
      return name_of(frame, path, p[1]) + "." + text(p[2]);
    case StepOp::class_order_:
      return name_of(frame, path, p[1]) + ".__mro__";
    case StepOp::item_:
      return name_of(frame, path, p[1]) + "[" + std::to_string(p[2]) + "]";
    case StepOp::key_:
      return name_of(frame, path, p[1]) + "[" + safe_repr(path->object(p[2])) + "]";
    case StepOp::shape_:
      return name_of(frame, path, p[1]) + ".shape[" + std::to_string(p[2]) + "]";
    default: {
      const core::Loc at = path->location(*step);
      return at ? "the value computed at " + core::to_string(at) : "a computed value";
    }
  }
}

// A step's question and its answer, then and now.
Miss changed(std::string what, const std::string& then, const std::string& now,
             const std::string& kind = "") {
  Miss miss;
  const std::string of = kind.empty() ? "" : kind + " ";
  miss.text = what + ": " + of + then + " became " + now;
  miss.what = std::move(what), miss.wanted = of + then, miss.seen = of + now;
  return miss;
}

// Where only a sentence says it: "`what` `verb`".
Miss stated(const std::string& what, const std::string& verb) {
  Miss miss;
  miss.text = what + " " + verb;
  miss.what = what;
  return miss;
}

Miss signature_change(const std::string& what, const SignatureGuard& guard, PyObject* now) {
  const Signature word = signature_of(now);
  if (argument_of(word) != Argument::array || argument_of(guard.word) != Argument::array) {
    Miss miss = stated(what, "is a new kind of object: " + describe(now));
    miss.wanted = describe(guard), miss.seen = describe(now);
    return miss;
  }
  if (dtype_of(word) != dtype_of(guard.word)) {
    return changed(what, std::string(library_in(guard.word).name_of(dtype_of(guard.word))),
                   std::string(library_in(word).name_of(dtype_of(word))), "dtype");
  }
  if (rank_of(word) != rank_of(guard.word)) {
    return changed(what, std::to_string(rank_of(guard.word)), std::to_string(rank_of(word)),
                   "rank");
  }
  if (layout_of(word) != layout_of(guard.word)) {
    return changed(what, to_string(layout_of(guard.word)), to_string(layout_of(word)), "layout");
  }
  Miss miss = stated(what, "");
  miss.text = what + ": the order of its axes in memory changed";
  return miss;
}

Miss names_change(const NameGuard& guard) {
  for (const NameGuard::Name& name : guard.names) {
    if (name.holds()) continue;
    Miss miss = stated(name.text(), name.of_class() ? "was replaced" : "was rebound");
    miss.wanted = safe_repr(still_there(name.object.get())), miss.seen = safe_repr(name.present());
    return miss;
  }
  return stated("a global", "was rebound");
}

Miss errstate_change(PyObject* wanted, PyObject* seen) {
  Miss miss = stated("np.errstate", "changed");
  miss.wanted = safe_repr(wanted), miss.seen = safe_repr(seen);
  return miss;
}

std::string length_text(PyObject* object) {
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object) && !PyDict_CheckExact(object)) {
    return safe_repr(object);
  }
  return std::to_string(PyObject_Size(object));
}

Miss miss_of(const Frame& frame, const Step& step) {
  const Path& path = *frame.path;
  const int32_t* p = path.operands(step);
  const auto name = [&](int32_t reg) { return name_of(frame, &path, reg); };
  switch (step.op) {
    case StepOp::guard_names_:
      return names_change(path.names[static_cast<size_t>(p[0])]);
    case StepOp::guard_is_: {
      Miss miss = stated(name(p[0]), "is another object now");
      miss.wanted = safe_repr(path.known(p[1])), miss.seen = safe_repr(frame[p[0]]);
      return miss;
    }
    case StepOp::guard_type_:
      return changed(name(p[0]), safe_repr(path.known(p[1])),
                     safe_repr(reinterpret_cast<PyObject*>(Py_TYPE(frame[p[0]]))), "type");
    case StepOp::guard_signature_:
    case StepOp::guard_layout_:
      return signature_change(name(p[0]), path.signatures[static_cast<size_t>(p[1])], frame[p[0]]);
    case StepOp::guard_value_:
      return changed(name(p[0]), safe_repr(path.object(p[1])), safe_repr(frame[p[0]]));
    case StepOp::guard_length_: {
      Miss miss = stated("the length of " + name(p[0]), "is no longer " + std::to_string(p[1]));
      miss.wanted = std::to_string(p[1]), miss.seen = length_text(frame[p[0]]);
      return miss;
    }
    case StepOp::guard_truth_: {
      const core::Loc at = path.location(step);
      Miss miss = at ? stated("the branch at " + core::to_string(at), "took the other way")
                     : stated(name(p[0]), "decided a branch the other way");
      miss.wanted = p[1] ? "true" : "false", miss.seen = p[1] ? "false" : "true";
      return miss;
    }
    case StepOp::guard_same_:
      return stated(name(p[0]) + " and " + name(p[1]),
                    p[2] ? "are no longer one object" : "are one object now");
    case StepOp::guard_overlap_:
      return stated("the memory of " + name(p[0]) + " and " + name(p[1]),
                    p[2] ? "no longer overlaps" : "may overlap now");
    case StepOp::guard_shared_:
      return stated("the memory of " + name(p[0]) + " and " + name(p[1]),
                    p[2] ? "no longer overlaps" : "overlaps now");
    case StepOp::guard_view_:
      return stated(name(p[0]), "lies elsewhere in the memory that it shares with another array");
    case StepOp::guard_writeable_:
      return stated(name(p[0]), p[1] ? "is read-only now" : "is writeable now");
    case StepOp::guard_code_:
      return stated("the code or the defaults of " + safe_repr(path.known(p[0])), "changed");
    case StepOp::guard_function_:
      return stated(name(p[0]), "is a function of other code now");
    case StepOp::guard_lacks_:
      return stated(name(p[0]), "has an attribute " + std::string(printable(path.object(p[1]))) +
                                    " of its own now");
    case StepOp::guard_bare_:
      return stated(name(p[0]), "has hooks now, or a method of its own");
    case StepOp::guard_keys_:
      return stated("the keys of " + name(p[0]), "changed");
    case StepOp::guard_errstate_:
      return errstate_change(path.object(p[0]), nullptr);
    case StepOp::iterate_: {
      Miss miss = stated(name(p[1]), "no longer has " + std::to_string(p[2]) + " elements");
      miss.wanted = std::to_string(p[2]);
      return miss;
    }
    case StepOp::loop_:
      return stated("a turn of the loop at " + core::to_string(path.location(step)),
                    "went a way that none has gone before");
    case StepOp::invoke_:
      return stated("a call of the recursive function at " + core::to_string(path.location(step)),
                    "went a way that none has gone before");
    case StepOp::raises_:
      return stated("a call", "no longer raises " + safe_repr(path.object(p[4 + p[2]])));
    default:  // a fetch
      return stated(name(p[0]), "is gone");
  }
}

}  // namespace

std::string callee_of(const Path& path, const Step& call) {
  const Path* where = &path;
  const Step* made = definition_of(where, path.operands(call)[1]);
  if (made == nullptr) return "a computed function";
  const int32_t* p = where->operands(*made);
  if (made->op == StepOp::constant_) return qualified(where->object(p[1]));
  if (made->op == StepOp::getattr_) return printable(where->object(p[2]));
  return "a computed function";
}

Miss explain_miss(const Frame& frame, const Step& step) {
  Miss miss = miss_of(frame, step);
  miss.step = info(step.op).name;
  miss.at = frame.path->location(step);
  return miss;
}

namespace {

struct RefusalRow {
  const char *name, *text;
};
constexpr RefusalRow kRefusals[] = {
#define DVM_REFUSAL(name, text) {#name, text},
#include "capture/path/refusals.def"
#undef DVM_REFUSAL
};

}  // namespace

Miss explain_drop(const Frame& frame, const Step& step) {
  Miss miss;
  miss.step = info(step.op).name;
  miss.at = frame.path->location(step);
  if (!PyErr_Occurred()) {
    const RefusalRow& row = kRefusals[static_cast<size_t>(frame.refused)];
    miss.code = row.name;
    miss.text = row.text;
    return miss;
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  miss.seen = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  miss.code = "raises";
  miss.text = "raises " + miss.seen;
  // Built-in exceptions alone, for a class of the user's may have a __str__ of its own.
  const bool builtin = !(reinterpret_cast<PyTypeObject*>(type)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  if (builtin) PyErr_NormalizeException(&type, &value, &traceback);
  Ref message = Ref::steal(builtin && value ? PyObject_Str(value) : nullptr);
  if (message) miss.text += std::string(": ") + printable(message.get());
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
  return miss;
}

}  // namespace dvm::capture
