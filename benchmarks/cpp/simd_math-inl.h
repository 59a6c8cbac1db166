// Functions of f32 over the vectors of one SIMD level (simd_layers-inl.h).
INLINE Vector all(float x) { return LAYER(set1_ps)(x); }

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
