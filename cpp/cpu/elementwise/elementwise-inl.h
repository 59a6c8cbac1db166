// Loops of the rows of tile_ops.h, for one SIMD level: per op, dtype and choice of scalar operands.
// Included inside no namespace by files that for_each_level.h compiles, once per level.
#if defined(DVM_CPU_ELEMENTWISE) == defined(HWY_TARGET_TOGGLE)
#ifdef DVM_CPU_ELEMENTWISE
#undef DVM_CPU_ELEMENTWISE
#else
#define DVM_CPU_ELEMENTWISE
#endif

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/ops/elementwise.h"
#include "cpu/elementwise/answers-inl.h"
#include "cpu/elementwise/same_bits.h"
#include "cpu/elementwise/tile_ops.h"
#include "cpu/move/cache_lines.h"
#include "cpu/move/elements.h"
#include "hwy/highway.h"
#include "vm/run/tile_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace dvm::cpu::HWY_NAMESPACE {

using core::FpFlags;
using vm::Insn;
using vm::KernelTable;
using vm::TileArgs;

using Arithmetic = std::conditional_t<HWY_NATIVE_FMA != 0, core::math::Fused, core::math::Separate>;

// Loops are not inlined, so that the flags which are dropped after a quiet one are its own.
//
// The result's dtype may differ from the operands' (comparisons), hence two element types.
template <DType D, DType Result, bool kScalarA, bool kScalarB, typename Apply>
[[gnu::noinline]] void binary_part(const TileArgs& args, Apply apply) {
  using T = typename Element<D>::Storage;
  const Source<D, kScalarA> a(args.src[0]);
  const Source<D, kScalarB> b(args.src[1]);
  auto* dst = reinterpret_cast<typename Element<Result>::Storage*>(args.dst);
  const int64_t size = args.size;
  int64_t done = 0;
  if constexpr (Result == DType::boolean) {
    done = answer<Apply, kScalarA, kScalarB>(reinterpret_cast<const T*>(args.src[0]),
                                             reinterpret_cast<const T*>(args.src[1]), dst, size);
  }
  DVM_INDEPENDENT
  for (int64_t i = done; i < size; ++i) dst[i] = Element<Result>::store(apply(a[i], b[i]));
}
template <DType D, DType Result, bool kScalarA, bool kScalarB, typename Apply>
void binary_loop(const TileArgs& args, Apply apply) {
  in_cache_lines<2, typename Element<Result>::Storage, typename Element<D>::Storage>(
      args, [&](const TileArgs& part) { binary_part<D, Result, kScalarA, kScalarB>(part, apply); });
}

inline TileArgs swapped(TileArgs args) {
  std::swap(args.src[0], args.src[1]);
  args.scalar_mask = static_cast<uint8_t>((args.scalar_mask & 1) << 1 | args.scalar_mask >> 1);
  return args;
}

// One element, repeated: compiled once for all ops.
template <typename Storage>
[[gnu::noinline]] void repeat_first(const TileArgs& args) {
  auto* dst = reinterpret_cast<Storage*>(args.dst);
  std::fill_n(dst + 1, args.size - 1, *dst);
}

template <DType D, DType Result, bool kCommutes, typename Apply>
void binary(const TileArgs& args, Apply apply) {
  switch (args.scalar_mask) {
    case 0:
      return binary_loop<D, Result, false, false>(args, apply);
    case 1:
      if constexpr (kCommutes) {
        return binary_loop<D, Result, false, true>(swapped(args), apply);
      } else {
        return binary_loop<D, Result, true, false>(args, apply);
      }
    case 2:
      return binary_loop<D, Result, false, true>(args, apply);
    default: {
      TileArgs one = args;
      one.size = 1;
      binary_loop<D, Result, false, true>(one, apply);
      repeat_first<typename Element<Result>::Storage>(args);
    }
  }
}

template <typename Op, DType D, DType Result>
[[gnu::noinline]] void unary_part(const TileArgs& args) {
  using T = typename Element<D>::Storage;
  const Source<D, false> a(args.src[0]);
  auto* dst = reinterpret_cast<typename Element<Result>::Storage*>(args.dst);
  const int64_t size = args.size;
  int64_t done = 0;
  if constexpr (Result == DType::boolean) {
    const auto* x = reinterpret_cast<const T*>(args.src[0]);
    done = answer<Op, false, true>(x, x, dst, size);
  }
  DVM_INDEPENDENT
  for (int64_t i = done; i < size; ++i) dst[i] = Element<Result>::store(Op::apply(a[i], a[i]));
}
template <typename Op, DType D, DType Result>
void unary_loop(const TileArgs& args) {
  in_cache_lines<1, typename Element<Result>::Storage, typename Element<D>::Storage>(
      args, unary_part<Op, D, Result>);
}

// A scalar operand makes one element, repeated.
template <DType Result, typename Loop>
void unary(const TileArgs& args, Loop loop) {
  if (!args.scalar_mask) return loop(args);
  TileArgs one = args;
  one.size = 1;
  loop(one);
  repeat_first<typename Element<Result>::Storage>(args);
}

// Runs and puts the flags back where that is asked for.
template <bool kQuiet, typename Run>
void finish(Run run) {
  if constexpr (kQuiet) {
    const core::KeepFpFlags keep;
    run();
  } else {
    run();
  }
}

template <typename Op, DType D, DType Result>
void unary_kernel(const TileArgs& args) noexcept {
  finish<Op::kQuiet && core::is_floating(D)>(
      [&] { unary<Result>(args, unary_loop<Op, D, Result>); });
}

template <typename Op, DType D, DType Result>
void binary_kernel(const TileArgs& args) noexcept {
  // A square reads its operand once.
  if constexpr (std::is_same_v<Op, tile_ops::mul> && D != DType::boolean) {
    if (args.src[0] == args.src[1]) return unary_kernel<tile_ops::square, D, Result>(args);
  }
  constexpr bool kCommutes = !core::is_floating(D) && tile_ops::kCommutes<Op>;
  finish<Op::kQuiet && core::is_floating(D)>(
      [&] { binary<D, Result, kCommutes>(args, [](auto a, auto b) { return Op::apply(a, b); }); });
}

template <DType D>
void compare_kernel(const TileArgs& args) noexcept {
  constexpr DType kBits = unsigned_of(D);
  finish<core::is_floating(D)>([&] {
    switch (static_cast<vm::Compare>(args.aux)) {
      case vm::Compare::eq:
        return binary<kBits, DType::boolean, true>(args, std::equal_to<>{});
      case vm::Compare::ne:
        return binary<kBits, DType::boolean, true>(args, std::not_equal_to<>{});
      case vm::Compare::lt:
        return binary<D, DType::boolean, false>(args, std::less<>{});
      case vm::Compare::le:
        return binary<D, DType::boolean, false>(args, std::less_equal<>{});
      case vm::Compare::gt:
        return binary<D, DType::boolean, false>(swapped(args), std::less<>{});
      case vm::Compare::ge:
        return binary<D, DType::boolean, false>(swapped(args), std::less_equal<>{});
    }
    __builtin_unreachable();
  });
}

template <typename Op, DType D, int kArity, core::OperandRule kOperands, core::ResultRule kResult>
void fill_row(vm::TileKernel& entry) {
  if constexpr (tile_ops::Written<Op> && !tile_ops::Function<Op> && core::allows(kOperands, D)) {
    using Same = SameBits<Op, D>;
    constexpr DType kOperand = Same::kDType;
    constexpr DType kStored = kResult == core::ResultRule::boolean ? DType::boolean : kOperand;
    if constexpr (kArity == 1) {
      entry = unary_kernel<typename Same::Op, kOperand, kStored>;
    } else {
      entry = binary_kernel<typename Same::Op, kOperand, kStored>;
    }
  }
}

template <DType D>
void fill_rows(KernelTable& table) {
#define DVM_ELEMENTWISE(name, arity, dtypes, result, ...)                                  \
  fill_row<tile_ops::name, D, arity, core::OperandRule::dtypes, core::ResultRule::result>( \
      table.entry(Insn::name, D));
#include "core/ops/elementwise.def"
#undef DVM_ELEMENTWISE
  table.entry(Insn::cmp, D) = compare_kernel<D>;
}

}  // namespace dvm::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
