// Pure steps on host objects. What they call may be a library's, which must not warn before the
// commit: a dropped replay would have warned of something the original warns of again.
#include <algorithm>
#include <utility>

#include "capture/library/library.h"
#include "capture/replay/frame.h"
#include "capture/replay/scratch.h"
#include "vm/target/watch.h"

namespace dvm::capture {

namespace {

// Whether arithmetic on the object is Python's own and raises no floating-point warnings.
bool is_plain(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyUnicode_CheckExact(object) || PyTuple_CheckExact(object) || PyList_CheckExact(object);
}

// Whether a call of it on plain objects is sure to stay out of libraries, but for what containers
// have in them.
bool is_builtin(PyObject* callee) {
  if (!PyCFunction_Check(callee)) return false;
  PyObject* self = PyCFunction_GET_SELF(callee);
  return self == nullptr || PyModule_CheckExact(self) || is_plain(self);
}

// Whether a call of it has nothing to warn of, whatever the elements are.
bool is_quiet(PyObject* callee, PyObject* const* arguments, size_t count) {
  return std::ranges::any_of(libraries(), [&](const Library* library) {
    return library->is_quiet(callee, arguments, count);
  });
}

// Before the commit nothing may be shown; behind it warnings are the program's own.
bool silence(Frame& f) { return f.committed || f.raising.enter(); }

// is_opaque: it computes, perhaps with what is in containers.
PyObject* called(Frame& f, int32_t callee, const int32_t* list, int32_t keywords, bool is_opaque) {
  const auto count = static_cast<size_t>(list[0]);
  // One more in front, which bound methods use for self.
  Scratch<PyObject*, 17> room(count + 1);
  PyObject** arguments = room.data() + 1;
  bool plain = !is_opaque && is_builtin(f[callee]);
  for (size_t i = 0; i < count; ++i) {
    arguments[i] = f[list[1 + i]];
    plain = plain && is_plain(arguments[i]);
  }
  if (!plain && !is_quiet(f[callee], arguments, count) && !silence(f)) return nullptr;
  PyObject* names = keywords < 0 ? nullptr : f.path->object(keywords);
  const size_t positional =
      count - (names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : size_t{0});
  return PyObject_Vectorcall(f[callee], arguments, positional | PY_VECTORCALL_ARGUMENTS_OFFSET,
                             names);
}

// Tells who watches of memory that a step has just made.
PyObject* noted(PyObject* made) {
  vm::Watch* const watch = vm::Watch::current();
  if (watch == nullptr || made == nullptr) [[likely]]
    return made;
  if (const Library* const library = library_of(made)) {
    const ArrayView array = library->view(made);
    if (array.has(kOwnsMemory)) watch->allocated(array.data, array.bytes());
  }
  return made;
}

bool call_with(Frame& f, int32_t result, int32_t callee, const int32_t* list, int32_t keywords,
               bool is_opaque = false) {
  PyObject* const made = called(f, callee, list, keywords, is_opaque);
  const auto gave = [&](int32_t i) { return f[i] == made; };  // the result itself
  const bool is_new = std::none_of(list + 1, list + 1 + list[0], gave);
  return f.define(result, is_new ? noted(made) : made);
}

// Takes the pending exception, without its frames, if its type is exactly this one.
PyObject* take_exception(PyObject* expected) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (type != expected) {
    PyErr_Restore(type, value, traceback);
    return nullptr;
  }
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  PyException_SetTraceback(value, Py_None);
  return value;
}

// The call of a function that dvm does not know; a watch is told of it by itself.
bool call_opaque(Frame& f, int32_t result, int32_t callee, const int32_t* list, int32_t keywords) {
  vm::Watch* const watch = vm::Watch::current();
  if (watch == nullptr) [[likely]]
    return call_with(f, result, callee, list, keywords, true);
  const int64_t begin = vm::Watch::now();
  const bool done = call_with(f, result, callee, list, keywords, true);
  watch->add(vm::Watch::What::opaque, -1, begin);
  return done;
}

// Whether the array is held by its register alone, and no other memory than its own is written
// through it.
bool is_sole_owner(PyObject* object) {
  const Library* const library = exact_library_of(object);
  if (library == nullptr || Py_REFCNT(object) != 1) return false;
  const ArrayView array = library->view(object);
  return array.has(kOwnsMemory | kWriteable) && !array.has(kWarnsWhenWritten) &&
         library->base_of(object) == nullptr;
}

// Fills a new container with registers, `step` of them at a time.
template <typename Set>
PyObject* filled(PyObject* container, const int32_t* list, int step, Set&& set) {
  for (int32_t i = 0; container != nullptr && i < list[0]; i += step) {
    if (set(container, i, list + 1 + i) < 0) Py_CLEAR(container);
  }
  return container;
}

// As many elements as expected, or null; reads no further than one behind them.
PyObject* tuple_of(PyObject* iterable, Py_ssize_t count) {
  if (PyList_CheckExact(iterable) || PyTuple_CheckExact(iterable)) {
    return PySequence_Fast_GET_SIZE(iterable) == count ? PySequence_Tuple(iterable) : nullptr;
  }
  Ref iterator = Ref::steal(PyObject_GetIter(iterable));
  Ref tuple = Ref::steal(PyTuple_New(count));
  if (!iterator || !tuple) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* element = PyIter_Next(iterator.get());
    if (element == nullptr) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, element);
  }
  Ref further = Ref::steal(PyIter_Next(iterator.get()));
  return further || PyErr_Occurred() ? nullptr : tuple.release();
}

// Counts a call of a function that dvm does not know, or ends the replay before it.
bool may_call_opaque(Frame& f) {
  if (f.call.spares_opaque) [[unlikely]] {
    f.outcome = Outcome::spared;
    return false;
  }
  ++f.call.opaque;
  return true;
}

}  // namespace

namespace steps {

bool operator_(Frame& f, const int32_t* p) {
  PyObject* a = f[p[2]];
  PyObject* b = p[3] < 0 ? nullptr : f[p[3]];
  const auto op = static_cast<Operator>(p[1]);
  const bool plain = is_plain(a) && (b == nullptr || is_plain(b));
  const bool moves = op == Operator::getitem && exact_library_of(a) != nullptr;
  if (!plain && !moves && !silence(f)) return false;
  PyObject* const made = apply(op, a, b);
  return f.define(p[0], made == a ? made : noted(made));
}

bool call_(Frame& f, const int32_t* p) {
  const int32_t* behind = p + 3 + p[2];
  if (behind[1] == 0) return call_with(f, p[0], p[1], p + 2, behind[0]);
  return may_call_opaque(f) && call_opaque(f, p[0], p[1], p + 2, behind[0]);
}

bool own_(Frame& f, const int32_t* p) {
  if (p[2] && is_sole_owner(f[p[1]])) {
    return f.define(p[0], std::exchange(f.registers[p[1]], nullptr));
  }
  const Library* const library = library_of(f[p[1]]);
  return f.define(p[0], noted((library ? library : libraries().front())->copy(f[p[1]])));
}

bool raises_(Frame& f, const int32_t* p) {
  const int32_t* behind = p + 3 + p[2];
  if (!may_call_opaque(f)) return false;
  const Ref result = Ref::steal(called(f, p[1], p + 2, behind[0], true));
  return !result && f.define(p[0], take_exception(f.path->object(behind[1])));
}

bool call_random_(Frame& f, const int32_t* p) {
  const int32_t* behind = p + 3 + p[2];
  PyObject* const owner = f[behind[1]];
  Draws& draws = f.draws();
  if (draws.repeats()) return f.define(p[0], draws.repeated(owner));
  const bool is_opaque = behind[2] != 0;
  if ((is_opaque && !may_call_opaque(f)) || !draws.begin(owner)) return false;
  const bool is_made = is_opaque ? call_opaque(f, p[0], p[1], p + 2, behind[0])
                                 : call_with(f, p[0], p[1], p + 2, behind[0]);
  if (!is_made || f.call.draws == nullptr) return is_made;
  // What changes an array or list as well, or sets the state, is not done by repeating it.
  if (f[p[0]] == Py_None) f.call.wrote = true;
  draws.note(owner, f[p[0]]);
  return true;
}

bool effect_(Frame& f, const int32_t* p) {
  f.call.wrote = f.call.wrote || f.call.lends;  // into a list that a loop within is lent
  return call_with(f, p[0], p[1], p + 2, p[3 + p[2]]);
}

bool tuple_(Frame& f, const int32_t* p) {
  const auto set = [&](PyObject* tuple, int32_t i, const int32_t* reg) {
    PyTuple_SET_ITEM(tuple, i, Py_NewRef(f[*reg]));
    return 0;
  };
  return f.define(p[0], filled(PyTuple_New(p[1]), p + 1, 1, set));
}

bool list_(Frame& f, const int32_t* p) {
  const auto set = [&](PyObject* list, int32_t i, const int32_t* reg) {
    PyList_SET_ITEM(list, i, Py_NewRef(f[*reg]));
    return 0;
  };
  return f.define(p[0], filled(PyList_New(p[1]), p + 1, 1, set));
}

bool set_(Frame& f, const int32_t* p) {
  const auto add = [&](PyObject* set, int32_t, const int32_t* reg) {
    return PySet_Add(set, f[*reg]);
  };
  return f.define(p[0], filled(PySet_New(nullptr), p + 1, 1, add));
}

bool dict_(Frame& f, const int32_t* p) {
  const auto set = [&](PyObject* dict, int32_t, const int32_t* reg) {
    return PyDict_SetItem(dict, f[reg[0]], f[reg[1]]);
  };
  return f.define(p[0], filled(PyDict_New(), p + 1, 2, set));
}

bool slice_(Frame& f, const int32_t* p) {
  PyObject* step = p[1] == 3 ? f[p[4]] : Py_None;
  return f.define(p[0], PySlice_New(f[p[2]], f[p[3]], step));
}

bool string_(Frame& f, const int32_t* p) {
  Ref pieces = Ref::steal(PyTuple_New(p[1]));
  Ref nothing = Ref::steal(PyUnicode_FromStringAndSize(nullptr, 0));
  if (!pieces || !nothing) return false;
  for (int32_t i = 0; i < p[1]; ++i) PyTuple_SET_ITEM(pieces.get(), i, Py_NewRef(f[p[2 + i]]));
  return f.define(p[0], PyUnicode_Join(nothing.get(), pieces.get()));
}

bool format_(Frame& f, const int32_t* p) {
  if (!is_plain(f[p[1]]) && !silence(f)) return false;
  Ref value = Ref::borrow(f[p[1]]);
  if (p[2] == 's') value = Ref::steal(PyObject_Str(value.get()));
  if (p[2] == 'r') value = Ref::steal(PyObject_Repr(value.get()));
  if (p[2] == 'a') value = Ref::steal(PyObject_ASCII(value.get()));
  return value && f.define(p[0], PyObject_Format(value.get(), p[3] < 0 ? nullptr : f[p[3]]));
}

bool iterate_(Frame& f, const int32_t* p) { return f.define(p[0], tuple_of(f[p[1]], p[2])); }

bool instance_(Frame& f, const int32_t* p) {
  Ref nothing = Ref::steal(PyTuple_New(0));
  auto* type = reinterpret_cast<PyTypeObject*>(f.path->object(p[1]));
  return nothing && f.define(p[0], PyBaseObject_Type.tp_new(type, nothing.get(), nullptr));
}

bool lock_(Frame& f, const int32_t* p) {
  f.refused = Refusal::locked_;
  const bool taken = f.locks.take(f[p[0]]);
  if (taken) f.refused = Refusal::failed_;
  return taken;
}

bool require_(Frame& f, const int32_t* p) {
  const int holds = PyObject_IsTrue(f[p[0]]);
  if (holds == 0) f.refused = Refusal::zero_;
  return holds == 1;
}

bool forget_(Frame& f, const int32_t* p) {
  if (p[0] >= 0 && f.call.registers == nullptr) Py_CLEAR(f.registers[p[0]]);
  return true;
}

}  // namespace steps

}  // namespace dvm::capture
