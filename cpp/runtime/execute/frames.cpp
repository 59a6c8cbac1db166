#include "runtime/execute/frames.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace dvm::runtime {

namespace {

// Frames, and registers of b in all of them: some hundred MiB.
constexpr size_t kMostFrames = size_t{1} << 20, kMostRegisters = size_t{1} << 22;
constexpr int64_t kOften = 1024;

}  // namespace

void Frames::define_constants() {
  for (const PlanConstant& constant : state_.frame.plan->constants) {
    DVM_CHECK(constant.values, "nobody supplied the constant " + constant.name);
    state_.define(next_register(), constant.view, {});
  }
}

void Frames::drop(int32_t b) {
  Ownership& ownership = state_.owned(b);
  if (ownership.kind == Ownership::Kind::host) {
    if (state_.held.empty()) {
      host_.release(state_.buffer(b).owner);
    } else {
      state_.held.keep(state_.buffer(b).owner, ownership.bytes);
    }
  }
  if (ownership.kind == Ownership::Kind::temporary)
    state_.give(state_.buffer(b).data, ownership.bytes);
  ownership = {};
}

void Frames::drop_all() {
  for (int32_t b = 0; b < next_register(); ++b) drop(b);
}

const Plan& Frames::body(int32_t index) const {
  return state_.frame.plan->bodies[static_cast<size_t>(index)];
}

Outcome Frames::enter(const Plan& inner, const int32_t* lists, size_t fields) {
  if (state_.callers.size() >= kMostFrames || state_.frame.buffers >= kMostRegisters) {
    core::fail(core::ErrorCode::unsupported,
               "functions call each other " + std::to_string(state_.callers.size()) +
                   " deep, which takes too much memory; does the recursion end?");
  }
  if (++entered_ % kOften == 0 && !host_.may_go_on()) return Outcome::host_error;
  state_.blocks.stop_noting();
  const Frame caller = state_.frame;
  state_.enter(inner);
  state_.frame.defined = fields;
  const auto outer = [&](int32_t b) {
    return state_.buffers[caller.buffers + static_cast<size_t>(b)];
  };
  for (int32_t count = *lists++, k = 0; k < count; ++k) {
    state_.define(static_cast<int32_t>(fields) + k, outer(*lists++), {});
  }
  for (int32_t count = *lists++; count > 0; --count) {
    const int64_t size = state_.sizes[caller.sizes + static_cast<size_t>(*lists++)];
    state_.numbers.push_back(core::Scalar::of_int(size));
  }
  define_constants();
  return Outcome::done;
}

Outcome Frames::match(const int32_t* p) {
  const core::DataType& type = program_.types[static_cast<size_t>(p[1])];
  const HostValue object = state_.buffer(p[0]).owner;
  const int tag = host_.tag(type, object);
  if (tag < 0) return Outcome::host_error;
  const Plan& inner = body(p[3 + tag]);
  const size_t fields = type.constructors[static_cast<size_t>(tag)].kinds.size();
  if (const Outcome outcome = enter(inner, p + 3 + p[2], fields); outcome != Outcome::done) {
    return outcome;
  }
  for (size_t k = 0; k < fields; ++k) {
    const auto b = static_cast<int32_t>(k);
    if (!host_.field(type, static_cast<size_t>(tag), object, k, state_.buffer(b))) {
      return Outcome::host_error;
    }
    state_.owned(b) = {.kind = Ownership::Kind::host};
    const bool fits = state_.buffer(b).rank == inner.inputs[k].rank &&
                      state_.buffer(b).dtype == inner.inputs[k].dtype;
    if (!fits) return Outcome::check_failed;
  }
  return Outcome::done;
}

Outcome Frames::construct(int32_t result, const int32_t* p) {
  std::vector<BufferView>& fields = state_.call_arrays;
  fields.clear();
  for (int32_t k = 0; k < p[2]; ++k) fields.push_back(state_.buffer(p[3 + k]));
  BufferView object{.dtype = core::DType::boolean, .rank = kObjectRank};
  const core::DataType& type = program_.types[static_cast<size_t>(p[0])];
  if (!host_.construct(type, static_cast<size_t>(p[1]), fields, object)) {
    return Outcome::host_error;
  }
  object.rank = kObjectRank;
  state_.define(result, object, {.kind = Ownership::Kind::host});
  return Outcome::done;
}

Outcome Frames::give_to_caller(const int32_t* list) {
  const Frame& caller = state_.callers.back();
  const int32_t result = caller.plan->code[caller.next - 1].result;
  BufferView* const to = state_.buffers.data() + caller.buffers + static_cast<size_t>(result);
  int64_t bytes = 0;
  for (int32_t k = 0; k < list[0]; ++k) {
    const int32_t b = list[1 + k];
    to[k] = state_.buffer(b);
    Ownership& ownership = state_.owned(b);
    if (ownership.kind == Ownership::Kind::host) {
      ownership = {};
    } else {
      host_.retain(state_.buffer(b).owner);
    }
  }
  for (int32_t b = 0; b < next_register(); ++b) bytes += state_.owned(b).bytes;
  Outcome outcome = Outcome::done;
  if (!state_.held.has_room(next_register(), bytes)) outcome = launcher_.hand_over();
  drop_all();
  state_.leave();
  for (int32_t k = 0; k < list[0]; ++k) state_.own(result + k, {.kind = Ownership::Kind::host});
  return outcome;
}

void Frames::end() {
  for (; !state_.callers.empty(); state_.leave()) drop_all();
  drop_all();
  state_.shrink();
}

}  // namespace dvm::runtime
