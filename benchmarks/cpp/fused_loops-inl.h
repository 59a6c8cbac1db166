// Hand-written fused loops of f32 over the vectors of one SIMD level: bench_chain.cpp includes this
// once per level, after Vector, kLanes and what levels have no common name for.
INLINE Vector all(float x) { return LAYER(set1_ps)(x); }

// NumPy's maximum: the first of two NaNs, the second of two zeros. One instruction does where b is
// a number and not 0.
template <bool kNumber>
INLINE Vector extreme(Vector a, Vector b) {
  if constexpr (kNumber) return LAYER(max_ps)(b, a);
  return maximum(a, b);
}

// As core/math_exp.h writes them.
template <typename... Floats>
INLINE Vector horner(Vector x, float last, Floats... rest) {
  Vector sum = all(last);
  ((sum = LAYER(fmadd_ps)(sum, x, all(rest))), ...);
  return sum;
}
// e**r - 1; t is a number whose low bits count the powers of two.
INLINE Vector reduce(Vector c, Vector& t) {
  const Vector round = all(0x1.8p23f);
  t = LAYER(fmadd_ps)(c, all(0x1.715476p0f), round);
  const Vector n = LAYER(sub_ps)(t, round);
  Vector r = LAYER(fmadd_ps)(n, all(-0x1.62e4p-1f), c);
  r = LAYER(fmadd_ps)(n, all(-0x1.7f7d1cp-20f), r);
  const Vector q = horner(r, 0x1.6d98dap-10f, 0x1.1227fep-7f, 0x1.555488p-5f, 0x1.5554b0p-3f, 0.5f);
  return LAYER(fmadd_ps)(q, LAYER(mul_ps)(r, r), r);
}
INLINE Vector exponential(Vector x) {
  Vector t;
  const Vector p = reduce(LAYER(max_ps)(all(-104), x), t);
  const Condition small = less(x, all(-86));
  t = LAYER(add_ps)(t, choose(small, all(64), all(0)));
  Vector y = scale(LAYER(add_ps)(all(1), p), t);
  y = LAYER(mul_ps)(y, choose(small, all(0x1p-64f), all(1)));
  const Condition finite = less(x, all(0x1.62e43p6f));
  return choose(finite, y, LAYER(add_ps)(x, all(INFINITY)));
}
// As core/math_hyperbolic.h writes it.
INLINE Vector tangent(Vector x) {
  const Vector a = absolute(x), c = LAYER(min_ps)(all(9.5f), a), up = LAYER(add_ps)(c, c);
  const Vector round = all(0x1.8p23f);
  const Vector t = LAYER(add_ps)(LAYER(fmadd_ps)(up, all(0x1.715476p0f), all(-0.5f)), round);
  const Vector n = LAYER(sub_ps)(t, round);
  Vector r = LAYER(fmadd_ps)(n, all(-0x1.62e4p-1f), up);
  r = LAYER(fmadd_ps)(n, all(-0x1.7f7d1cp-20f), r);
  const Vector q =
      horner(r, 0x1.e7b596p-10f, 0x1.04ea62p-7f, 0x1.566232p-5f, 0x1.554b62p-3f, 0x1.00001ep-1f);
  const Vector p = LAYER(fmadd_ps)(q, LAYER(mul_ps)(r, r), r), s = scale(all(1), t);
  const Vector e = LAYER(fmadd_ps)(s, p, LAYER(sub_ps)(s, all(1)));
  const Vector y = LAYER(div_ps)(e, LAYER(add_ps)(e, all(2)));
  const Vector half = LAYER(mul_ps)(all(0.5f), e), minus_half = LAYER(mul_ps)(all(-0.5f), e);
  return with_sign(x, choose(less(e, all(1)), LAYER(fmadd_ps)(minus_half, y, half), y));
}

template <Step kStep>
INLINE Vector apply(Vector a, Vector b) {
  switch (kStep.op) {
    case Do::add:
      return LAYER(add_ps)(a, b);
    case Do::sub:
      return LAYER(sub_ps)(a, b);
    case Do::mul:
      return LAYER(mul_ps)(a, b);
    case Do::max: {
      constexpr bool kNumber = kStep.tensor == -1 && kStep.scalar != 0;
      return extreme<kNumber>(a, b);
    }
    case Do::exp:
      return exponential(a);
    case Do::tanh:
      return tangent(a);
  }
  __builtin_unreachable();
}

// Step after step on kWidth vectors; tensors from registers, or read again by each step.
template <int kChain, int kSteps, int kWidth, bool kAgain, bool kTail, int kStep = 0>
INLINE void steps(Vector (&acc)[kWidth], const Vector (*held)[kWidth], const float* const* in,
                  size_t at, size_t count) {
  if constexpr (kStep < kSteps) {
    constexpr Step kDo = kChains[kChain].cycle[kStep % kChains[kChain].period];
#pragma GCC unroll 8
    for (size_t i = 0; i < kWidth; ++i) {
      Vector b;
      if constexpr (kDo.tensor < 0) {
        b = all(kDo.scalar);
      } else if constexpr (kAgain) {
        const float* from = in[kDo.tensor] + at + kLanes * i;
        b = kTail ? load(from, first(count)) : LAYER(loadu_ps)(from);
      } else {
        b = held[kDo.tensor][i];
      }
      acc[i] = apply<kDo>(acc[i], b);
    }
    steps<kChain, kSteps, kWidth, kAgain, kTail, kStep + 1>(acc, held, in, at, count);
  }
}

template <int kChain, int kSteps, int kWidth, bool kAgain, bool kTail>
INLINE void block(float* out, const float* const* in, size_t at, size_t count) {
  constexpr int kTensors = kAgain ? 1 : kChains[kChain].tensors;
  Vector held[kTensors][kWidth], acc[kWidth];
#pragma GCC unroll 8
  for (size_t i = 0; i < kWidth; ++i) {
#pragma GCC unroll 8
    for (int t = 0; t < kTensors; ++t) {
      const float* from = in[t] + at + kLanes * i;
      held[t][i] = kTail ? load(from, first(count)) : LAYER(loadu_ps)(from);
    }
    acc[i] = held[0][i];
  }
  steps<kChain, kSteps, kWidth, kAgain, kTail>(acc, held, in, at, count);
#pragma GCC unroll 8
  for (size_t i = 0; i < kWidth; ++i) {
    float* to = out + at + kLanes * i;
    if (kTail) {
      store(to, first(count), acc[i]);
    } else {
      LAYER(storeu_ps)(to, acc[i]);
    }
  }
}

template <int kChain, int kSteps, int kWidth, bool kAgain>
void fused(float* out, const float* const* in, size_t n) {
  size_t i = 0;
  for (; i + kLanes * kWidth <= n; i += kLanes * kWidth) {
    block<kChain, kSteps, kWidth, kAgain, false>(out, in, i, kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) block<kChain, kSteps, 1, kAgain, false>(out, in, i, kLanes);
  if (i < n) block<kChain, kSteps, 1, kAgain, true>(out, in, i, n - i);
}

template <int kChain, int kSteps>
std::vector<Loop> loops() {
  return {fused<kChain, kSteps, 1, false>, fused<kChain, kSteps, 2, false>,
          fused<kChain, kSteps, 4, false>, fused<kChain, kSteps, 4, true>,
          fused<kChain, kSteps, 8, false>, fused<kChain, kSteps, 8, true>};
}
