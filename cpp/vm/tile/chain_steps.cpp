#include "vm/tile/chain_steps.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "core/ops/sum_order.h"

namespace dvm::vm {

namespace {

// What targets have fast bodies for: a step that is none ends a chain.
using InsnSet = std::array<bool, kInsnCount>;
constexpr InsnSet set_of(std::initializer_list<Insn> insns) {
  InsnSet set{};
  for (const Insn insn : insns) set[static_cast<size_t>(insn)] = true;
  return set;
}
constexpr InsnSet kOfFloats = set_of(
    {Insn::add,   Insn::sub,      Insn::mul,   Insn::div,        Insn::maximum, Insn::minimum,
     Insn::neg,   Insn::abs,      Insn::fabs,  Insn::positive,   Insn::sqrt,    Insn::square,
     Insn::floor, Insn::ceil,     Insn::trunc, Insn::rint,       Insn::copy,    Insn::cmp,
     Insn::isnan, Insn::isfinite, Insn::isinf, Insn::reciprocal, Insn::select,  Insn::exp,
     Insn::tanh,  Insn::signbit,  Insn::expm1, Insn::exp2,       Insn::log,     Insn::log1p,
     Insn::log2,  Insn::log10,    Insn::sin,   Insn::cos,        Insn::erf,     Insn::fmax,
     Insn::fmin,  Insn::copysign, Insn::sign,  Insn::deg2rad,    Insn::rad2deg});
// Those that are long enough to be a chain by themselves: in registers the computations of several
// vectors overlap.
constexpr InsnSet kAlone =
    set_of({Insn::exp, Insn::exp2, Insn::expm1, Insn::log, Insn::log1p, Insn::log2, Insn::log10,
            Insn::tanh, Insn::sin, Insn::cos, Insn::erf});
constexpr InsnSet kOfIntegers =
    set_of({Insn::add,    Insn::sub,    Insn::mul,         Insn::maximum,    Insn::minimum,
            Insn::neg,    Insn::abs,    Insn::positive,    Insn::square,     Insn::copy,
            Insn::cmp,    Insn::select, Insn::bitwise_and, Insn::bitwise_or, Insn::bitwise_xor,
            Insn::invert, Insn::fmax,   Insn::fmin,        Insn::left_shift, Insn::right_shift});
constexpr InsnSet kOfBools =
    set_of({Insn::add, Insn::mul, Insn::maximum, Insn::minimum, Insn::logical_and, Insn::logical_or,
            Insn::logical_xor, Insn::logical_not, Insn::bitwise_and, Insn::bitwise_or,
            Insn::bitwise_xor, Insn::invert});

int8_t width_of_cast(DType to, DType from) {
  const auto width = static_cast<int8_t>(std::max(core::byte_size(to), core::byte_size(from)));
  const auto wide = [&](DType d) { return is_wide(d) && core::byte_size(d) == width; };
  const auto narrow = [&](DType d) {
    return d == DType::u8 || (width == 4 ? core::is_half(d) : d == DType::f32 || d == DType::i32);
  };
  if (from == DType::boolean) return wide(to) ? width : kNoChain;
  if (to == DType::boolean) return wide(from) ? width : kNoChain;
  if (wide(to)) return wide(from) || narrow(from) ? width : kNoChain;
  // Floats become narrow integers by way of i32, and integers narrow floats in one rounding.
  const bool by_way = core::is_floating(from) != core::is_floating(to);
  const bool works = !by_way || (from == DType::f32 && to == DType::u8);
  return wide(from) && narrow(to) && works ? width : kNoChain;
}

}  // namespace

bool is_wide(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
}

int8_t chain_width(const Stage& stage, const KernelStep& step) {
  const auto within = [&](const InsnSet& set) { return set[static_cast<size_t>(step.insn)]; };
  for (int k = 0; k < step.arity; ++k) {
    const StageValue& source = stage.values[step.src[k]];
    const bool narrow = !is_wide(source.dtype);
    if (narrow && source.kind == StageValue::Kind::scalar) return kNoChain;
  }
  if (step.insn == Insn::cast) return width_of_cast(step.dtype, static_cast<DType>(step.aux));
  const auto width = static_cast<int8_t>(core::byte_size(step.dtype));
  switch (step.dtype) {
    case DType::boolean:
      return within(kOfBools) ? kAnyWidth : kNoChain;
    case DType::i32:
    case DType::i64:
      return within(kOfIntegers) ? width : kNoChain;
    case DType::f32:
    case DType::f64:
      return within(kOfFloats) ? width : kNoChain;
    default:
      return kNoChain;
  }
}

bool is_chain_alone(Insn insn) { return kAlone[static_cast<size_t>(insn)]; }

bool sums_rows(const Stage& stage, const KernelStep& step, int width) {
  return step.insn == Insn::sum && stage.reduce_end == stage.rank &&
         step.aux == static_cast<uint8_t>(ReduceOrder::lanes) &&
         (step.dtype == DType::f32 || step.dtype == DType::f64) &&
         core::byte_size(step.dtype) == width;
}

bool sums_long_rows(const Stage& stage, const KernelStep& step) {
  constexpr int64_t kLong = 4 * core::kSumLanes;
  return sums_rows(stage, step, core::byte_size(step.dtype)) && stage.reduced_elements() >= kLong;
}

}  // namespace dvm::vm
