// Loops within turns: the code of their turns lies within that of the turn around them, once for
// each set of types that their variables have where a turn begins.
#include <algorithm>

#include "capture/replay/loop.h"
#include "capture/replay/numbers/inner_items.h"
#include "capture/replay/numbers/turn_code.h"

namespace dvm::capture::numbers {

// What is known of a loop within while its code is made.
struct TurnCode::Inner {
  // Turns of the same types: `homes` are the cells of the variables, which are given to a turn
  // there.
  struct Version {
    std::vector<std::optional<Type>> types;
    std::vector<std::optional<Number>> homes;
    std::vector<size_t> from = {};  // instructions that lead there
  };
  // A part of the loop's value, and what type it has where the loop is left in one of the ways.
  struct Part {
    Typed typed;
    std::optional<Type> hint = {};
  };
  static constexpr size_t kVersions = 4;

  Loop& loop;
  Changes changes;
  std::vector<bool> own = {};             // slots that its own turns change
  std::vector<PyObject*> arguments = {};  // borrowed; null: it changes
  std::vector<int32_t> homes = {};        // of the registers that hold those
  std::vector<Version> versions = {};
  size_t version = 0;
  std::vector<Part> parts = {};  // behind the tag
  int32_t tag = 0;
  std::vector<size_t> ends = {};    // instructions that lead behind the loop
  std::optional<Number> item = {};  // of a range
  std::vector<Typed> items = {};    // of others: the item, or its parts
  std::vector<std::optional<Type>> hints = {};
  bool is_tuple = false, has_way = false;

  size_t version_of(const std::vector<std::optional<Type>>& types) {
    const auto found = std::ranges::find(versions, types, &Version::types);
    return static_cast<size_t>(found - versions.begin());
  }
};

TurnCode::TurnCode(TurnCode& outer, Inner& inner)
    : bound_(outer.bound_),
      code_(outer.code_),
      changes_(inner.changes),
      inner_(&inner),
      outer_(&outer),
      attempt_(outer.attempt()),
      runners_(outer.runners_) {}

bool TurnCode::iterates(const int32_t* p) {
  const int32_t count = p[2];
  if (p[3 + count] >= 0 || p[4 + count] != 0 || !is_same(p[1])) return false;
  static PyObject* const iter = PyDict_GetItemString(PyEval_GetBuiltins(), "iter");
  if (object(p[1]) == iter && count == 1) {
    const Known& of = known(p[3]);
    if (of.is != Known::Is::range && !(is_same(p[3]) && object(p[3]))) return false;
    known(p[0]) = {.is = Known::Is::iterator, .parts = of.parts, .over = {p[3]}};
    return true;
  }
  const auto is_there = [&](int32_t reg) { return is_same(reg) && object(reg) != nullptr; };
  if (object(p[1]) == reinterpret_cast<PyObject*>(&PyEnum_Type) ||
      object(p[1]) == reinterpret_cast<PyObject*>(&PyZip_Type)) {
    known(p[0]) = {.is = Known::Is::iterator, .over = {p + 3, p + 3 + count}};
    known(p[0]).over.push_back(p[1]);
    return std::all_of(p + 3, p + 3 + count, is_there);
  }
  if (object(p[1]) != reinterpret_cast<PyObject*>(&PyRange_Type) || count != 3) return false;
  std::vector<int32_t> cells;
  for (int32_t i = 0; i < count; ++i) {
    const auto given = number(p[3 + i]);
    if (!given || given->type.kind != Kind::integer) return false;
    cells.push_back(given->cell);
  }
  known(p[0]) = {.is = Known::Is::range, .parts = std::move(cells)};
  return true;
}

// Of a function that calls itself: its loop is within itself, however deep.
bool TurnCode::is_within(const Loop& loop) const {
  for (const TurnCode* code = this; code != nullptr; code = code->outer_) {
    if (code->inner_ != nullptr && &code->inner_->loop == &loop) return true;
  }
  return false;
}

// The instruction that takes the next item, each time; none: there are no items.
std::optional<Insn> TurnCode::begin_items(int32_t iterator, Inner& inner) {
  const Known& by = known(iterator);
  if (!by.parts.empty()) {
    const Number item{code_.cell(), {Kind::integer}};
    code_.cell(), code_.cell();  // how many are left, and the next one
    inner.item = item;
    code_.append({.op = Op::begin_range,
                  .d = item.cell,
                  .a = by.parts[0],
                  .b = by.parts[1],
                  .c = by.parts[2]});
    return Insn{.op = Op::next_of_range, .d = item.cell, .c = by.parts[2]};
  }
  std::vector<int32_t> homes;
  std::vector<PyObject*> objects;
  for (const int32_t reg : by.over) {
    homes.push_back(home(reg));
    objects.push_back(object(reg));
  }
  auto made = std::make_unique<InnerItems>(std::move(homes));
  if (!made->fill(objects)) return {};
  auto [is_tuple, hints] = made->first();
  inner.is_tuple = is_tuple;
  inner.hints = std::move(hints);
  for (size_t k = 0; k < inner.hints.size(); ++k) inner.items.push_back(new_typed());
  made->give(inner.items);
  InnerItems& items = bound_.add(std::move(made));
  code_.emit(Op::step, 0, 0, literal_of(items));
  return Insn{.op = Op::step, .p = literal_of(items.next())};
}

bool TurnCode::inner_loop(const int32_t* p) {
  Loop& loop = loop_of(path_->object(p[1]));
  const int32_t count = p[3], version = p[4 + count];
  if (loop.version() != version) {  // what was known of the loop when the path was made
    goes_otherwise_ = true;
    return false;
  }
  if (attempt() == nullptr || is_within(loop)) return false;
  if (p[2] >= 0 && known(p[2]).is != Known::Is::iterator) return false;
  Inner inner{loop, changes_of(loop.paths(), loop.layout().variables, loop.layout().carried)};
  inner.own = inner.changes.slots;
  inner.changes.changes_lists = inner.changes.changes_lists || changes_.changes_lists;
  inner.arguments.assign(static_cast<size_t>(count) + 1, nullptr);
  inner.homes.assign(static_cast<size_t>(count) + 1, -1);
  Inner::Version first{.types = {inner.arguments.size(), std::nullopt},
                       .homes = {inner.arguments.size(), std::nullopt}};
  std::vector<std::pair<int32_t, int32_t>> moves;
  for (int32_t i = 0; i < count; ++i) {
    const auto slot = static_cast<size_t>(i);
    const int32_t reg = p[4 + i];
    if (is_same(reg) && object(reg) != nullptr && !inner.own[slot]) {
      inner.arguments[slot] = object(reg);
      inner.homes[slot] = home(reg);
      continue;
    }
    inner.changes.slots[slot] = true;
    const auto given = value(reg);
    if (!given) continue;
    first.types[slot] = given->type;
    first.homes[slot] = given;
    if (!inner.own[slot]) continue;
    first.homes[slot] = Number{code_.cell(), given->type};
    moves.emplace_back(given->cell, first.homes[slot]->cell);
  }
  inner.tag = code_.cell();
  size_t parts = loop.layout().at_end.size();
  for (const auto& path : loop.paths())
    parts = std::max(parts, returned_by(*path).registers.size());
  for (size_t k = 0; k < parts; ++k) inner.parts.push_back({new_typed()});
  auto turns = std::make_unique<InnerTurns>(loop, *attempt());
  const InnerTurns& each = *turns;
  bound_.keep(std::move(turns));
  bound_.add(loop, version);
  std::optional<Insn> next;
  if (p[2] >= 0) {
    next = begin_items(p[2], inner);
    if (!next) return false;
  }
  for (const auto& [from, to] : moves) code_.append({.op = Op::move, .d = to, .a = from});
  inner.versions.push_back(std::move(first));
  inner.versions[0].from.push_back(code_.jump());
  for (size_t v = 0; v < inner.versions.size(); ++v) {
    inner.version = v;
    const size_t begin = code_.begin_way();
    for (const size_t place : inner.versions[v].from) code_.go_on_at(place, begin);
    inner.versions[v].from = {begin};
    code_.append({.op = Op::turn, .p = literal_of(each)});
    std::optional<size_t> end;
    if (next) {
      end = code_.place();
      code_.append(*next);
    }
    TurnCode(*this, inner).append_ways(loop.paths());
    if (end) {
      code_.go_on_at(*end, code_.begin_way());
      end_loop(inner);
    }
  }
  const size_t behind = code_.begin_way();
  for (const size_t place : inner.ends) code_.go_on_at(place, behind);
  code_.emit(Op::step, 0, 0, literal_of(static_cast<const CellStep&>(each)));
  code_.forget_expectations();
  known(p[0]) = {.is = Known::Is::loop, .parts = {inner.tag}};
  for (const auto& [part, hint] : inner.parts) {
    known(p[0]).parts.push_back(part.cell);
    known(p[0]).parts.push_back(part.type);
    known(p[0]).hints.push_back(hint);
  }
  has_written_ = true;
  return inner.has_way;
}

// Behind the last item.
void TurnCode::end_loop(Inner& inner) {
  const Loop::Layout& layout = inner.loop.layout();
  const Inner::Version& version = inner.versions[inner.version];
  std::vector<std::optional<Number>> parts;
  for (const int32_t slot : layout.at_end)
    parts.push_back(version.homes[static_cast<size_t>(slot)]);
  leave_loop(inner, layout.end.get(), parts);
}

void TurnCode::leave_loop(Inner& inner, PyObject* tag,
                          const std::vector<std::optional<Number>>& parts) {
  const auto set = [&](int32_t cell, int32_t from) {
    code_.append({.op = Op::move, .d = cell, .a = from});
  };
  set(inner.tag, code_.integer(PyLong_AsLong(tag)));
  for (size_t k = 0; k < inner.parts.size(); ++k) {
    auto& [part, hint] = inner.parts[k];
    const bool is_there = k < parts.size() && parts[k];
    set(part.type, code_.integer(is_there ? word_of(parts[k]->type) : kNoType));
    if (!is_there) continue;
    set(part.cell, parts[k]->cell);
    if (!hint) hint = parts[k]->type;
  }
  inner.ends.push_back(code_.jump());
}

bool TurnCode::leave_inner(const std::vector<int32_t>& returned) {
  std::vector<std::optional<Number>> parts;
  for (size_t k = 1; k < returned.size(); ++k) {
    parts.push_back(known(returned[k]).is_of_array ? std::nullopt : value(returned[k]));
  }
  leave_loop(*inner_, object(returned[0]), parts);
  return true;
}

bool TurnCode::inner_argument(int32_t reg, int32_t slot) {
  const auto place = static_cast<size_t>(slot);
  const bool is_item = place + 1 == changes_.slots.size();
  if (!is_item) {
    const auto& home = inner_->versions[inner_->version].homes[place];
    if (home) return define(reg, *home);
  } else if (inner_->item) {
    return define(reg, *inner_->item);
  } else if (!inner_->is_tuple && !inner_->items.empty()) {
    return define(reg, inner_->items[0], inner_->hints[0]);
  }
  known(reg) = {is_item ? Known::Is::item : Known::Is::unknown, {}, {slot}};
  return true;
}

// False: there are turns of too many types.
bool TurnCode::give_to_inner(const std::vector<Body::Place>& gives) {
  std::vector<std::optional<Type>> types = inner_->versions[inner_->version].types;
  for (const auto& [slot, number] : gives) types[slot] = number.type;
  const size_t v = inner_->version_of(types);
  if (v == inner_->versions.size()) {
    if (v == Inner::kVersions) return false;
    Inner::Version version{types, inner_->versions[inner_->version].homes};
    for (size_t slot = 0; slot < types.size(); ++slot) {
      if (types[slot] && inner_->own[slot])
        version.homes[slot] = Number{code_.cell(), *types[slot]};
    }
    inner_->versions.push_back(std::move(version));
  }
  // What no turn reads is moved as well, for what comes behind the loop may.
  std::vector<std::pair<int32_t, int32_t>> moves;
  for (const auto& [slot, number] : gives) {
    moves.emplace_back(number.cell, inner_->versions[v].homes[slot]->cell);
  }
  move_at_once(std::move(moves));
  const size_t place = code_.jump();
  Inner::Version& next = inner_->versions[v];
  if (v <= inner_->version) {
    code_.go_on_at(place, next.from[0]);
  } else {
    next.from.push_back(place);
  }
  inner_->has_way = true;
  return true;
}

size_t TurnCode::parts_of_item() const {
  if (inner_ == nullptr) return entry_->parts.size();
  return inner_->is_tuple ? inner_->items.size() : 0;
}

bool TurnCode::part_of_item(int32_t reg, int32_t index) {
  const auto k = static_cast<size_t>(index);
  if (k >= parts_of_item()) return false;
  if (inner_ != nullptr) return define(reg, inner_->items[k], inner_->hints[k]);
  if (!entry_->parts[k]) return false;
  const Number number{code_.cell(), *entry_->parts[k]};
  body_->parts_.push_back({index, number});
  return define(reg, number);
}

const std::vector<std::optional<Type>>& TurnCode::types() const {
  return inner_ != nullptr ? inner_->versions[inner_->version].types : entry_->types;
}

size_t TurnCode::begin_root(const Path& root) {
  if (inner_ == nullptr) {
    runners_->push_back(std::make_unique<StepRunner>(root, entry_->arguments));
    return bound_.begin_way(root, -1);
  }
  runners_->push_back(std::make_unique<StepRunner>(root, inner_->arguments.data()));
  return bound_.begin_way(root, inner_->homes);
}

void TurnCode::note_way(const Path& path) {
  if (inner_ != nullptr) {
    inner_->has_way = true;
  } else {
    body_->paths_.push_back(&path);
  }
}

bool TurnCode::part(int32_t result, const Known& loop, int32_t index) {
  if (index == 0) return define(result, Number{loop.parts[0], {Kind::integer}});
  const auto k = static_cast<size_t>(index) - 1;
  if (k >= loop.hints.size()) return false;
  return define(result, Typed{loop.parts[2 * k + 1], loop.parts[2 * k + 2]}, loop.hints[k]);
}

}  // namespace dvm::capture::numbers
