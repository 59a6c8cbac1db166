// Random Plans that keep every rule of verify(), from a seed alone.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/plan/plan.h"

namespace dvm::test {

using runtime::Plan;
using runtime::PlanBuilder;
using runtime::PlanOp;

inline runtime::PlanRegion make_region(size_t index, const std::string& body) {
  core::Region region{"r" + std::to_string(index),
                      core::parse_graph("graph v1 {\n" + body + "\n}\n")};
  vm::Kernel kernel = vm::prepare(region);
  return {std::move(region), std::move(kernel)};
}

class PlanGenerator {
 public:
  explicit PlanGenerator(uint64_t seed) : random_(seed), builder_(plan_) {}

  Plan run() {
    declare();
    for (int64_t n = below(25); n > 0; --n) grow();
    std::vector<int32_t> results;
    for (int64_t n = below(4); n > 0; --n) {
      const int32_t b = pick([](const Buffer& x) { return x.readable() && x.host; });
      if (b >= 0) results.push_back(b);
    }
    builder_.emit(PlanOp::ret, {results});
    return std::move(plan_);
  }

 private:
  struct Buffer {
    core::DType dtype;
    int rank;
    bool host, owned, written, freed = false;
    int32_t root;
    bool readable() const { return written && !freed; }
  };

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  core::DType dtype() { return static_cast<core::DType>(below(core::kDTypeCount)); }
  int32_t size() { return static_cast<int32_t>(below(plan_.sizes)); }
  std::vector<int32_t> sizes(int64_t count) {
    std::vector<int32_t> list;
    for (; count > 0; --count) list.push_back(size());
    return list;
  }
  std::string note() { return below(3) == 0 ? "s0*s1 + " + std::to_string(below(9)) : ""; }

  template <typename Filter>
  int32_t pick(Filter filter) {
    std::vector<int32_t> fitting;
    for (size_t b = 0; b < buffers_.size(); ++b) {
      if (filter(buffers_[b])) fitting.push_back(static_cast<int32_t>(b));
    }
    return fitting.empty() ? -1 : fitting[static_cast<size_t>(below(std::ssize(fitting)))];
  }

  void add(int32_t b, Buffer buffer) {
    if (buffer.root < 0) buffer.root = b;
    buffers_.push_back(buffer);
  }

  void declare() {
    for (int64_t n = below(4); n > 0; --n) {
      plan_.inputs.push_back({dtype(), static_cast<int>(below(core::kMaxRank + 1))});
      // Mostly what the Regions below can read.
      if (below(3) > 0) plan_.inputs.back() = {core::DType::f32, static_cast<int>(1 + below(2))};
      add(plan_.buffers++,
          {plan_.inputs.back().dtype, plan_.inputs.back().rank, true, false, true, false, -1});
    }
    for (int64_t n = below(3); n > 0; --n) declare_constant();
    for (int64_t n = below(3); n > 0; --n) {
      plan_.scalars.push_back(below(2) ? dtype() : core::DType::f32);
    }
    const std::vector<std::string> names = {"np.sort", "a \"b\"\n\\", "", "\xc3\xa9\x01"};
    for (int64_t n = below(4); n > 0; --n) {
      plan_.callees.push_back(names[static_cast<size_t>(below(std::ssize(names)))]);
    }
    const std::vector<std::string> bodies = {
        "%0 = input f32[s0]\n%1 = exp(%0) f32[s0]\nreturn %1",
        "%0 = input f32[s0, 4]\n%1 = scalar f32[]\n%2 = broadcast(%1) f32[s0, 4]\n"
        "%3 = add(%0, %2) f32[s0, 4]\n%4 = sum(%3) f32[1, 4] {axes = [0]}\nreturn %4",
        "%0 = scalar f64[]\n%1 = constant f64[] {value = 0x1p-1}\n%2 = mul(%0, %1) f64[]\n"
        "%3 = neg(%2) f64[] @ \"m}.py\":3\nreturn %2, %3"};
    for (int64_t n = below(4); n > 0; --n) {
      plan_.regions.push_back(make_region(plan_.regions.size(),
                                          bodies[static_cast<size_t>(below(std::ssize(bodies)))]));
    }
    builder_.literal(static_cast<int64_t>(random_()) >> below(64), note());
  }

  // Of the host's, or of elements that are 0 or 1 in every byte.
  void declare_constant() {
    core::Type type{dtype(), {}};
    std::vector<int64_t> shape;
    for (int64_t rank = below(4); rank > 0; --rank) {
      shape.push_back(below(4));
      type.shape.push_back(dims_->constant(shape.back()));
    }
    std::string name = below(2) ? "w\"\n" + std::to_string(below(9)) : "";
    core::Tensor values;
    if (name.empty()) {
      int64_t bytes = core::byte_size(type.dtype);
      for (const int64_t extent : shape) bytes *= extent;
      std::vector<std::byte> elements(static_cast<size_t>(bytes));
      for (std::byte& byte : elements) byte = static_cast<std::byte>(below(2));
      values = core::own_tensor(type.dtype, shape, elements);
    }
    const bool host = !name.empty();
    plan_.constants.push_back(runtime::make_constant(type, std::move(name), std::move(values)));
    add(plan_.buffers++, {type.dtype, type.rank(), host, false, true, false, -1});
  }

  void grow() {
    switch (below(12)) {
      case 0:
        builder_.literal(static_cast<int64_t>(random_()), note());
        return;
      case 1: {
        const int32_t b = pick([](const Buffer& x) { return !x.freed && x.rank > 0; });
        if (b < 0) return;
        builder_.emit(PlanOp::size, {b, static_cast<int32_t>(below(at(b).rank))}, note());
        return;
      }
      case 2:
      case 3: {
        const auto op = static_cast<PlanOp>(static_cast<int>(PlanOp::add) + below(8));
        builder_.emit(op, {size(), size()}, note());
        return;
      }
      case 4:
        builder_.emit(PlanOp::check, {static_cast<core::DimCmp>(below(6)), size(), size()}, note());
        return;
      case 5:
        allocate(dtype(), static_cast<int>(below(core::kMaxRank + 1)), below(2) == 0);
        return;
      case 6:
      case 7:
        view();
        return;
      case 8:
        call();
        return;
      case 9: {
        const int32_t b = pick([](const Buffer& x) { return x.owned && !x.freed; });
        if (b < 0) return;
        builder_.emit(PlanOp::free, {b});
        for (Buffer& buffer : buffers_) buffer.freed |= buffer.root == b;
        return;
      }
      default:
        run_region();
    }
  }

  Buffer& at(int32_t b) { return buffers_[static_cast<size_t>(b)]; }

  int32_t allocate(core::DType type, int rank, bool host) {
    const PlanOp op = host ? PlanOp::host_alloc : PlanOp::alloc;
    const int32_t b = builder_.emit(op, {type, sizes(rank)}, note());
    add(b, {type, rank, host, true, false, false, -1});
    return b;
  }

  void view() {
    const int32_t from = pick([](const Buffer& x) { return x.readable(); });
    if (from < 0) return;
    Buffer made = at(from);
    made.owned = false;
    int32_t b = -1;
    if (below(3) == 0) {
      std::vector<int32_t> axes;
      for (int32_t d = 0; d < made.rank; ++d) {
        axes.insert(axes.begin() + below(d + 1), d);
      }
      b = builder_.emit(PlanOp::transpose, {from, axes}, note());
    } else if (below(2) == 0) {
      made.rank = static_cast<int>(below(core::kMaxRank + 1));
      b = builder_.emit(PlanOp::reshape, {from, sizes(made.rank)}, note());
    } else {
      b = builder_.emit(PlanOp::slice, {from, sizes(made.rank), sizes(made.rank), sizes(made.rank)},
                        note());
    }
    buffers_.push_back(made);
    DVM_CHECK(b == std::ssize(buffers_) - 1, "registers run in step");
  }

  void call() {
    if (plan_.callees.empty()) return;
    std::vector<int32_t> arguments;
    for (int64_t n = below(3); n > 0; --n) {
      const int32_t b = pick([](const Buffer& x) { return x.readable() && x.host; });
      if (b >= 0) arguments.push_back(b);
    }
    const auto callee = static_cast<int32_t>(below(std::ssize(plan_.callees)));
    const std::vector<int32_t> given = sizes(below(3));
    std::vector<int32_t> scalars;
    for (size_t s = 0; s < plan_.scalars.size(); ++s) {
      if (below(2)) scalars.push_back(static_cast<int32_t>(s));
    }
    if (below(3) == 0) {
      std::vector<int32_t> into;
      for (int64_t n = below(3); n > 0; --n) {
        into.push_back(allocate(dtype(), static_cast<int>(below(3)), true));
        at(into.back()).written = true;
      }
      builder_.emit(PlanOp::call_into, {callee, arguments, given, scalars, into}, note());
      return;
    }
    const auto results = static_cast<int32_t>(1 + below(5));
    std::vector<int32_t> places, types, ranks;
    for (int32_t place = 0; place < results; ++place) {
      if (below(3) == 0 && place + 1 < results) continue;
      places.push_back(place);
      types.push_back(static_cast<int32_t>(dtype()));
      ranks.push_back(static_cast<int32_t>(below(core::kMaxRank + 1)));
    }
    int32_t b =
        builder_.emit(below(2) ? PlanOp::call : PlanOp::call_fresh,
                      {callee, arguments, given, scalars, results, places, types, ranks}, note());
    for (size_t k = 0; k < places.size(); ++k, ++b) {
      add(b, {static_cast<core::DType>(types[k]), ranks[k], true, true, true, false, -1});
    }
  }

  void run_region() {
    if (plan_.regions.empty()) return;
    const auto index = static_cast<int32_t>(below(std::ssize(plan_.regions)));
    const core::Region& region = plan_.regions[static_cast<size_t>(index)].region;
    const vm::Kernel& kernel = plan_.regions[static_cast<size_t>(index)].kernel;
    std::vector<int32_t> inputs, outputs, scalars;
    for (const core::Node& node : region.body.nodes()) {
      if (node.op == core::Op::input) {
        const int32_t b = pick([&](const Buffer& x) {
          return x.readable() && x.dtype == node.type.dtype && x.rank == node.type.rank();
        });
        if (b < 0) return;
        inputs.push_back(b);
      } else if (node.op == core::Op::scalar) {
        const auto found = std::find(plan_.scalars.begin(), plan_.scalars.end(), node.type.dtype);
        if (found == plan_.scalars.end()) return;
        scalars.push_back(static_cast<int32_t>(found - plan_.scalars.begin()));
      }
    }
    for (core::Value v : region.body.outputs) {
      const core::Type& type = region.body.type(v);
      outputs.push_back(allocate(type.dtype, type.rank(), below(2) == 0));
      at(outputs.back()).written = true;
    }
    builder_.emit(PlanOp::run, {index, inputs, outputs, sizes(std::ssize(kernel.dims)), scalars},
                  note());
  }

  std::mt19937_64 random_;
  Plan plan_;
  PlanBuilder builder_;
  const std::shared_ptr<core::DimContext> dims_ = core::DimContext::create();
  std::vector<Buffer> buffers_;
};

}  // namespace dvm::test
