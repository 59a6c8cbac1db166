#include "capture/record/lifetimes.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "capture/cpython/containers.h"
#include "capture/cpython/frame_parts.h"
#include "capture/known_object.h"
#include "capture/library/library.h"
#include "capture/record/endings.h"
#include "capture/record/leaves.h"

namespace dvm::capture {

namespace {

// Those of the program: what dvm knows an object by asks nothing of it, and nobody of that; and
// what a leaf is told, which some library keeps book of, the program does not see.
bool has_references_of_program(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
  const PyWeakReference* each =
      *reinterpret_cast<PyWeakReference**>(PyObject_GET_WEAKREFS_LISTPTR(object));
  while (each != nullptr &&
         (is_known_as(each) || (each->wr_callback != nullptr && is_leaf(each->wr_callback)))) {
    each = each->wr_next;
  }
  return each != nullptr;
}

// Whoever reads the memory of such an object is counted until it dies: a bytearray, a mapped file.
bool counts_readers(PyObject* exporter) {
  const PyBufferProcs* const buffer = exporter ? Py_TYPE(exporter)->tp_as_buffer : nullptr;
  return buffer != nullptr && buffer->bf_releasebuffer != nullptr;
}

// A generator that waits, and has something to finish.
bool is_unfinished(PyObject* generator) {
  return dvm_generator_waits(generator) && finishes_something(generator);
}

// By their names, for the types are private to their modules. A stream that has nothing outside of
// itself; and memory of a file, which is given back.
bool is_in_memory(const PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0 &&
         (std::strcmp(type->tp_name, "_io.StringIO") == 0 ||
          std::strcmp(type->tp_name, "_io.BytesIO") == 0);
}

bool is_mapped_file(const PyTypeObject* type) {
  return std::strcmp(type->tp_name, "mmap.mmap") == 0;
}

bool holds_objects(const Library& library, PyObject* array) {
  if (Py_IS_TYPE(array, library.fields.type)) {
    const void* const elements = library.fields.look(array).elements;
    if (std::ranges::find(library.fields.elements_of, elements) !=
        library.fields.elements_of.end()) {
      return false;
    }
  }
  return library.view(array).has(kHoldsObjects);
}

// An array whose memory is its own, or that of such arrays.
bool is_mute_array(const Library& library, PyObject* array) {
  if (holds_objects(library, array)) return false;
  while (!has_references_of_program(array)) {
    array = library.base_of(array);
    if (array == nullptr) return true;
    if (exact_library_of(array) != &library) return is_mute(array);
  }
  return false;
}

bool is_mute_tuple(PyObject* tuple) {
  constexpr Py_ssize_t kLongest = 16;  // that is looked through
  const Py_ssize_t size = PyTuple_GET_SIZE(tuple);
  PyObject* const* const items = &PyTuple_GET_ITEM(tuple, 0);
  // One that an iterator of C code has for itself may have gaps.
  const auto is_quiet = [](PyObject* item) { return item == nullptr || is_mute(item); };
  return size <= kLongest && std::all_of(items, items + size, is_quiet);
}

bool is_mute_slice(PyObject* object) {
  const auto* const slice = reinterpret_cast<PySliceObject*>(object);
  return is_mute(slice->start) && is_mute(slice->stop) && is_mute(slice->step);
}

bool is_mute_function(PyObject* object) {
  const auto* const function = reinterpret_cast<PyFunctionObject*>(object);
  const bool holds_nothing = function->func_closure == nullptr &&
                             function->func_defaults == nullptr &&
                             function->func_kwdefaults == nullptr && function->func_dict == nullptr;
  return holds_nothing && !has_references_of_program(object);
}

using Visit = void (*)(PyObject* object, void* data);

// Calls visit(object, data) for all that a container holds.
void visit_contents(PyObject* container, Visit visit, void* data) {
  if (const Library* const library = library_of(container)) {
    if (PyObject* const base = library->base_of(container)) visit(base, data);
    const ArrayView view = library->view(container);
    if (view.has(kHoldsObjects) && view.has(kOwnsMemory)) {
      auto* const* const items = reinterpret_cast<PyObject* const*>(view.data);
      const auto dense = view.has(kCContiguous) || view.has(kFContiguous);
      for (int64_t i = 0; dense && i < view.size(); ++i) {
        if (items[i] != nullptr) visit(items[i], data);
      }
    }
  }
  struct Visitor {
    Visit visit;
    void* data;
  } visitor{visit, data};
  const visitproc each = [](PyObject* object, void* to) {
    const auto* const v = static_cast<Visitor*>(to);
    if (object != nullptr) v->visit(object, v->data);
    return 0;
  };
  if (const traverseproc traverse = Py_TYPE(container)->tp_traverse) {
    traverse(container, each, &visitor);
  }
}

}  // namespace

bool is_mute(PyObject* object) {
  if (is_number_or_text(object)) return true;
  PyTypeObject* const type = Py_TYPE(object);
  if (const Library* const library = exact_library_of(object)) {
    return is_mute_array(*library, object);
  }
  if (!PyType_IS_GC(type)) {  // it holds nothing
    return type->tp_finalize == nullptr && type->tp_del == nullptr &&
           !has_references_of_program(object);
  }
  if (PyTuple_CheckExact(object)) return is_mute_tuple(object);
  if (PySlice_Check(object)) return is_mute_slice(object);
  if (PyFunction_Check(object)) return is_mute_function(object);
  // Classes and modules are in cycles: only the collector ends them, nobody knows when.
  if (PyType_Check(object) || PyModule_Check(object)) return true;
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) return true;
  if (type != &PyCFunction_Type) return false;
  PyObject* const self = PyCFunction_GET_SELF(object);
  return (self == nullptr || is_mute(self)) && !has_references_of_program(object);
}

bool tells_end(PyObject* object) {
  const PyTypeObject* const type = Py_TYPE(object);
  if (has_references_of_program(object)) return true;
  if (PyGen_CheckExact(object)) return is_unfinished(object);
  if (type->tp_finalize != nullptr || type->tp_del != nullptr) return !is_in_memory(type);
  if (PyWeakref_Check(object)) {  // its callback goes with it
    return reinterpret_cast<PyWeakReference*>(object)->wr_callback != nullptr;
  }
  if (is_mapped_file(type)) return true;
  return PyMemoryView_Check(object) && counts_readers(PyMemoryView_GET_BUFFER(object)->obj);
}

bool holds_any(PyObject* container, const std::unordered_set<PyObject*>& objects) {
  struct Search {
    const std::unordered_set<PyObject*>& objects;
    bool found;
  } search{objects, false};
  const Visit look = [](PyObject* object, void* data) {
    auto* const s = static_cast<Search*>(data);
    s->found = s->found || s->objects.contains(object);
  };
  visit_contents(container, look, &search);
  return search.found;
}

std::unordered_set<PyObject*> held_by_others(const std::unordered_set<PyObject*>& objects) {
  struct Search {
    const std::unordered_set<PyObject*>& objects;
    std::unordered_set<PyObject*> found{};
  } search{objects};
  const Visit look = [](PyObject* object, void* data) {
    auto* const s = static_cast<Search*>(data);
    if (s->objects.contains(object)) s->found.insert(object);
  };
  for (PyObject* const object : objects) visit_contents(object, look, &search);
  return std::move(search.found);
}

Lifetimes::Held& Lifetimes::add_held(PyObject* object) {
  const auto link = [this](Held& held) {
    Held*& first = table_[place_of(held.object, table_.size())];
    held.next = std::exchange(first, &held);
  };
  if (held_.size() == table_.size()) {
    table_.assign(4 * table_.size(), nullptr);
    for (Held& held : held_) {
      if (held.object != nullptr) link(held);
    }
  }
  Held& added = held_.emplace_back();
  added.object = object;
  link(added);
  return added;
}

// The last one has its place from here on.
void Lifetimes::stop_watching(Held& held) {
  const size_t place = std::exchange(held.place, kNowhere);
  if (place == kNowhere) return;
  if (place + 1 < watched_.size()) {
    watched_[place] = watched_.back();
    watched_[place].held->place = place;
  }
  watched_.pop_back();
}

// Something that only dvm has holds the object. What holds it may be changed by a weak reference's
// callback, so that this needs a reference of its own.
void Lifetimes::count_reference(PyObject* object) {
  Held* const found = find(object);
  if (found == nullptr && is_mute(object)) return;
  Held& known = found ? *found : add_held(object);
  if (!known.own) Py_INCREF(object);
  add(known, known.own ? 1 : 2);
  known.own = has_own_ = true;
}

void Lifetimes::hold_contents(PyObject* container) {
  visit_contents(
      container,
      [](PyObject* object, void* self) { static_cast<Lifetimes*>(self)->count_reference(object); },
      this);
}

void Lifetimes::forget_contents(PyObject* container) {
  const Visit forget = [](PyObject* object, void* data) {
    auto* const self = static_cast<Lifetimes*>(data);
    if (Held* const held = self->find(object)) self->add(*held, -1);
  };
  visit_contents(container, forget, this);
}

bool Lifetimes::Trusted::has_same() const {
  if (PyDict_CheckExact(container)) {
    return dvm_dict_version(container) == version;
  }
  PyObject** const now = reinterpret_cast<PyListObject*>(container)->ob_item;
  return PyList_GET_SIZE(container) == std::ssize(elements) &&
         (elements.empty() ||
          std::memcmp(now, elements.data(), elements.size() * sizeof(PyObject*)) == 0);
}

void Lifetimes::trust_element(Held* held) {
  if (held == nullptr) return;
  ++held->trusted;
  stop_watching(*held);
}

void Lifetimes::doubt_element(Held* held) {
  if (held == nullptr) return;
  --held->trusted;
  watch(*held);
}

void Lifetimes::trust(PyObject* container) {
  constexpr Py_ssize_t kFewest = 16;  // elements; fewer are looked at as fast
  Held* const held = find(container);
  if (held == nullptr) return;
  Trusted added{container, held};
  if (PyList_CheckExact(container) && PyList_GET_SIZE(container) >= kFewest) {
    take_changes(added);
  } else if (PyDict_CheckExact(container) && PyDict_GET_SIZE(container) >= kFewest) {
    added.version = dvm_dict_version(container);
    Py_ssize_t position = 0;
    for (PyObject *key, *value; PyDict_Next(container, &position, &key, &value);) {
      for (PyObject* const object : {key, value}) {
        if (Held* const found = find(object)) added.contents.push_back(found);
      }
    }
    for (Held* const each : added.contents) trust_element(each);
  }
  const bool has_any = std::ranges::any_of(added.contents, [](Held* each) { return each; });
  if (has_any) trusted_.push_back(std::move(added));
}

// What a list has by now: trusted before what it had no more is doubted, for much of that moved.
void Lifetimes::take_changes(Trusted& list) {
  PyObject** const now = reinterpret_cast<PyListObject*>(list.container)->ob_item;
  const auto size = static_cast<size_t>(PyList_GET_SIZE(list.container));
  std::vector<Held*> doubted;
  for (size_t i = size; i < list.contents.size(); ++i) doubted.push_back(list.contents[i]);
  list.elements.resize(size);
  list.contents.resize(size);
  for (size_t i = 0; i < size; ++i) {
    if (list.elements[i] == now[i]) continue;
    doubted.push_back(list.contents[i]);
    list.elements[i] = now[i];
    list.contents[i] = find(now[i]);
    trust_element(list.contents[i]);
  }
  for (Held* const each : doubted) doubt_element(each);
}

template <typename Lost>
void Lifetimes::doubt(Lost lost) {
  std::vector<Trusted> doubted;
  std::erase_if(trusted_, [&](Trusted& each) {
    if (!lost(each)) return false;
    doubted.push_back(std::move(each));
    return true;
  });
  for (const Trusted& container : doubted) {
    for (Held* const each : container.contents) doubt_element(each);
  }
}

int64_t Lifetimes::compare() {
  int64_t compared = 0;
  bool any_lost = false;
  for (Trusted& each : trusted_) {
    compared += std::ssize(each.elements);
    if (each.is_there() && each.has_same()) continue;
    const bool is_list = each.is_there() && PyList_CheckExact(each.container);
    if (is_list) {
      take_changes(each);
    } else {
      any_lost = true;
    }
  }
  if (any_lost) doubt([](const Trusted& each) { return !each.is_there() || !each.has_same(); });
  return compared;
}

std::unordered_set<PyObject*> Lifetimes::look() {
  std::unordered_set<PyObject*> telling;
  ++looks_;
  while (any_dropped()) {
    doubt([](const Trusted& each) { return !each.is_there(); });
    for (size_t i = 0; i < watched_.size();) {
      const auto [object, ours, held] = watched_[i];
      if (Py_REFCNT(object) > ours) {
        ++i;
        continue;
      }
      held->died = looks_;
      stop_watching(*held);
      if (tells_end(object)) telling.insert(object);
      hold_contents(object);  // which may die with it: it is watched from here on
    }
  }
  if (!telling.empty()) add_holders(telling);
  return telling;
}

std::unordered_set<PyObject*> Lifetimes::look_without(std::span<PyObject* const> references) {
  const auto add_to_each = [&](Py_ssize_t count) {
    for (PyObject* const object : references) {
      if (Held* const held = find(object)) add(*held, count);
    }
  };
  add_to_each(1);
  auto telling = look();
  add_to_each(-1);
  return telling;
}

std::vector<PyObject*> Lifetimes::holders_among(std::span<PyObject* const> references) const {
  struct Dying {
    const Lifetimes& lifetimes;
    std::unordered_map<PyObject*, Py_ssize_t> dropped{};  // references to each
    std::vector<PyObject*> all{};
    bool any_held = false;

    void drop(PyObject* object) {
      const Held* const held = is_number_or_text(object) ? nullptr : lifetimes.find(object);
      if (held == nullptr && is_mute(object)) return;
      const Py_ssize_t ours = held != nullptr ? held->ours : 0;
      if (Py_REFCNT(object) != ++dropped[object] + ours) return;
      all.push_back(object);
      any_held = any_held || held != nullptr;
    }
  } dying{*this};
  std::vector<PyObject*> holders;
  for (PyObject* const object : references) {
    if (object == nullptr || find(object) != nullptr) continue;
    dying.drop(object);
    if (!dying.all.empty() && dying.all.back() == object) holders.push_back(object);
  }
  const Visit drop = [](PyObject* object, void* data) { static_cast<Dying*>(data)->drop(object); };
  for (size_t i = 0; i < dying.all.size(); ++i) visit_contents(dying.all[i], drop, &dying);
  return dying.any_held ? holders : std::vector<PyObject*>();
}

void Lifetimes::add_holders(std::unordered_set<PyObject*>& telling) const {
  for (bool more = true; more;) {
    more = false;
    for (const Held& held : held_) {
      const bool is_known = held.object == nullptr || telling.contains(held.object);
      if (held.died == 0 || is_known || !holds_any(held.object, telling)) continue;
      telling.insert(held.object);
      more = true;
    }
  }
}

std::vector<Ref> Lifetimes::let_go(const std::unordered_set<PyObject*>& objects) {
  for (PyObject* const object : objects) forget_contents(object);
  std::vector<Ref> own;
  for (PyObject* const object : objects) {
    Held* const held = find(object);
    if (held == nullptr) continue;
    if (held->own) own.push_back(Ref::steal(object));
    stop_watching(*held);
    Held** link = &table_[place_of(object, table_.size())];
    while (*link != held) link = &(*link)->next;
    *link = held->next;
    held->object = nullptr;
  }
  return own;
}

void Lifetimes::clear() {
  if (held_.empty()) return;
  watched_.clear();
  trusted_.clear();
  std::ranges::fill(table_, nullptr);
  const auto held = std::exchange(held_, {});
  if (!std::exchange(has_own_, false)) return;
  for (const Held& each : held) {
    if (each.own && each.object != nullptr) Py_DECREF(each.object);
  }
}

}  // namespace dvm::capture
