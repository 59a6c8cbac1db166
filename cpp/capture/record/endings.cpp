#include "capture/record/endings.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "capture/cpython/exits.h"

namespace dvm::capture {

namespace {

using Kind = core::SeenEvent::Kind;

struct Count {
  PyObject* wanted;
  Py_ssize_t found;
};

int count_visit(PyObject* object, void* count) {
  auto* const c = static_cast<Count*>(count);
  c->found += object == c->wanted;
  // `zip` and `map` have a tuple of their own for what they hold.
  const bool is_own = PyTuple_CheckExact(object) && Py_REFCNT(object) == 1;
  return is_own ? PyTuple_Type.tp_traverse(object, count_visit, count) : 0;
}

Py_ssize_t references(PyObject* holder, PyObject* object) {
  Count count{object, 0};
  if (const traverseproc traverse = Py_TYPE(holder)->tp_traverse) {
    traverse(holder, count_visit, &count);
  }
  return count.found;
}

// Whether the code of a callable is seen by the recording.
bool is_in_python(PyObject* callee) {
  if (PyType_Check(callee)) {
    return PyType_HasFeature(reinterpret_cast<PyTypeObject*>(callee), Py_TPFLAGS_HEAPTYPE);
  }
  return PyFunction_Check(callee) || PyMethod_Check(callee);
}

}  // namespace

// What makes a holder is: the holder is watched.
bool Endings::is_done_with_arguments(PyObject* callee) {
  if (PyType_Check(callee)) {
    const std::array<PyTypeObject*, 9> types = {&PyList_Type,      &PyTuple_Type, &PySet_Type,
                                                &PyFrozenSet_Type, &PyDict_Type,  &PyZip_Type,
                                                &PyEnum_Type,      &PyMap_Type,   &PyFilter_Type};
    return std::ranges::find(types, reinterpret_cast<PyTypeObject*>(callee)) != types.end();
  }
  if (Py_IS_TYPE(callee, &PyMethodDescr_Type)) {
    const auto* method = reinterpret_cast<PyMethodDescrObject*>(callee);
    const std::string_view name = method->d_method->ml_name;
    const PyTypeObject* owner = method->d_common.d_type;
    return owner == &PyGen_Type || (owner == &PyUnicode_Type && name == "join") ||
           (owner == &PyList_Type && name == "extend");
  }
  if (!PyCFunction_Check(callee)) return false;
  constexpr std::string_view kNames[] = {"next", "iter", "sum", "sorted",     "min",
                                         "max",  "any",  "all", "isinstance", "callable"};
  PyObject* const module = reinterpret_cast<PyCFunctionObject*>(callee)->m_module;
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(callee)->m_ml->ml_name;
  return module != nullptr && PyUnicode_Check(module) &&
         PyUnicode_CompareWithASCIIString(module, "builtins") == 0 &&
         std::ranges::find(kNames, name) != std::end(kNames);
}

bool finishes_something(PyObject* object) {
  return PyGen_CheckExact(object) && !lets_exit_pass(object);
}

bool is_holder(PyObject* object) {
  const std::array<PyTypeObject*, 5> types = {&PyZip_Type, &PyEnum_Type, &PyMap_Type,
                                              &PyFilter_Type, &PyGen_Type};
  return std::ranges::find(types, Py_TYPE(object)) != types.end();
}

bool Endings::watch(PyObject* object, Made made) {
  const auto [found, added] = known_.try_emplace(object);
  if (!added || !finishes_something(object)) return true;
  found->second.finishes = true;
  found->second.for_loop = made.for_loop;
  found->second.order = met_++;
  ++finishing_;
  const auto is_lost = [](const auto& entry) { return entry.second.lost; };
  return !made.within || std::ranges::none_of(known_, is_lost);
}

void Endings::count(PyObject* object) {
  if (const auto found = known_.find(object); found != known_.end()) ++found->second.kept;
}

bool Endings::holds_finishing(PyObject* object) const {
  return std::ranges::any_of(known_, [&](const auto& entry) {
    return entry.first != object && references(object, entry.first) > 0 &&
           (entry.second.finishes || holds_finishing(entry.first));
  });
}

bool Endings::lose(PyObject* object) {
  const auto found = known_.find(object);
  if (found == known_.end()) return true;
  found->second.lost = true;
  return finishing_ == 0 || !(found->second.finishes || holds_finishing(object));
}

void Endings::forget(PyObject* generator) {
  const auto found = known_.find(generator);
  if (found == known_.end()) return;
  finishing_ -= found->second.finishes;
  known_.erase(found);
}

std::vector<PyObject*> Endings::dropped(const Lifetimes& lifetimes) const {
  std::vector<PyObject*> alone;  // the program has none of these
  for (bool found = true; found;) {
    found = false;
    for (const auto& [object, known] : known_) {
      if (std::ranges::find(alone, object) != alone.end()) continue;
      Py_ssize_t references_known = known.kept + lifetimes.is_within(object);
      for (PyObject* holder : alone) references_known += references(holder, object);
      if (Py_REFCNT(object) != references_known) continue;
      alone.push_back(object);
      found = true;
    }
  }
  std::erase_if(alone, [this](PyObject* object) { return !known_.at(object).finishes; });
  // What another one holds dies when that lets go of it, which may be while it finishes.
  const std::vector<PyObject*> all = alone;
  std::erase_if(alone, [&](PyObject* object) {
    return std::ranges::any_of(
        all, [&](PyObject* other) { return other != object && is_held_by(other, object); });
  });
  std::ranges::sort(alone, std::greater<>{},
                    [this](PyObject* object) { return known_.at(object).order; });
  return alone;
}

bool Endings::is_held_by(PyObject* holder, PyObject* generator) const {
  if (holder == generator) return true;
  return std::ranges::any_of(known_, [&](const auto& entry) {
    return entry.first != holder && references(holder, entry.first) > 0 &&
           is_held_by(entry.first, generator);
  });
}

bool Endings::keeps_nothing(Kind kind, PyObject* callee) {
  switch (kind) {
    case Kind::iter:
    case Kind::next:
    case Kind::enter:
    case Kind::leave:
    case Kind::given:
    case Kind::resumes:
    case Kind::throws:
    case Kind::list_extend:
    case Kind::set_update:
    case Kind::unpack:
    case Kind::attribute:
    case Kind::identity:
    case Kind::branch:
    case Kind::header:
    case Kind::out:
      return true;
    case Kind::call:
      return is_in_python(callee) || is_done_with_arguments(callee);
    default:
      return false;
  }
}

}  // namespace dvm::capture
