// Hand-written fused loops of f32 over the vectors of one SIMD level: bench_chain.cpp has them of
// each (simd_layers-inl.h). NumPy's maximum: the first of two NaNs, the second of two zeros. One
// instruction does where b is a number and not 0.
template <bool kNumber>
INLINE Vector extreme(Vector a, Vector b) {
  if constexpr (kNumber) return LAYER(max_ps)(b, a);
  return maximum(a, b);
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
