#include "runtime/execute/calls.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/execute/size_math.h"
#include "runtime/functions/own_functions.h"
#include "runtime/whole/walk.h"
#include "vm/target/watch.h"

namespace dvm::runtime {

namespace {

using State = ExecutionContext::State;

// The operands as they stand in the pool: one list after the other.
class Words {
 public:
  explicit Words(const int32_t* at) : at_(at) {}
  int32_t one() { return *at_++; }
  std::span<const int32_t> list() {
    const auto count = static_cast<size_t>(one());
    const std::span<const int32_t> items(at_, count);
    at_ += count;
    return items;
  }

 private:
  const int32_t* at_;
};

// What both kinds of calls begin with.
HostCall given(Words& words, const Plan& executed, State& state) {
  const Plan& plan = *state.frame.plan;
  const int32_t callee = words.one();
  const std::string& name = plan.callees[static_cast<size_t>(callee)];
  state.call_arrays.clear();
  for (const int32_t b : words.list()) {
    state.call_arrays.push_back(state.buffer(b));
  }
  state.call_sizes.clear();
  for (const int32_t i : words.list()) {
    state.call_sizes.push_back(state.size(i));
  }
  state.call_numbers.clear();
  for (const int32_t s : words.list()) {
    state.call_numbers.push_back({plan.scalars[static_cast<size_t>(s)], state.scalar_argument(s)});
  }
  const auto known = &plan == &executed
                         ? callee
                         : std::ranges::find(executed.callees, name) - executed.callees.begin();
  return {static_cast<int>(known), name, state.call_arrays, state.call_sizes, state.call_numbers};
}

// Results of a host function until a register has them: whatever ends the call, none is lost.
class Results {
 public:
  Results(std::vector<BufferView>& views, size_t count, HostCalls& host)
      : views_(views), host_(host) {
    views_.assign(count, {.rank = -1});
  }
  ~Results() {
    for (const BufferView& view : views_) {
      if (view.owner != nullptr) host_.release(view.owner);
    }
    views_.clear();
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  std::span<BufferView> views() { return views_; }
  BufferView& operator[](int32_t place) { return views_[static_cast<size_t>(place)]; }

 private:
  std::vector<BufferView>& views_;
  HostCalls& host_;
};

bool shares_memory(const BufferView& a, const BufferView& b) {
  const core::ByteRange x = bytes_of(a), y = bytes_of(b);
  return x.low != x.high && y.low != y.high && a.data + x.low < b.data + y.high &&
         b.data + y.low < a.data + x.high;
}

bool lies_in(std::span<const BufferView> arrays, const BufferView& result) {
  return std::ranges::any_of(arrays,
                             [&](const BufferView& array) { return shares_memory(array, result); });
}

// What a function made is new memory, unless it lies in an argument.
void tell_allocated(const HostCall& call, const BufferView& result) {
  vm::Watch* const watch = vm::Watch::current();
  if (watch == nullptr || lies_in(call.arrays, result)) [[likely]]
    return;
  const core::ByteRange made = bytes_of(result);
  watch->allocated(result.data + made.low, made.high - made.low);
}

bool is_dense(const BufferView& view) {
  BufferView dense = view;
  int64_t bytes = 0;
  if (!make_dense(dense, bytes)) return false;
  bool same = true;
  for (int d = 0; d < view.rank; ++d) {
    same &= view.shape[d] == 1 || view.strides[d] == dense.strides[d];
  }
  return same || bytes == 0;
}

// The same elements in a new array of the host's. False: it has an error pending.
bool copy_anew(BufferView& view, HostCalls& host) {
  const std::vector<int64_t> shape(view.shape, view.shape + view.rank);
  BufferView copy;
  if (!host.allocate(view.dtype, shape, copy)) return false;
  const auto bytes = static_cast<size_t>(core::byte_size(view.dtype));
  Walk walk;
  for (int d = 0; d < view.rank; ++d) walk.add(view.shape[d], view.strides[d], copy.strides[d]);
  walk.run([&](const int64_t* at) {
    std::memcpy(copy.data + at[1], view.data + at[0], bytes);
    return true;
  });
  host.release(std::exchange(view, copy).owner);
  return true;
}

}  // namespace

Outcome call_host(const Plan& executed, const Instruction& instruction, HostCalls& host,
                  State& state) {
  Words words(state.frame.plan->pool.data() + instruction.operands);
  const HostCall call = given(words, executed, state);
  Results results(state.call_results, static_cast<size_t>(words.one()), host);
  const auto places = words.list(), dtypes = words.list(), ranks = words.list();
  const auto is_expected = [&](size_t k, const BufferView& view) {
    return view.dtype == static_cast<core::DType>(dtypes[k]) && view.rank == ranks[k];
  };
  for (size_t k = 0; k < places.size(); ++k) {
    results[places[k]].dtype = static_cast<core::DType>(dtypes[k]);
    results[places[k]].rank = ranks[k];
  }
  const OwnFunction own = own_function(call.name);
  const bool is_made =
      own != nullptr ? own(call, results.views(), host) : host.call(call, results.views());
  if (!is_made) return Outcome::host_error;
  for (size_t k = 0; k < places.size(); ++k) {
    const BufferView& view = results[places[k]];
    if (view.owner == nullptr || !is_expected(k, view)) return Outcome::check_failed;
  }
  if (instruction.op == PlanOp::call_fresh) {
    // A function may have nothing to do, and give what it was given.
    for (size_t k = 0; k < places.size(); ++k) {
      BufferView& view = results[places[k]];
      const auto before = results.views().first(static_cast<size_t>(places[k]));
      const bool is_fresh = is_dense(view) && !lies_in(call.arrays, view) && !lies_in(before, view);
      if (!is_fresh && !copy_anew(view, host)) return Outcome::host_error;
    }
  }
  for (size_t k = 0; k < places.size(); ++k) {
    tell_allocated(call, results[places[k]]);
    state.define(instruction.result + static_cast<int32_t>(k), results[places[k]],
                 {.kind = Ownership::Kind::host});
    results[places[k]].owner = nullptr;
  }
  return Outcome::done;
}

Outcome call_host_into(const Plan& executed, const Instruction& instruction, HostCalls& host,
                       State& state) {
  Words words(state.frame.plan->pool.data() + instruction.operands);
  const HostCall call = given(words, executed, state);
  std::vector<BufferView>& into = state.call_results;
  into.clear();
  for (const int32_t b : words.list()) into.push_back(state.buffer(b));
  const bool done = host.call_into(call, into);
  into.clear();
  return done ? Outcome::done : Outcome::host_error;
}

namespace {

// "result 1" of "split", if an array is what a host function gave.
std::string result_of_call(const Plan& plan, int32_t array) {
  for (const Instruction& call : plan.code) {
    if (!is_call(call.op)) continue;
    const int32_t k = array - call.result;
    if (k < 0 || k >= result_count(plan, call)) continue;
    const std::vector<Operand> operands = operands_of(plan, call);
    return plan.callees[static_cast<size_t>(operands[0].words[0])] + " gave as result " +
           std::to_string(operands[5].words[static_cast<size_t>(k)]);
  }
  return {};
}

}  // namespace

std::optional<FailedCheck> failed_check(const Plan& plan, ExecutionContext& context) {
  const int32_t stopped_at = context.state().stopped_at;
  if (stopped_at < 0) return std::nullopt;
  const Instruction& check = plan.code[static_cast<size_t>(stopped_at)];
  if (check.op != PlanOp::check) return std::nullopt;
  const int32_t* const compared = plan.pool.data() + check.operands + 1;
  FailedCheck failed;
  failed.wanted = plan.notes[static_cast<size_t>(stopped_at)];
  for (const int32_t side : {compared[0], compared[1]}) {
    for (const Instruction& size : plan.code) {
      if (size.op != PlanOp::size || size.result != side) continue;
      const int32_t* const read = plan.pool.data() + size.operands;
      failed.axis = read[1];
      failed.size = context.state().sizes[static_cast<size_t>(side)];
      if (static_cast<size_t>(read[0]) < plan.inputs.size()) {
        failed.input = read[0];
        return failed;
      }
      failed.of_result = result_of_call(plan, read[0]);
      if (!failed.of_result.empty()) return failed;
    }
  }
  return failed;
}

std::optional<std::string> wrong_result(const Plan& plan, ExecutionContext& context) {
  const auto failed = failed_check(plan, context);
  if (!failed || failed->of_result.empty()) return std::nullopt;
  return failed->of_result + " an array of size " + std::to_string(failed->size) + " along axis " +
         std::to_string(failed->axis) + ", which by the graph " + failed->wanted;
}

}  // namespace dvm::runtime
