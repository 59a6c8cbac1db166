#include "capture/record/record.h"

#include <algorithm>
#include <array>

#include "capture/cpython/frame_view.h"
#include "capture/library/library.h"
#include "capture/record/dropped_contents.h"

namespace dvm::capture {

using core::SeenEvent;
using core::SeenNode;

namespace {

// A loop of this length is no straight path any more, and what it kept alive would add up.
constexpr size_t kMaxEvents = size_t{1} << 18;
// Of arrays that the program has dropped and the recording has not: small ones, mostly.
constexpr size_t kMaxKeptBytes = size_t{1} << 30;

size_t bytes_of(PyObject* object) {
  const Library* const library = exact_library_of(object);
  if (library == nullptr) return 0;
  const ArrayView array = library->view(object);
  return array.has(kOwnsMemory) ? static_cast<size_t>(array.bytes()) : 0;
}

// Whether code of the program runs when the object dies.
bool tells_its_end(PyObject* object) {
  const PyTypeObject* type = Py_TYPE(object);
  return type->tp_finalize != nullptr && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 &&
         (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) == 0;
}

}  // namespace

core::Loc location(Place place) {
  const int line = dvm_code_line(place.code, place.instruction);
  return core::make_loc(printable(place.code->co_filename), line);
}

PyObject* interned(std::string_view text) {
  static auto* all = new std::unordered_map<std::string, PyObject*>;
  const auto found = all->try_emplace(std::string(text), nullptr).first;
  if (found->second == nullptr) {
    found->second = made(PyUnicode_InternFromString(found->first.c_str())).release();
  }
  return found->second;
}

const Words& words() {
  static const Words all = {interned(""),
                            interned("truth"),
                            interned("none"),
                            interned("exhausted"),
                            interned("raised"),
                            interned("closes"),
                            interned("dies"),
                            interned("__exit__"),
                            interned("__self__"),
                            made(PyTuple_Pack(1, interned("1"))).release(),
                            made(PyTuple_Pack(1, interned("0"))).release()};
  return all;
}

Ref made(PyObject* object) {
  if (object == nullptr) {
    PyErr_Clear();
    throw Unrecordable("no-memory");
  }
  return Ref::steal(object);
}

Record::~Record() { release(); }

// Destructors may run any code, so that nothing here may still refer to what is dropped. What
// something else of it holds comes first, so that it dies when and as that lets it go.
void Record::release() {
  core::Recording left;
  left.aborted = data_.aborted, left.aborted_at = data_.aborted_at;
  if (is_over_limit())
    left.opcodes = data_.opcodes, left.events = data_.events;  // for their number
  core::Recording dropped = std::exchange(data_, std::move(left));
  const auto kept = std::exchange(kept_, {});
  const auto snapshots = std::exchange(snapshots_, {});
  endings_ = {};
  std::vector<PyObject*> first;
  if (lifetimes_.any_within()) {
    for (SeenNode& node : dropped.nodes) {
      for (core::HostHandle* const handle : {&node.object, &node.scope}) {
        if (!lifetimes_.is_within(as_object(*handle))) continue;
        first.push_back(as_object(std::exchange(*handle, nullptr)));
      }
    }
  }
  for (PyObject* const object : first) Py_DECREF(object);
  lifetimes_.clear();
  for (const SeenNode& node : dropped.nodes) {
    Py_XDECREF(as_object(node.object));
    Py_XDECREF(as_object(node.scope));
  }
}

void Record::discard(std::string reason, core::Loc loc) {
  release();
  abort(std::move(reason), loc);
}

NodeId Record::add_node(SeenNode node) {
  endings_.count(as_object(node.object));
  const NodeId id = data_.add(node);
  Py_XINCREF(as_object(node.object));
  Py_XINCREF(as_object(node.scope));
  lifetimes_.hold(as_object(node.object));
  lifetimes_.hold(as_object(node.scope));
  return id;
}

NodeId Record::argument(int slot, PyObject* object, bool collected) {
  const NodeId id = add_node({SeenNode::Origin::argument, slot, nullptr, nullptr, object, nullptr});
  SeenNode& node = data_.node(id);
  if (collected && PyTuple_CheckExact(object)) {
    node.snapshot = object;
  } else if (collected) {
    take_snapshot(node);
  }
  return id;
}

std::vector<PyObject*> Record::arguments() const {
  std::vector<PyObject*> all;
  for (const SeenNode& node : data_.nodes) {
    if (node.origin == SeenNode::Origin::argument && node.index == std::ssize(all)) {
      all.push_back(as_object(node.object));
    }
  }
  return all;
}

NodeId Record::preset(PyObject* function, int slot, PyObject* object) {
  const auto [found, added] =
      presets_.try_emplace(Key{function, static_cast<uintptr_t>(slot)}, kNoNode);
  if (added || this->object(found->second) != object) {
    found->second = add_node({SeenNode::Origin::preset, slot, nullptr, function, object, nullptr});
  }
  return found->second;
}

NodeId Record::constant(PyObject* object) {
  const auto [found, added] = constants_.try_emplace(object, kNoNode);
  if (added) {
    found->second = add_node({SeenNode::Origin::constant, 0, nullptr, nullptr, object, nullptr});
  }
  return found->second;
}

NodeId Record::made_node(const PyObject* object) const {
  for (auto node = data_.nodes.rbegin(); node != data_.nodes.rend(); ++node) {
    if (node->object == object && node->origin == SeenNode::Origin::event) {
      return static_cast<NodeId>(data_.nodes.rend() - node) - 1;
    }
  }
  return kNoNode;
}

NodeId Record::global(PyObject* globals, PyObject* name, PyObject* object) {
  const auto [found, added] =
      globals_.try_emplace(Key{globals, reinterpret_cast<uintptr_t>(name)}, kNoNode);
  if (added) {
    found->second = add_node({SeenNode::Origin::global, 0, name, globals, object, nullptr});
  } else if (this->object(found->second) != object) {
    throw Unrecordable(std::string("global-out-of-sight\n") + printable(name));
  }
  return found->second;
}

void Record::set_global(PyObject* globals, PyObject* name, NodeId node) {
  globals_.insert_or_assign(Key{globals, reinterpret_cast<uintptr_t>(name)}, node);
  keep(globals);
}

void Record::adopt_cell(PyObject* cell, NodeId contents) {
  check_cell(contents);
  keep(cell);
  cells_.insert_or_assign(cell, Cell{contents, true});
}

bool Record::is_adopted(PyObject* cell) const {
  const auto found = cells_.find(cell);
  return found != cells_.end() && found->second.adopted;
}

NodeId Record::adopted_contents(PyObject* cell) const {
  const auto found = cells_.find(cell);
  if (found == cells_.end() || !found->second.adopted) return kNoNode;
  const NodeId node = found->second.contents;
  return node != kNoNode && object(node) == PyCell_GET(cell) ? node : kNoNode;
}

NodeId Record::cell(PyObject* cell) {
  PyObject* contents = PyCell_GET(cell);
  if (contents == nullptr) return kNoNode;  // reading it raises
  const auto [found, added] = cells_.try_emplace(cell, Cell{kNoNode, false});
  Cell& known = found->second;
  if (added) {
    known.contents = add_node({SeenNode::Origin::closure, 0, nullptr, cell, contents, nullptr});
  } else if (known.contents == kNoNode || object(known.contents) != contents) {
    throw Unrecordable("cell-out-of-sight");
  }
  return known.contents;
}

void Record::set_cell(PyObject* cell, NodeId contents) {
  check_cell(contents);
  keep(cell);
  cells_.try_emplace(cell, Cell{kNoNode, false}).first->second.contents = contents;
}

namespace {

// The items of a dict, in its own order, which an OrderedDict keeps apart. Of a subclass too: none
// of its methods is called.
Ref items_of(PyObject* dict) {
  if (!PyODict_Check(dict)) return made(PyDict_Copy(dict));
  Ref copy = made(PyDict_New());
  const Ref iterator = made(PyODict_Type.tp_iter(dict));
  while (const Ref key = Ref::steal(PyIter_Next(iterator.get()))) {
    PyObject* value = PyDict_GetItemWithError(dict, key.get());
    if (value == nullptr || PyDict_SetItem(copy.get(), key.get(), value) < 0) {
      PyErr_Clear();
      throw Unrecordable("no-memory");
    }
  }
  return copy;
}

}  // namespace

void Record::take_snapshot(SeenNode& node) {
  PyObject* container = as_object(node.object);
  const auto [found, added] = snapshots_.try_emplace(container);
  if (added) {
    found->second = PyList_Check(container)   ? made(PyList_AsTuple(container))
                    : PyDict_Check(container) ? items_of(container)
                    : is_deque(container)     ? made(PySequence_Tuple(container))
                                              : made(PyFrozenSet_New(container));
    lifetimes_.hold_contents(found->second.get());
    lifetimes_.trust(container);
  }
  node.snapshot = found->second.get();
}

// The attributes that say how an array lies and what its elements are.
void Record::keep_layout(NodeId node, PyObject* name) {
  PyObject* const array = object(node);
  const Library* const library = exact_library_of(array);
  if (library == nullptr) return;
  const bool lays_out = std::ranges::any_of(
      std::array{"shape", "strides", "dtype"},
      [&](auto text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; });
  if (!lays_out) return;
  const auto [found, added] = snapshots_.try_emplace(array);
  if (added) {
    found->second = made(library->alias(array));
    lifetimes_.hold_contents(found->second.get());
  }
  data_.node(node).snapshot = found->second.get();
}

int32_t Record::add(SeenEvent::Kind kind, PyObject* name, std::span<const NodeId> operands,
                    Place place, PyObject* keywords) {
  if (data_.events.size() == kMaxEvents) {
    throw Unrecordable("long-recording\n" + std::to_string(kMaxEvents));
  }
  for (const NodeId operand : operands) {
    if (operand == kNoNode) throw Unrecordable("value-unknown-origin");
    SeenNode& node = data_.node(operand);
    PyObject* const object = as_object(node.object);
    const bool is_container = PyList_Check(object) || PyDict_Check(object) ||
                              Py_IS_TYPE(object, &PySet_Type) || is_deque(object);
    if (is_container && !node.snapshot) take_snapshot(node);
    if (endings_.contains(object) && !Endings::keeps_nothing(kind, this->object(operands[0]))) {
      lose(object);
    }
  }
  if (kind == SeenEvent::Kind::store_attribute) keep_layout(operands[0], name);
  SeenEvent event;
  event.kind = kind;
  event.name = name;
  event.keywords = keywords;
  event.code = place.code;
  event.instruction = place.instruction;
  return data_.record(event, operands);
}

NodeId Record::add_result(int32_t event, PyObject* object) {
  if (at(event).kind != SeenEvent::Kind::inplace) keep_result(object);
  check_kept(at(event), object);
  // The managers of a `with` leave it.
  if (!ending_.empty() && at(event).kind == SeenEvent::Kind::attribute &&
      PyUnicode_CompareWithASCIIString(as_object(at(event).name), "pop_all") == 0) {
    throw Unkeepable("generator-tells-end");
  }
  if (PyGen_CheckExact(object) && !ending_.contains(object)) {
    if (finishes_something(object) && ends_.comes_to_its_end && ends_.comes_to_its_end()) {
      ending_.insert(object);
    } else if (!endings_.watch(object, ends_.where_made ? ends_.where_made() : Endings::Made{})) {
      throw Unkeepable("generator-tells-end");
    }
  }
  if (tells_its_end(object)) throw Unkeepable("object-tells-end");
  const NodeId node = add_node({SeenNode::Origin::event, event, nullptr, nullptr, object, nullptr});
  at(event).result = node;
  return node;
}

// What holds a generator that is watched is watched itself.
void Record::check_kept(const SeenEvent& event, PyObject* result) {
  const auto operands = data_.operands_of(event);
  const bool has_any = std::ranges::any_of(
      operands, [&](NodeId operand) { return endings_.contains(object(operand)); });
  if (!has_any || endings_.contains(result)) return;
  if (is_holder(result)) {
    endings_.watch(result, {});
    return;
  }
  PyObject* const callee = object(operands[0]);
  const bool is_bound =
      event.kind == SeenEvent::Kind::attribute && !Py_IS_TYPE(result, &PyMethodDescr_Type);
  const bool is_given = event.kind == SeenEvent::Kind::call && !event.followed &&
                        !Endings::is_done_with_arguments(callee);
  if (is_bound || is_given) {
    for (const NodeId operand : operands) lose(object(operand));
  }
}

void Record::lose(PyObject* object) {
  if (!endings_.lose(object)) throw Unkeepable("generator-tells-end");
}

void Record::check_cell(NodeId contents) {
  if (contents != kNoNode) lose(object(contents));
}

void Record::set_object(NodeId node, PyObject* object) {
  SeenNode& seen = data_.node(node);
  PyObject* const before = as_object(seen.object);
  keep(before);
  Py_DECREF(before);
  seen.object = Py_NewRef(object);
  lifetimes_.hold(object);
}

NodeId Record::again(NodeId node) {
  const SeenNode same = data_.node(node);
  return *own_.insert(add_node(same)).first;
}

NodeId Record::own(NodeId node) {
  if (node == kNoNode) return node;
  const SeenNode::Origin origin = data_.node(node).origin;
  const bool is_made = origin == SeenNode::Origin::event || origin == SeenNode::Origin::argument;
  return is_made || own_.contains(node) ? node : again(node);
}

void Record::look_again(NodeId id) {
  SeenNode& node = data_.node(id);
  PyObject* const list = as_object(node.object);
  const auto found = PyList_Check(list) ? snapshots_.find(list) : snapshots_.end();
  if (found == snapshots_.end()) return;
  PyObject* const before = found->second.get();
  const auto size = PyList_GET_SIZE(list);
  const bool is_same = PyTuple_GET_SIZE(before) == size &&
                       std::equal(PySequence_Fast_ITEMS(list), PySequence_Fast_ITEMS(list) + size,
                                  PySequence_Fast_ITEMS(before));
  if (!is_same) node.snapshot = Py_None;
}

NodeId Record::met(PyObject* object) {
  keep_result(object);
  if (tells_its_end(object) || finishes_something(object)) throw Unkeepable("object-tells-end");
  const auto event = static_cast<int32_t>(data_.events.size());
  return add_node({SeenNode::Origin::event, event, nullptr, nullptr, object, nullptr});
}

void Record::keep_result(PyObject* object) {
  kept_bytes_ += bytes_of(object);
  if (kept_bytes_ < next_drop_) return;
  kept_bytes_ = drop_contents(data_.nodes, dropped_);  // what the program holds costs nothing
  if (kept_bytes_ > kMaxKeptBytes) throw Unkeepable("much-memory");
  next_drop_ = std::min(kept_bytes_ + kDropEvery, kMaxKeptBytes + 1);
}

NodeId Record::derive(SeenEvent::Kind kind, PyObject* name, std::span<const NodeId> operands,
                      Place place, PyObject* object) {
  return add_result(add(kind, name, operands, place), object);
}

void Record::abort(std::string reason, core::Loc loc) {
  if (aborted()) return;
  if (endings_.any()) release();  // nobody watches them from here on
  data_.aborted = std::move(reason);
  data_.aborted_at = loc;
}

}  // namespace dvm::capture
