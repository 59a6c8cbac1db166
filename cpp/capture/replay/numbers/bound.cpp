#include "capture/replay/numbers/bound.h"

#include <utility>

#include "capture/library/library.h"
#include "capture/replay/numbers/inner_loop.h"
#include "capture/replay/numbers/items.h"
#include "capture/replay/numbers/object_steps.h"

namespace dvm::capture::numbers {

Bound::Bound() = default;
Bound::~Bound() = default;

size_t Bound::begin_way(const Path& root, int32_t from) {
  const int32_t offset = ways_.empty() ? 0 : ways_.back().offset + ways_.back().root->registers;
  ways_.push_back({&root, from, offset});
  granted_.push_back({ways_.size() - 1, {}, true});
  return ways_.size() - 1;
}

InnerLoop& Bound::append(std::unique_ptr<InnerLoop> loop) {
  code_.emit(Op::step, 0, 0, literal_of(*loop));
  return *loops_.emplace_back(std::move(loop));
}

bool Bound::find(PyObject* const* arguments, std::vector<Ref>& registers) const {
  std::vector<std::unique_ptr<StepRunner>> runners;
  for (const auto& [way, step, holds] : granted_) {
    if (step.path != nullptr) {
      if (runners[way]->run(step) != holds) return false;
      continue;
    }
    const int32_t from = ways_[way].from;
    runners.push_back(from < 0 ? std::make_unique<StepRunner>(*ways_[way].root, arguments)
                               : runners[static_cast<size_t>(from)]->fork());
  }
  registers.clear();
  for (const auto& runner : runners) runner->move_to(registers);
  return true;
}

bool Bound::fill(std::vector<Ref> registers) {
  registers_.clear();
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
  for (const auto& loop : loops_) {
    if (!loop->fill(registers)) return false;
  }
  registers_ = std::move(registers);
  return true;
}

void Bound::empty() {
  registers_.clear();
  for (const auto& loop : loops_) loop->empty();
}

}  // namespace dvm::capture::numbers
