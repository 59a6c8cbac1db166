// Functions of f32 over the vectors of one SIMD level (simd_layers-inl.h).
INLINE Vector all(float x) { return LAYER(set1_ps)(x); }

// As core/math/exp.h writes them.
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
// As core/math/hyperbolic.h writes it.
INLINE Vector tangent(Vector x) {
  const Vector a = absolute(x), c = LAYER(min_ps)(all(9.5f), a), round = all(0x1.8p23f);
  const Vector t = LAYER(fmadd_ps)(c, all(0x1.715476p1f), round);
  const Vector r = LAYER(fmadd_ps)(LAYER(sub_ps)(t, round), all(-0x1.62e430p-2f), c);
  const Vector q = horner(r, 0x1.6d98dap-5f, 0x1.1227fep-3f, 0x1.555488p-2f, 0x1.5554b0p-1f, 1.0f);
  const Vector p = LAYER(fmadd_ps)(q, LAYER(mul_ps)(r, r), r), s = scale(all(1), t);
  const Vector h = LAYER(fmadd_ps)(s, p, LAYER(fmadd_ps)(s, all(0.5f), all(-0.5f)));
  const Vector y = LAYER(div_ps)(h, LAYER(add_ps)(h, all(1)));
  return with_sign(x, choose(less(h, all(0.5f)), LAYER(fnmadd_ps)(h, y, h), y));
}
