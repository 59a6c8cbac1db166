// The IEEE status flags of a thread, numbered as NumPy numbers them (np.geterr's order). Flags are
// sticky: operations set them, nothing but the classes below clears them.
//
// Reads and writes of the flags are ordered against memory accesses only: arithmetic that is
// watched belongs into a function that stores its results and is not inlined.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace dvm::core {

using FpFlags = uint8_t;
inline constexpr FpFlags kDivideByZero = 1, kOverflow = 2, kUnderflow = 4, kInvalid = 8;
// No flag of the machine, but told along with them: see vm/encode/tied_zeros.h.
inline constexpr FpFlags kTiedZeros = 16;

#if defined(__SSE2__)
// The control register by itself: <cfenv> also visits the x87 unit, which nothing here uses, at
// twenty times the cost.
namespace fp {
using State = uint32_t;
inline constexpr State kInvalidBit = 1, kDivideBit = 4, kOverflowBit = 8, kUnderflowBit = 16;
inline constexpr State kStatus = 0x3f;
inline State get() {
  asm volatile("" ::: "memory");
  return _mm_getcsr();
}
inline void set(State state) {
  _mm_setcsr(state);
  asm volatile("" ::: "memory");
}
inline State cleared(State state) { return state & ~kStatus; }
}  // namespace fp
#else
namespace fp {
using State = int;
inline constexpr State kInvalidBit = FE_INVALID, kDivideBit = FE_DIVBYZERO;
inline constexpr State kOverflowBit = FE_OVERFLOW, kUnderflowBit = FE_UNDERFLOW;
inline State get() { return std::fetestexcept(FE_ALL_EXCEPT); }
inline void set(State state) {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(state);
}
inline State cleared(State) { return 0; }
}  // namespace fp
#endif

namespace fp {
inline FpFlags flags_of(State state) {
  return static_cast<FpFlags>(
      (state & kDivideBit ? kDivideByZero : 0) | (state & kOverflowBit ? kOverflow : 0) |
      (state & kUnderflowBit ? kUnderflow : 0) | (state & kInvalidBit ? kInvalid : 0));
}
inline State state_of(FpFlags flags) {
  return (flags & kDivideByZero ? kDivideBit : 0) | (flags & kOverflow ? kOverflowBit : 0) |
         (flags & kUnderflow ? kUnderflowBit : 0) | (flags & kInvalid ? kInvalidBit : 0);
}
}  // namespace fp

// As if an operation had raised them.
inline void raise(FpFlags flags) {
  if (flags != 0) fp::set(fp::get() | fp::state_of(flags));
}

// Puts the thread's flags back as they were.
class KeepFpFlags {
 public:
  KeepFpFlags() : saved_(fp::get()) {}
  ~KeepFpFlags() {
    if (fp::get() != saved_) fp::set(saved_);
  }
  KeepFpFlags(const KeepFpFlags&) = delete;
  KeepFpFlags& operator=(const KeepFpFlags&) = delete;

  fp::State saved() const { return saved_; }

 private:
  fp::State saved_;
};

// Starts with no flag set, tells which were raised since, and puts the thread's own back.
class WatchFpFlags : KeepFpFlags {
 public:
  WatchFpFlags() {
    const fp::State clear = fp::cleared(saved());
    if (clear != saved()) fp::set(clear);
  }
  FpFlags raised() const { return fp::flags_of(fp::get()); }
};

}  // namespace dvm::core
