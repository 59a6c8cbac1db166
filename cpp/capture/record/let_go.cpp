// Record, what it lets go before the call is over: objects that the program has dropped and would
// see that they are still there.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "capture/record/record.h"

namespace dvm::capture {

namespace {

PyTypeObject* make_dropped_type() {
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"dvm.Dropped", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

// What stands for each object.
class StandIns {
 public:
  PyObject* of(PyObject* object) {
    Ref& found = all_[object];
    if (!found) found = made(_PyObject_New(dropped_type()));
    return found.get();
  }

 private:
  std::unordered_map<PyObject*, Ref> all_;
};

using core::SeenNode;
using Objects = std::unordered_set<PyObject*>;

Ref with_stand_ins(PyObject* snapshot, const Objects& dropped, StandIns& stand_ins) {
  const auto shown = [&](PyObject* item) {
    return dropped.contains(item) ? stand_ins.of(item) : item;
  };
  if (PyDict_CheckExact(snapshot)) {
    Ref copy = made(PyDict_New());
    Py_ssize_t position = 0;
    for (PyObject *key, *value; PyDict_Next(snapshot, &position, &key, &value);) {
      if (PyDict_SetItem(copy.get(), shown(key), shown(value)) < 0) made(nullptr);
    }
    return copy;
  }
  if (!PyTuple_CheckExact(snapshot) && !PyFrozenSet_CheckExact(snapshot)) {
    return Ref::borrow(stand_ins.of(snapshot));  // an array as it was
  }
  const Ref items = made(PySequence_Tuple(snapshot));
  Ref copy = made(PyTuple_New(PyTuple_GET_SIZE(items.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyTuple_SET_ITEM(copy.get(), i, Py_NewRef(shown(PyTuple_GET_ITEM(items.get(), i))));
  }
  return PyTuple_CheckExact(snapshot) ? copy : made(PyFrozenSet_New(copy.get()));
}

// References to what is dropped, in the order in which they are let go: what the program has
// dropped before is gone by now. What something else of it holds comes first, so that it dies when
// and as that lets it go; then copies of containers, but for those that are the last to have what
// they show.
class Dropped {
 public:
  enum class Turn : uint8_t { held_by_others, copy, last_copy, last };

  void add(PyObject* reference, int64_t death, Turn turn) {
    all_.push_back({death, turn, Ref::steal(reference)});
  }
  void let_go() {
    std::ranges::stable_sort(
        all_, {}, [](const Reference& each) { return std::pair(each.death, each.turn); });
    for (Reference& each : all_) each.reference = {};
  }

 private:
  struct Reference {
    int64_t death;
    Turn turn;
    Ref reference;
  };
  std::vector<Reference> all_;
};

}  // namespace

PyTypeObject* dropped_type() {
  static PyTypeObject* const type = make_dropped_type();
  return type;
}

void Record::check_dropped(bool may_have_changed) {
  if (may_have_changed) looked_at_ += lifetimes_.compare();
  looked_at_ += lifetimes_.watched();
  if (!lifetimes_.any_dropped()) return;
  const Objects dropped = lifetimes_.look();
  if (dropped.empty()) return;
  let_go(dropped);
  throw Unrecordable("object-tells-end");
}

void Record::leave_frame(std::span<PyObject* const> variables) {
  drop(variables);
  looked_at_ += lifetimes_.compare();
  if (const Objects dropped = lifetimes_.look_without(variables); !dropped.empty()) let_go(dropped);
}

// Destructors may run any code, so that nothing here may still refer to what is dropped then.
void Record::let_go(const Objects& dropped) {
  for (PyObject* const object : dropped) {
    // Its frame would run out of sight.
    if (finishes_something(object) && tells_end(object)) throw Unkeepable("generator-tells-end");
  }
  StandIns stand_ins;
  Dropped references;
  const auto take = [&](core::HostHandle& handle) {
    PyObject* const object = as_object(handle);
    if (!dropped.contains(object)) return;
    handle = Py_NewRef(stand_ins.of(object));
    references.add(
        object, lifetimes_.death_of(object),
        lifetimes_.is_within(object) ? Dropped::Turn::held_by_others : Dropped::Turn::last);
  };
  Objects outer = dropped;
  for (PyObject* const object : held_by_others(dropped)) outer.erase(object);
  const auto take_copy = [&](PyObject* container, Ref copy) {
    const auto turn = holds_any(copy.get(), outer) ? Dropped::Turn::last_copy : Dropped::Turn::copy;
    references.add(copy.release(), lifetimes_.death_of(container), turn);
  };
  std::unordered_map<core::HostHandle, PyObject*> replaced;
  for (auto& [container, snapshot] : snapshots_) {
    if (!holds_any(snapshot.get(), dropped)) continue;
    Ref shown = with_stand_ins(snapshot.get(), dropped, stand_ins);
    lifetimes_.forget_contents(snapshot.get());
    lifetimes_.hold_contents(shown.get());
    replaced.emplace(snapshot.get(), shown.get());
    take_copy(container, std::exchange(snapshot, std::move(shown)));
  }
  for (SeenNode& node : data_.nodes) {
    if (const auto found = replaced.find(node.snapshot); found != replaced.end()) {
      node.snapshot = found->second;
    } else if (dropped.contains(as_object(node.snapshot))) {
      node.snapshot = nullptr;
    }
    take(node.object);
    take(node.scope);
  }
  std::erase_if(kept_, [&](Ref& kept) {
    if (!dropped.contains(kept.get())) return false;
    const int64_t death = lifetimes_.death_of(kept.get());
    references.add(kept.release(), death, Dropped::Turn::held_by_others);
    return true;
  });
  // Another object may have their addresses soon.
  const auto is_dropped = [&](const auto& entry) { return dropped.contains(entry.first); };
  const auto is_of_dropped = [&](const auto& entry) { return dropped.contains(entry.first.scope); };
  std::erase_if(globals_, is_of_dropped);
  std::erase_if(presets_, is_of_dropped);
  std::erase_if(constants_, is_dropped);
  std::erase_if(cells_, is_dropped);
  std::erase_if(snapshots_, [&](auto& entry) {
    if (!is_dropped(entry)) return false;
    lifetimes_.forget_contents(entry.second.get());
    for (SeenNode& node : data_.nodes) {
      if (node.snapshot == entry.second.get()) node.snapshot = nullptr;
    }
    take_copy(entry.first, std::move(entry.second));
    return true;
  });
  for (PyObject* const object : dropped) ending_.erase(object), endings_.forget(object);
  lifetimes_.let_go(dropped).clear();
  references.let_go();
}

}  // namespace dvm::capture
