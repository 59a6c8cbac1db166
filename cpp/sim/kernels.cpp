#include "sim/kernels.h"

#include <algorithm>
#include <span>
#include <type_traits>

#include "core/ops/fp_flags.h"
#include "core/ops/reduce.h"
#include "core/ops/reductions.h"
#include "sim/product.h"
#include "sim/view_runs.h"
#include "vm/run/plain_attention.h"
#include "vm/run/plain_kernel.h"

namespace dvm::sim {

namespace {

namespace scalar = core::scalar;
using core::DType;
using core::Storage;
using vm::Insn;
using vm::PlainSource;
using vm::TileArgs;

template <typename T>
T* destination(const TileArgs& args) {
  return reinterpret_cast<T*>(args.dst);
}

template <DType D>
void compare_kernel(const TileArgs& args) noexcept {
  const PlainSource<Storage<D>> a(args, 0), b(args, 1);
  const auto loop = [&](auto op) {
    for (int64_t i = 0; i < args.size; ++i) destination<uint8_t>(args)[i] = op(a[i], b[i]);
  };
  switch (static_cast<vm::Compare>(args.aux)) {
#define DVM_COMPARE(name, op, numpy) \
  case vm::Compare::name:            \
    return loop(scalar::name{});
#include "core/ops/compare.def"
#undef DVM_COMPARE
  }
}

// A float that an integer dtype does not hold is invalid, whatever the result is.
template <DType To, DType From>
void raise_if_outside(Storage<From> x) {
  if constexpr (core::is_floating(From) && !core::is_floating(To) && To != DType::boolean) {
    const auto number = scalar::lift(x);
    using Range = scalar::Truncation<Storage<To>, std::remove_const_t<decltype(number)>>;
    if (!(number >= Range::kLow && number < Range::kEnd)) core::raise(core::kInvalid);
  }
}

template <DType D>
void cast_kernel(const TileArgs& args) noexcept {
  core::dispatch(static_cast<DType>(args.aux), [&]<DType From>() {
    const PlainSource<Storage<From>> a(args, 0);
    for (int64_t i = 0; i < args.size; ++i) {
      raise_if_outside<D, From>(a[i]);
      destination<Storage<D>>(args)[i] = scalar::cast<Storage<D>>(a[i]);
    }
  });
}

template <DType D>
void select_kernel(const TileArgs& args) noexcept {
  const PlainSource<uint8_t> c(args, 0);
  const PlainSource<Storage<D>> a(args, 1), b(args, 2);
  for (int64_t i = 0; i < args.size; ++i) {
    destination<Storage<D>>(args)[i] = scalar::select{}(c[i], a[i], b[i]);
  }
}

template <DType D>
void copy_kernel(const TileArgs& args) noexcept {
  const PlainSource<Storage<D>> a(args, 0);
  auto* const dst = destination<Storage<D>>(args);
  if (a.step == 0) {
    std::fill_n(dst, args.size, a[0]);
  } else if (dst != a.data) {
    std::copy_n(a.data, args.size, dst);
  }
}

std::span<const vm::ViewDim> view_dims(const TileArgs& args) { return {args.dims, args.aux}; }

template <DType D>
void view_load_kernel(const TileArgs& args) noexcept {
  using T = Storage<D>;
  for_each_view_run(view_dims(args), sizeof(T), [&](int64_t dense, int64_t strided, int64_t count) {
    std::copy_n(reinterpret_cast<const T*>(args.src[0] + strided), count,
                destination<T>(args) + dense);
  });
}

template <DType D>
void view_store_kernel(const TileArgs& args) noexcept {
  using T = Storage<D>;
  for_each_view_run(view_dims(args), sizeof(T), [&](int64_t dense, int64_t strided, int64_t count) {
    std::copy_n(reinterpret_cast<const T*>(args.src[0]) + dense, count,
                reinterpret_cast<T*>(args.dst + strided));
  });
}

template <DType D>
void broadcast_kernel(const TileArgs& args) noexcept {
  const PlainSource<Storage<D>> a(args, 0);
  auto* dst = destination<Storage<D>>(args);
  for (int64_t m = 0; m < args.m; ++m) {
    for (int64_t i = 0; i < args.size; ++i) {
      for (int64_t n = 0; n < args.n; ++n) *dst++ = a[m * args.n + n];
    }
  }
}

// reduce(count, adjacent, load) for every output element.
template <DType D, typename Reduce>
void for_each_output(const TileArgs& args, Reduce reduce) {
  const auto* src = reinterpret_cast<const Storage<D>*>(args.src[0]);
  const bool adjacent = args.aux == static_cast<uint8_t>(vm::ReduceOrder::lanes);
  for (int64_t m = 0; m < args.m; ++m) {
    for (int64_t n = 0; n < args.n; ++n) {
      const auto load = [&](int64_t i) { return src[(m * args.size + i) * args.n + n]; };
      destination<Storage<D>>(args)[m * args.n + n] = reduce(args.size, adjacent, load);
    }
  }
}

template <DType D>
void fill(vm::KernelTable& table) {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...) \
  table.entry(Insn::name, D) =                            \
      vm::plain_kernel<scalar::name, D, arity, core::OperandRule::dtypes>();
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
  table.entry(Insn::load, D) = copy_kernel<D>;
  table.entry(Insn::store, D) = copy_kernel<D>;
  table.entry(Insn::copy, D) = copy_kernel<D>;
  table.entry(Insn::view_load, D) = view_load_kernel<D>;
  table.entry(Insn::view_store, D) = view_store_kernel<D>;
  table.entry(Insn::broadcast, D) = broadcast_kernel<D>;
  table.entry(Insn::cmp, D) = compare_kernel<D>;
  table.entry(Insn::cast, D) = cast_kernel<D>;
  table.entry(Insn::select, D) = select_kernel<D>;
  table.entry(Insn::feed, D) = copy_kernel<D>;
  table.entry(Insn::gather, D) = vm::plain_gather<Storage<D>, vm::IndexPer::position>;
  table.entry(Insn::take_along, D) = vm::plain_gather<Storage<D>, vm::IndexPer::element>;
  table.entry(Insn::drain, D) = view_store_kernel<D>;
  vm::fill_plain_attention<D>(table);
  // Their scalar meanings have the names of the instructions.
#define DVM_REDUCE(name, insn, dtypes, ...)                                  \
  if constexpr (core::allows(core::ReduceDtypes::dtypes, D)) {               \
    table.entry(Insn::insn, D) = [](const TileArgs& args) noexcept {         \
      for_each_output<D>(args, [](int64_t count, bool adjacent, auto load) { \
        return scalar::insn<Storage<D>>(count, adjacent, load);              \
      });                                                                    \
    };                                                                       \
  }
#include "core/ops/reduce.def"
#undef DVM_REDUCE
}

}  // namespace

const vm::KernelTable& kernel_table() {
  static const vm::KernelTable table = [] {
    vm::KernelTable filled;
    for (int d = 0; d < core::kDTypeCount; ++d) {
      core::dispatch(static_cast<DType>(d), [&]<DType D>() { fill<D>(filled); });
    }
    fill_products(filled);
    return filled;
  }();
  return table;
}

}  // namespace dvm::sim
