#include "runtime/execute/loop.h"

#include <algorithm>
#include <cstring>

#include "runtime/execute/size_math.h"
#include "runtime/execute/turns.h"

namespace dvm::runtime {

namespace {

core::Scalar number_in(const BufferView& array) {
  return core::dispatch(array.dtype, [&]<core::DType D>() {
    core::Storage<D> element;
    std::memcpy(&element, array.data, sizeof element);
    return core::scalar_of<D>(element);
  });
}

// A context for the bodies of one instruction, which reports to that of its Plan.
class BodyContext {
 public:
  BodyContext(ExecutionContext& outer, const Plan& program)
      : outer_(outer), context_(ExecutionContext::acquire()) {
    context_.times = outer.times;
    context_.frozen = outer.frozen;
    context_.program = &program;
  }
  ~BodyContext() {
    context_.state().moves_with_trip = false;
    ExecutionContext::release(context_);
  }
  BodyContext(const BodyContext&) = delete;
  BodyContext& operator=(const BodyContext&) = delete;

  // What the body does with the number of its trip, which says whether trips repeat each other.
  TripUse prepare(const Plan& body) {
    const TripUse use = known_use(body);
    context_.repeats = use != TripUse::anything;
    context_.state().moves_with_trip = use == TripUse::moves;
    return use;
  }
  Outcome run(const Plan& body, vm::Target& target, HostCalls& host,
              std::span<const BufferView> arrays, std::span<const core::Scalar> numbers,
              std::span<BufferView> results) {
    // What the Plan around it takes has what its bodies take in it.
    const int64_t plan = outer_.times ? outer_.times->plan : 0;
    const Outcome outcome = execute(body, target, host, arrays, numbers, results, context_);
    if (outer_.times) outer_.times->plan = plan;
    outer_.fp_flags |= context_.fp_flags;
    return outcome;
  }

 private:
  TripUse known_use(const Plan& body) {
    if (body.regions.empty()) return trip_use(body);
    constexpr size_t kMost = 1024;
    auto& known = context_.state().trip_uses;
    if (known.size() > kMost) known.clear();
    const auto [entry, is_new] =
        known.try_emplace(body.regions.front().kernel.serial, TripUse::anything);
    if (is_new) entry->second = trip_use(body);
    return entry->second;
  }

  ExecutionContext& outer_;
  ExecutionContext& context_;
};

bool lies_as(const BufferView& a, const BufferView& b) {
  for (int d = 0; d < a.rank; ++d) {
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

class Loop {
 public:
  Loop(const Plan& executed, const Plan& program, const Instruction& instruction,
       vm::Target& target, HostCalls& host, ExecutionContext& context)
      : result_(instruction.result),
        operands_(operands_of(*context.state().frame.plan, instruction)),
        body_(context.state().frame.plan->bodies[static_cast<size_t>(operands_[0].words[0])]),
        target_(target),
        host_(host),
        state_(context.state()),
        turns_(host, executed),
        context_(context, program),
        carried_(static_cast<size_t>(operands_[2].words[0])),
        results_(carried_) {
    counts_trips_ = context_.prepare(body_) != TripUse::nothing;
    read_operands();
  }

  ~Loop() {
    for (size_t k = 0; k < carried_; ++k) release(values_[k]);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Outcome run() {
    const auto counts = operands_[1].words;
    const bool counted = !counts.empty();
    const int64_t count = counted ? size(counts[0]) : 0;
    int64_t trips = 0;
    for (; !counted || trips < count; ++trips) {
      if (!host_.may_go_on()) return Outcome::host_error;
      const Outcome outcome = run_trip(trips);
      if (outcome == Outcome::left) break;
      if (outcome != Outcome::done) return outcome;
    }
    return give_results(trips);
  }

 private:
  int64_t size(int32_t i) const { return state_.size(i); }

  // What is carried has a reference from here on.
  void read_operands() {
    const auto given = operands_[3].words, places = operands_[4].words;
    numbers_.push_back(core::Scalar::of_int(0));
    for (size_t k = 0; k < given.size(); ++k) {
      values_.push_back(state_.buffer(given[k]));
      const bool is_number = std::ranges::find(places, static_cast<int32_t>(k)) != places.end();
      const auto to = static_cast<int>(is_number ? numbers_.size() : arrays_.size());
      places_.push_back({is_number, to});
      is_number ? numbers_.push_back(number_in(values_[k])) : arrays_.push_back(values_[k]);
      if (k < carried_) turns_.retain(values_[k].owner);
    }
    for (const int32_t i : operands_[5].words) numbers_.push_back(core::Scalar::of_int(size(i)));
  }

  Outcome run_trip(int64_t trip) {
    if (counts_trips_) numbers_[0] = core::Scalar::of_int(trip);
    for (size_t k = 0; k < carried_; ++k) {
      if (!make_ours(k)) return Outcome::host_error;
    }
    const Outcome outcome = context_.run(body_, target_, turns_, arrays_, numbers_, results_);
    if (outcome != Outcome::done && outcome != Outcome::left) return outcome;
    for (size_t k = 0; k < carried_; ++k) carry(k, results_[k]);
    return outcome;
  }

  // A body that writes to what it carries is given memory that nobody else has.
  bool make_ours(size_t k) {
    const auto [is_number, to] = places_[k];
    if (is_number || !body_.inputs[static_cast<size_t>(to)].ours || turns_.is_alone(values_[k])) {
      return true;
    }
    const BufferView from = values_[k];
    BufferView copy;
    const auto rank = static_cast<size_t>(from.rank);
    if (!turns_.allocate(from.dtype, {from.shape, rank}, copy)) return false;
    if (lies_as(from, copy)) {
      std::memcpy(copy.data, from.data, static_cast<size_t>(bytes_of(from).high));
    } else {
      copy_dense(from, from.data, 0, copy.data);
    }
    carry(k, copy);
    return true;
  }

  // In place of what was carried before, whose reference ends.
  void carry(size_t k, const BufferView& value) {
    const auto [is_number, to] = places_[k];
    release(values_[k]);
    values_[k] = value;
    if (is_number) {
      numbers_[static_cast<size_t>(to)] = number_in(value);
    } else {
      arrays_[static_cast<size_t>(to)] = value;
    }
  }

  void release(const BufferView& value) { turns_.release(value.owner); }

  Outcome give_results(int64_t trips) {
    BufferView number;
    if (!host_.allocate_within(core::DType::i64, {}, number)) return Outcome::host_error;
    std::memcpy(number.data, &trips, sizeof trips);
    state_.define(result_, number, {.kind = Ownership::Kind::host});
    for (size_t k = 0; k < carried_; ++k) {
      turns_.give(values_[k].owner);
      state_.define(result_ + 1 + static_cast<int32_t>(k), values_[k],
                    {.kind = Ownership::Kind::host});
    }
    return Outcome::done;
  }

  struct Place {
    bool is_number;
    int at;  // in numbers_ or arrays_
  };

  const int32_t result_;
  const std::vector<Operand> operands_;
  const Plan& body_;
  vm::Target& target_;
  HostCalls& host_;
  ExecutionContext::State& state_;
  Turns turns_;
  BodyContext context_;
  const size_t carried_;
  std::vector<BufferView> results_;
  bool counts_trips_ = false;
  std::vector<BufferView> values_;  // of all operands, the carried first
  std::vector<Place> places_;       // of each, among the arguments of a trip
  std::vector<BufferView> arrays_;
  std::vector<core::Scalar> numbers_;  // the number of the trip first
};

}  // namespace

Outcome run_loop(const Plan& executed, const Plan& program, const Instruction& instruction,
                 vm::Target& target, HostCalls& host, ExecutionContext& context) {
  return Loop(executed, program, instruction, target, host, context).run();
}

}  // namespace dvm::runtime
