// The plainest Core that runs a Program: one buffer as local memory, scalar_ops.h as kernels.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"
#include "core/ops/reductions.h"
#include "vm/isa/reduce_source.h"
#include "vm/run/interpreter.h"
#include "vm/run/plain_attention.h"
#include "vm/run/plain_kernel.h"
#include "vm/target/target.h"

namespace dvm::vm {

class PlainCore {
 public:
  static constexpr bool kFlags = false;
  explicit PlainCore(const Program& program) {
    const TargetTraits& target = *find_target(program.header().target);
    for (int s = 0; s < kSpaceCount; ++s) {
      local_[s].resize(static_cast<size_t>(target.memory(static_cast<Space>(s)).bytes));
    }
  }
  std::byte* local(Space space, uint32_t offset) {
    return local_[static_cast<size_t>(space)].data() + offset;
  }
  Fault fault = Fault::none;
  static std::byte* scratch() { return nullptr; }
  void begin(const Header&) {}
  void end(const Header&) {}
  void execute(const Instruction& insn, const TileArgs& args, const Tile&) {
    core::dispatch(insn.dtype, [&]<DType D>() { run<D>(insn, args); });
  }
  void execute_chain(const ChainArgs& args, const Tile& tile) {
    run_chain(args, [&](const Instruction& step, const TileArgs& step_args) {
      execute(step, step_args, tile);
    });
  }

 private:
  template <typename T>
  static T at(const TileArgs& args, int k, int64_t i) {
    T value;
    const bool scalar = (args.scalar_mask >> k & 1) != 0;
    std::memcpy(&value, args.src[k] + (scalar ? 0 : i) * static_cast<int64_t>(sizeof(T)),
                sizeof(T));
    return value;
  }
  template <typename T>
  static void put(const TileArgs& args, int64_t i, T value) {
    std::memcpy(args.dst + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }

  // Calls f(dense index, byte offset in the view).
  template <typename F>
  static void walk(const ViewDim* dims, int count, int64_t& index, int64_t offset, F f) {
    if (count == 0) return f(index++, offset);
    for (int64_t i = 0; i < dims->extent; ++i) {
      walk(dims + 1, count - 1, index, offset + i * dims->stride, f);
    }
  }

  template <DType D>
  static void run(const Instruction& insn, const TileArgs& args) {
    using T = core::Storage<D>;
    namespace op = core::scalar;
    const int64_t bytes = sizeof(T);
    int64_t dense = 0;
    switch (insn.insn) {
      case Insn::load:
      case Insn::store:
        std::memcpy(args.dst, args.src[0], static_cast<size_t>(args.size * bytes));
        return;
      case Insn::view_load:
        return walk(args.dims, insn.aux, dense, 0, [&](int64_t i, int64_t offset) {
          std::memcpy(args.dst + i * bytes, args.src[0] + offset, sizeof(T));
        });
      case Insn::view_store:
      case Insn::drain:
        return walk(args.dims, insn.aux, dense, 0, [&](int64_t i, int64_t offset) {
          std::memcpy(args.dst + offset, args.src[0] + i * bytes, sizeof(T));
        });
      case Insn::copy:
        for (int64_t i = 0; i < args.size; ++i) put(args, i, at<T>(args, 0, i));
        return;
      case Insn::broadcast:
        for (int64_t i = 0; i < args.m * args.size * args.n; ++i) {
          put(args, i, at<T>(args, 0, i / args.n / args.size * args.n + i % args.n));
        }
        return;
#define DVM_APPLY_1(f) f(at<T>(args, 0, i))
#define DVM_APPLY_2(f) f(at<T>(args, 0, i), at<T>(args, 1, i))
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                                  \
  case Insn::name:                                                                         \
    if constexpr (core::allows(core::OperandRule::dtypes, D)) {                            \
      for (int64_t i = 0; i < args.size; ++i) put(args, i, DVM_APPLY_##arity(op::name{})); \
    }                                                                                      \
    return;
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
      case Insn::cmp:
        for (int64_t i = 0; i < args.size; ++i) {
          switch (static_cast<Compare>(args.aux)) {
#define DVM_COMPARE(name, symbol, numpy)                 \
  case Compare::name:                                    \
    put(args, i, uint8_t{DVM_APPLY_2(op::name{}) != 0}); \
    break;
#include "core/ops/compare.def"
#undef DVM_COMPARE
          }
        }
        return;
      case Insn::cast:
        core::dispatch(static_cast<DType>(args.aux), [&]<DType From>() {
          for (int64_t i = 0; i < args.size; ++i) {
            put(args, i, op::cast<T>(at<core::Storage<From>>(args, 0, i)));
          }
        });
        return;
      case Insn::select:
        for (int64_t i = 0; i < args.size; ++i) {
          put(args, i, at<uint8_t>(args, 0, i) != 0 ? at<T>(args, 1, i) : at<T>(args, 2, i));
        }
        return;
      case Insn::chain:
      case Insn::loop:
        return;  // execute_chain, run_tiles
      case Insn::feed:
        std::memcpy(args.dst, args.src[0], static_cast<size_t>(args.size * bytes));
        return;
      case Insn::gather:
        return plain_gather<T, IndexPer::position>(args);
      case Insn::take_along:
        return plain_gather<T, IndexPer::element>(args);
      case Insn::matmul:
        if constexpr (D != DType::boolean) plain_matmul<D>(args);
        return;
      case Insn::attend:
      case Insn::attend_masked:
      case Insn::attend_biased: {
        KernelTable table;
        fill_plain_attention<D>(table);
        table(insn)(args);
        return;
      }
      case Insn::sum:
      case Insn::prod:
      case Insn::max:
      case Insn::min:
      case Insn::nanmax:
      case Insn::nanmin:
        for (int64_t i = 0; i < args.m * args.n; ++i) {
          const auto load = [&](int64_t k) {
            return core::dispatch(reduced_dtype(D, args.aux), [&]<DType From>() {
              using Source = core::Storage<From>;
              const int64_t row = i / args.n * args.size + k, column = i % args.n;
              const auto width = static_cast<int64_t>(sizeof(Source));
              const int64_t step = args.row_stride.value_or(args.n * width) / width;
              return op::cast<T>(at<Source>(args, 0, row * step + column));
            });
          };
          const bool lanes = reduce_order(args.aux) == ReduceOrder::lanes;
          DVM_CHECK(!lanes || args.n == 1, "lanes are for adjacent elements");
#define DVM_REDUCE(name, reduction, dtypes, ...)                                              \
  if constexpr (core::allows(core::ReduceDtypes::dtypes, D)) {                                \
    if (insn.insn == Insn::reduction) put(args, i, op::reduction<T>(args.size, lanes, load)); \
  }
#include "core/ops/reduce.def"
#undef DVM_REDUCE
        }
        return;
    }
  }
#undef DVM_APPLY_1
#undef DVM_APPLY_2

  std::vector<std::byte> local_[kSpaceCount];
};

}  // namespace dvm::vm
