#include "capture/replay/numbers/bound.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "capture/library/library.h"
#include "capture/replay/loop.h"
#include "capture/replay/numbers/inner_items.h"
#include "capture/replay/numbers/items.h"
#include "capture/replay/numbers/object_steps.h"

namespace dvm::capture::numbers {

Bound::Bound() = default;
Bound::~Bound() = default;

size_t Bound::begin_way(Way way) {
  if (!ways_.empty()) way.offset = ways_.back().offset + ways_.back().root->registers;
  ways_.push_back(std::move(way));
  granted_.push_back({ways_.size() - 1, {}, true});
  return ways_.size() - 1;
}

InnerItems& Bound::add(std::unique_ptr<InnerItems> items) {
  return *items_.emplace_back(std::move(items));
}

void Bound::add(Loop& loop, int32_t version) {
  loops_.push_back({&loop, version, loop.paths().size()});
}

bool Bound::is_stale() const {
  return std::ranges::any_of(loops_, [](const HeldLoop& held) {
    return held.loop->version() != held.version || held.loop->paths().size() != held.paths;
  });
}

bool Bound::find(PyObject* const* arguments, std::vector<Ref>& registers) const {
  registers.clear();
  return run(0, arguments, registers);
}

// The ways from that one on; those before it have left the registers.
bool Bound::run(size_t first, PyObject* const* arguments, std::vector<Ref>& registers) const {
  std::vector<std::unique_ptr<StepRunner>> runners(first);
  std::deque<std::vector<PyObject*>> given;
  const auto object = [&](int32_t home) -> PyObject* {
    if (home < 0) return nullptr;
    if (static_cast<size_t>(home) < registers.size()) {
      return registers[static_cast<size_t>(home)].get();
    }
    size_t way = ways_.size() - 1;
    while (ways_[way].offset > home) --way;
    return (*runners[way])[home - ways_[way].offset];
  };
  for (const auto& [way, step, holds] : granted_) {
    if (way < first) continue;
    if (step.path != nullptr) {
      if (runners[way]->run(step) != holds) return false;
      continue;
    }
    const auto& [root, from, homes, offset] = ways_[way];
    if (from >= 0) {
      runners.push_back(runners[static_cast<size_t>(from)]->fork());
      continue;
    }
    std::vector<PyObject*>& own = given.emplace_back();
    std::ranges::transform(homes, std::back_inserter(own), object);
    runners.push_back(std::make_unique<StepRunner>(*root, own.empty() ? arguments : own.data()));
  }
  for (const auto& runner : runners) {
    if (runner) runner->move_to(registers);
  }
  return true;
}

bool Bound::fill(std::vector<Ref> registers) {
  registers_.clear();
  if (is_stale()) return false;
  const size_t own = static_cast<size_t>(ways_[0].root->registers);
  if (registers.size() == own && ways_.size() > 1 && !run(1, nullptr, registers)) return false;
  const auto object = [&](int32_t home) { return registers[static_cast<size_t>(home)].get(); };
  for (const auto& [home, number] : numbers_) {
    const auto found = object(home) ? value_of(object(home)) : std::nullopt;
    if (!found || found->first != number.type) return false;
    code_[number.cell] = found->second;
  }
  for (const auto& [home, step] : objects_) {
    if (object(home) == nullptr || !step->fill(object(home))) return false;
  }
  for (const auto& [home, elements] : arrays_) {
    const Library& library = *libraries()[elements.library];
    if (object(home) == nullptr || !Py_IS_TYPE(object(home), library.fields.type)) return false;
    const ArrayLook array = library.fields.look(object(home));
    if (library.dtype_of(object(home)) != elements.dtype ||
        array.rank != std::ssize(elements.axes) || array.has(kWarnsWhenWritten)) {
      return false;
    }
    code_[elements.place].i = reinterpret_cast<int64_t>(array.data);
    for (int d = 0; d < array.rank; ++d) {
      const auto [size, stride] = elements.axes[static_cast<size_t>(d)];
      code_[size].i = array.shape[d];
      code_[stride].i = array.strides[d];
    }
  }
  std::vector<PyObject*> iterated;
  for (const auto& items : items_) {
    std::vector<PyObject*> objects;
    std::ranges::transform(items->over(), std::back_inserter(objects), object);
    if (std::ranges::count(objects, nullptr) > 0 || !items->fill(objects)) return false;
    iterated.insert(iterated.end(), objects.begin(), objects.end());
  }
  mirror_lists(std::move(iterated));
  registers_ = std::move(registers);
  return true;
}

// Those of which elements are replaced; others that the code changes, or goes over, stay `apart`.
void Bound::mirror_lists(std::vector<PyObject*> apart) {
  mirrors_.clear();
  const auto is_iterator = [](PyObject* object) { return PyIter_Check(object) != 0; };
  const bool may_mirror = std::ranges::none_of(apart, is_iterator);
  for (const auto& [home, step] : objects_) {
    step->mirror(nullptr);
    if (step->use() == ObjectStep::Use::resizes) apart.push_back(step->object());
  }
  const auto mirror_of = [&](PyObject* list) -> ListMirror* {
    const auto found = std::ranges::find(mirrors_, list, [](const auto& m) { return m->list(); });
    return found == mirrors_.end() ? nullptr : found->get();
  };
  for (const auto& [home, step] : objects_) {
    PyObject* const list = step->object();
    if (step->use() != ObjectStep::Use::replaces || !may_mirror || mirror_of(list)) continue;
    if (std::ranges::find(apart, list) != apart.end()) continue;
    mirrors_.push_back(std::make_unique<ListMirror>(list));
  }
  for (const auto& [home, step] : objects_) step->mirror(mirror_of(step->object()));
}

void Bound::empty() {
  mirrors_.clear();
  registers_.clear();
  for (const auto& items : items_) items->empty();
}

}  // namespace dvm::capture::numbers
