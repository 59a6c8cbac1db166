// Hand-written fused loops over rows, f32, for one SIMD level: bench_norms.cpp has them of each
// (simd_layers-inl.h). kWidth vectors at a time; rows are whole multiples of that.
INLINE float lanes_sum(Vector v) {
  alignas(64) float lanes[kLanes];
  LAYER(storeu_ps)(lanes, v);
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}
INLINE float lanes_max(Vector v) {
  alignas(64) float lanes[kLanes];
  LAYER(storeu_ps)(lanes, v);
  return *std::max_element(lanes, lanes + kLanes);
}

// Calls step(accumulator, position) for all vectors of a row, and folds the accumulators.
template <size_t kWidth, typename Step, typename Fold>
INLINE Vector over_row(size_t n, Vector first, Step step, Fold fold) {
  Vector acc[kWidth];
  for (Vector& a : acc) a = first;
  for (size_t i = 0; i < n; i += kLanes * kWidth) {
#pragma GCC unroll 8
    for (size_t k = 0; k < kWidth; ++k) acc[k] = step(acc[k], i + kLanes * k);
  }
  for (size_t k = 1; k < kWidth; ++k) acc[0] = fold(acc[0], acc[k]);
  return acc[0];
}
template <size_t kWidth, typename Step>
INLINE float sum_row(size_t n, Step step) {
  const auto add = [](Vector a, Vector b) INLINE_LAMBDA { return LAYER(add_ps)(a, b); };
  return lanes_sum(over_row<kWidth>(n, all(0), step, add));
}

template <size_t kWidth>
void softmax(float* out, const float* const* in, size_t rows, size_t n) {
  for (size_t r = 0; r < rows; ++r, out += n) {
    const float* x = in[0] + r * n;
    const auto most = [&](Vector a, Vector b) INLINE_LAMBDA { return LAYER(max_ps)(a, b); };
    const Vector max = all(lanes_max(over_row<kWidth>(
        n, all(-INFINITY),
        [&](Vector a, size_t i) INLINE_LAMBDA { return most(a, LAYER(loadu_ps)(x + i)); }, most)));
    const Vector sum = all(sum_row<kWidth>(n, [&](Vector a, size_t i) INLINE_LAMBDA {
      const Vector e = exponential(LAYER(sub_ps)(LAYER(loadu_ps)(x + i), max));
      LAYER(storeu_ps)(out + i, e);
      return LAYER(add_ps)(a, e);
    }));
    for (size_t i = 0; i < n; i += kLanes) {
      LAYER(storeu_ps)(out + i, LAYER(div_ps)(LAYER(loadu_ps)(out + i), sum));
    }
  }
}

template <size_t kWidth>
INLINE float row_mean(const float* x, size_t n) {
  return sum_row<kWidth>(n,
                         [&](Vector a, size_t i)
                             INLINE_LAMBDA { return LAYER(add_ps)(a, LAYER(loadu_ps)(x + i)); }) /
         static_cast<float>(n);
}
template <size_t kWidth>
INLINE float mean_square(const float* x, size_t n, Vector mean) {
  return sum_row<kWidth>(n,
                         [&](Vector a, size_t i) INLINE_LAMBDA {
                           const Vector d = LAYER(sub_ps)(LAYER(loadu_ps)(x + i), mean);
                           return LAYER(add_ps)(a, LAYER(mul_ps)(d, d));
                         }) /
         static_cast<float>(n);
}

template <size_t kWidth>
void layer_norm(float* out, const float* const* in, size_t rows, size_t n) {
  for (size_t r = 0; r < rows; ++r, out += n) {
    const float* x = in[0] + r * n;
    const Vector mean = all(row_mean<kWidth>(x, n));
    const Vector deviation = all(std::sqrt(mean_square<kWidth>(x, n, mean) + 1e-5f));
    for (size_t i = 0; i < n; i += kLanes) {
      const Vector d = LAYER(sub_ps)(LAYER(loadu_ps)(x + i), mean);
      const Vector y = LAYER(mul_ps)(LAYER(div_ps)(d, deviation), LAYER(loadu_ps)(in[1] + i));
      LAYER(storeu_ps)(out + i, LAYER(add_ps)(y, LAYER(loadu_ps)(in[2] + i)));
    }
  }
}

template <size_t kWidth>
void rms_norm(float* out, const float* const* in, size_t rows, size_t n) {
  for (size_t r = 0; r < rows; ++r, out += n) {
    const float* x = in[0] + r * n;
    const Vector root = all(std::sqrt(mean_square<kWidth>(x, n, all(0)) + 1e-5f));
    for (size_t i = 0; i < n; i += kLanes) {
      const Vector y = LAYER(div_ps)(LAYER(loadu_ps)(x + i), root);
      LAYER(storeu_ps)(out + i, LAYER(mul_ps)(y, LAYER(loadu_ps)(in[1] + i)));
    }
  }
}

template <size_t kWidth>
void variance(float* out, const float* const* in, size_t rows, size_t n) {
  for (size_t r = 0; r < rows; ++r) {
    const float* x = in[0] + r * n;
    out[r] = mean_square<kWidth>(x, n, all(row_mean<kWidth>(x, n)));
  }
}

// Of four vectors at a time; of two, for rows that are short.
inline std::vector<Loop> norm_loops(int norm) {
  switch (norm) {
    case 0:
      return {softmax<2>, softmax<4>};
    case 1:
      return {layer_norm<2>, layer_norm<4>};
    case 2:
      return {rms_norm<2>, rms_norm<4>};
    default:
      return {variance<2>, variance<4>};
  }
}
