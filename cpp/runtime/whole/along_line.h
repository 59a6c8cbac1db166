// Folds and scans of one line by itself: every step combines what is there with an element and
// waits for the step before, so that what counts is how long a step takes until the next can begin.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/math/basis.h"
#include "core/ops/fp_flags.h"
#include "core/ops/scalar_ops.h"
#include "runtime/whole/walk.h"

namespace dvm::runtime {

// What only combines bits does so in any order, and four vectors at a time.
template <typename T, typename Combine>
inline constexpr bool kOfBits = sizeof(T) > 1 && std::is_integral_v<T> &&
                                (std::is_same_v<Combine, core::scalar::bitwise_and> ||
                                 std::is_same_v<Combine, core::scalar::bitwise_or> ||
                                 std::is_same_v<Combine, core::scalar::bitwise_xor>);
template <typename T, typename Combine>
T fold_bits(T total, const T* line, int64_t count, Combine combine) {
  using Vector [[gnu::vector_size(16)]] = uint64_t;
  constexpr int64_t kEach = sizeof(Vector) / sizeof(T), kAll = 4 * kEach;
  const auto load = [](const T* from) {
    Vector v;
    std::memcpy(&v, from, sizeof(v));
    return v;
  };
  const auto both = [](Vector x, Vector y) {
    if constexpr (std::is_same_v<Combine, core::scalar::bitwise_and>) return x & y;
    if constexpr (std::is_same_v<Combine, core::scalar::bitwise_or>) return x | y;
    return x ^ y;
  };
  int64_t i = 0;
  if (count >= kAll) {
    Vector a = load(line), b = load(line + kEach), c = load(line + 2 * kEach),
           d = load(line + 3 * kEach);
    for (i = kAll; i + kAll <= count; i += kAll) {
      a = both(a, load(line + i));
      b = both(b, load(line + i + kEach));
      c = both(c, load(line + i + 2 * kEach));
      d = both(d, load(line + i + 3 * kEach));
    }
    const Vector all = both(both(a, b), both(c, d));
    T parts[kEach];
    std::memcpy(parts, &all, sizeof(parts));
    for (const T part : parts) total = combine(total, part);
  }
  for (; i < count; ++i) total = combine(total, line[i]);
  return total;
}

// What goes round stays in a register, and of whole numbers folded the compiler keeps several.
template <typename T, typename Combine>
void step_by_step(const Lines& lines, const std::byte* x, std::byte* y, Combine combine) {
  T total = element<T>(y, 0);
  const int64_t count = lines.count;
  if (lines.to == 0 && lines.from == sizeof(T)) {
    const T* line = &element<T>(x, 0);
    if constexpr (kOfBits<T, Combine>) {
      total = fold_bits(total, line, count, combine);
    } else {
      for (int64_t i = 0; i < count; ++i) total = combine(total, line[i]);
    }
    element<T>(y, 0) = total;
    return;
  }
  if (lines.to == sizeof(T) && lines.from == sizeof(T)) {
    const T* line = &element<T>(x, 0);
    T* out = &element<T>(y, 0);
    DVM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) out[i + 1] = total = combine(total, line[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    total = combine(total, element<T>(x, i * lines.from));
    element<T>(y, (i + 1) * lines.to) = total;
  }
}

// Steps that ask, of every element, for flags or for a rounding by hand are made in blocks instead:
// quickly, only gathering whether one of them needs more, and then again as they are written.
namespace quick {

namespace math = core::math;
namespace scalar = core::scalar;

constexpr int64_t kBlock = 128;

template <typename Combine>
concept Function = requires {
  typename Combine::Signs;
};
template <typename Combine, typename... Any>
inline constexpr bool kIsOneOf = (std::is_same_v<Combine, Any> || ...);
template <typename T, typename Combine>
inline constexpr bool kMakes =
    core::AnyHalf<T>
        ? Function<Combine> || kIsOneOf<Combine, scalar::add, scalar::sub, scalar::mul, scalar::div>
        : Function<Combine>&& std::is_floating_point_v<T>;

// How elements go round. The sign of `hard` says that one needs more.
template <typename T>
struct Element {
  using Going = T;
  static T load(T x, math::Bits<T>&) { return x; }
  static T round(T x, math::Bits<T>&) { return x; }
  static T store(T x) { return x; }
};
// Floats that are halves: finite ones that are not subnormal, but for those that are loaded.
template <core::AnyHalf H>
struct Element<H> {
  using Going = float;
  static constexpr int kDropped = H::kDropped;
  static float load(H x, uint32_t& hard) {
    const uint32_t magnitude = x.bits & 0x7fffu;
    hard |= H::kInfinity - 1u - magnitude;
    constexpr float kScale = std::bit_cast<float>((127u << 23) + H::kRebase);
    const float size = math::from_bits<float>(magnitude << kDropped) * kScale;  // exact
    return math::from_bits<float>(math::to_bits(size) | uint32_t{x.bits & 0x8000u} << 16);
  }
  // To nearest, ties to even.
  static float round(float x, uint32_t& hard) {
    const uint32_t bits = math::to_bits(x), magnitude = bits & 0x7fffffffu;
    hard |= ((magnitude - H::kLeastNormal) & ~(magnitude - 1)) | (H::kOverflow - 1 - magnitude);
    constexpr uint32_t kLow = (1u << kDropped) - 1;
    return math::from_bits<float>((bits + kLow / 2 + (bits >> kDropped & 1)) & ~kLow);
  }
  static H store(float x) {
    const uint32_t bits = math::to_bits(x), magnitude = bits & 0x7fffffffu;
    const uint32_t rebased = magnitude == 0 ? 0 : magnitude - H::kRebase;
    return {static_cast<uint16_t>(rebased >> kDropped | (bits >> 16 & 0x8000u))};
  }
};

template <typename Combine, typename T>
T combine(T total, T x, core::math::Bits<T>& hard, auto& raised) {
  if constexpr (Function<Combine>) {
    using Signs = typename Combine::Signs;
    raised.note(total, x);
    if constexpr (math::HasHardArguments<Signs, T, T>) hard |= Signs::hard(total, x);
    return Combine::compute(total, x);
  } else {
    return Combine{}(total, x);
  }
}

struct NoSigns {
  using Signs = math::NoFlags;
};

// `results` are those after each step. What they raise; nothing where a step needs more.
template <typename T, typename Combine>
[[gnu::noinline]] bool steps(T first, const std::byte* x, int64_t from, int64_t count, T* results,
                             core::FpFlags& flags) {
  using E = Element<T>;
  using Going = typename E::Going;
  using Signs = typename std::conditional_t<Function<Combine>, Combine, NoSigns>::Signs;
  math::MathFlags<Signs, Going> raised;
  math::Bits<Going> hard = 0;
  Going total = E::load(first, hard);
  for (int64_t i = 0; i < count; ++i) {
    const Going next = E::load(element<T>(x, i * from), hard);
    total = E::round(combine<Combine>(total, next, hard, raised), hard);
    results[i] = E::store(total);
  }
  flags = raised.flags();
  return !math::says_yes<Going>(hard);
}

}  // namespace quick

template <typename T, typename Combine>
void along(const Lines& lines, const std::byte* x, std::byte* y, Combine combine) {
  if constexpr (!quick::kMakes<T, Combine>) {
    step_by_step<T>(lines, x, y, combine);
  } else {
    const auto make = [](T first, const std::byte* at, int64_t from, int64_t count, T* results) {
      core::FpFlags flags = 0;
      bool made = false;
      {
        const core::WatchFpFlags watch;
        made = quick::steps<T, Combine>(first, at, from, count, results, flags);
        // Products of halves that have the exponents of floats may be too small for these, too.
        if constexpr (core::AnyHalf<T> && !quick::Function<Combine>) {
          made = made && (watch.raised() & core::kUnderflow) == 0;
        }
      }
      if (made) core::raise(flags);
      return made;
    };
    Lines block = lines;
    T results[quick::kBlock];
    for (int64_t left = lines.count; left > 0; left -= block.count) {
      block.count = std::min(quick::kBlock, left);
      if (!make(element<T>(y, 0), x, block.from, block.count, results)) {
        step_by_step<T>(block, x, y, combine);
      } else if (block.to == 0) {
        element<T>(y, 0) = results[block.count - 1];
      } else {
        for (int64_t i = 0; i < block.count; ++i) element<T>(y, (i + 1) * block.to) = results[i];
      }
      x += block.count * block.from;
      y += block.count * block.to;
    }
  }
}

}  // namespace dvm::runtime
