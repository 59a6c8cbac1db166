#include "runtime/execute/turns.h"

#include <algorithm>

namespace dvm::runtime {

namespace {

bool has_type(const BufferView& array, core::DType dtype, std::span<const int64_t> shape) {
  return array.dtype == dtype && array.rank == static_cast<int32_t>(shape.size()) &&
         std::equal(shape.begin(), shape.end(), array.shape);
}

}  // namespace

Turns::~Turns() {
  for (const Made& made : made_) host_.release(made.array.owner);
}

// Few arrays live at a time: those of other shapes, which a loop that grows has left behind, go.
bool Turns::allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) {
  constexpr size_t kKept = 8;
  for (Made& made : made_) {
    if (made.references > 0 || !has_type(made.array, dtype, shape)) continue;
    made.references = 1;
    out = made.array;
    return true;
  }
  if (made_.size() >= kKept) {
    std::erase_if(made_, [&](const Made& made) {
      if (made.references == 0) host_.release(made.array.owner);
      return made.references == 0;
    });
  }
  made_.reserve(made_.size() + 1);
  if (!host_.allocate_within(dtype, shape, out)) return false;
  made_.push_back({out, 1});
  return true;
}

Turns::Made* Turns::find(HostValue value) {
  const auto is = [&](const Made& made) { return made.array.owner == value; };
  const auto found = std::ranges::find_if(made_, is);
  return found == made_.end() ? nullptr : &*found;
}

void Turns::retain(HostValue value) {
  if (Made* made = find(value)) {
    ++made->references;
  } else {
    host_.retain(value);
  }
}

void Turns::release(HostValue value) {
  Made* const made = find(value);
  if (made == nullptr) return host_.release(value);
  if (--made->references > 0 || !made->seen) return;
  host_.release(value);
  made_.erase(made_.begin() + (made - made_.data()));
}

bool Turns::is_alone(const BufferView& array) const {
  const Made* const made = find(array.owner);
  return made != nullptr && made->references == 1 && !made->seen &&
         made->array.data == array.data &&
         has_type(made->array, array.dtype, {array.shape, static_cast<size_t>(array.rank)}) &&
         std::equal(array.strides, array.strides + array.rank, made->array.strides);
}

void Turns::show(std::span<const BufferView> arrays) {
  for (const BufferView& array : arrays) {
    if (Made* made = find(array.owner)) made->seen = true;
  }
}

HostCall Turns::named(const HostCall& call) const {
  HostCall outer = call;
  outer.callee =
      static_cast<int>(std::ranges::find(plan_.callees, call.name) - plan_.callees.begin());
  return outer;
}

bool Turns::call(const HostCall& call, std::span<BufferView> results) {
  show(call.arrays);
  const bool done = host_.call(named(call), results);
  for (const BufferView& result : results) count(result);
  return done;
}

// The host may give back what it was given: the reference to that is counted here.
void Turns::count(const BufferView& given) {
  if (Made* made = find(given.owner)) {
    ++made->references;
    host_.release(given.owner);
  }
}

bool Turns::construct(const core::DataType& type, size_t constructor,
                      std::span<const BufferView> fields, BufferView& out) {
  show(fields);
  return host_.construct(type, constructor, fields, out);
}

bool Turns::field(const core::DataType& type, size_t constructor, HostValue object, size_t index,
                  BufferView& out) {
  if (!host_.field(type, constructor, object, index, out)) return false;
  count(out);
  return true;
}

bool Turns::call_into(const HostCall& call, std::span<const BufferView> into) {
  show(call.arrays);
  show(into);
  return host_.call_into(named(call), into);
}

}  // namespace dvm::runtime
