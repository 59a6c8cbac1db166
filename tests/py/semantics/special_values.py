"""NaN, infinities, signed zeros and ties in NumPy's functions, also where they meet reductions."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, close, floats, ints

NAN, INF = np.nan, np.inf
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 0.5, -2.5, 1e308])


def each(w, f, *dtypes):
    """Call with ordinary numbers twice, then with special ones, then as at first."""
    for dtype in dtypes or ("f8", "f4"):
        with np.errstate(all="ignore"):
            special = SPECIAL.astype(dtype)
        for x in (
            floats(4, dtype=dtype),
            floats(10, dtype=dtype),
            special,
            special[:1],
            special[6:],
        ):
            w(f, x)
        w(f, special.reshape(2, 5))
        w(f, floats(4, dtype=dtype))


@case
def maximum_and_minimum(w: World) -> None:
    @w.compiled
    def f(x):
        y = x[::-1]
        return np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, y), np.maximum(x, 0.0)

    each(w, f)


@case
def extreme_reductions(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.max(),
            x.min(),
            x.max(axis=0),
            np.fmax.reduce(x, axis=None),
            np.nanmax(x, initial=-5),
        )

    each(w, f)


@case
def positions_of_extremes(w: World) -> None:
    @w.compiled
    def f(x):
        return x.argmax(), x.argmin(), np.argmax(x, axis=-1), x.argmax(axis=0, keepdims=True)

    each(w, f)
    for v in ([1, 1, 1], [0, 5, 5], [5, NAN, NAN], [-0.0, 0.0], [True, True]):
        w(f, np.array(v))


@case
def rounding_functions(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.floor(x),
            np.ceil(x),
            np.rint(x),
            np.trunc(x),
            np.round(x, 1),
            np.fix(x),
            np.sign(x),
        )

    each(w, f)


@case
def remainders(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.roll(x, 1)
        return x // y, x % y, np.fmod(x, y), x % 2.0, 2.0 % x, x // INF, -x % INF

    each(w, f)


@case
def comparisons_with_nan(w: World) -> None:
    @w.compiled
    def f(x):
        y = x[::-1]
        return (
            x < y,
            x <= y,
            x == y,
            x != y,
            x >= y,
            x > 0,
            ~(x > 0),
            (x == x).all(),
            x.any(),
            x.all(),
        )

    each(w, f)


@case
def clipping(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.clip(x, -1, 1),
            x.clip(0.0),
            np.clip(x, None, 0),
            np.clip(x, 1, -1),
            np.clip(x, NAN, 1),
        )

    each(w, f)


@case
def choosing(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.where(x > 0, x, -x),
            np.where(x, 1, 0),
            np.where(np.isnan(x), 0.0, x),
            np.nan_to_num(x, posinf=9, neginf=-9),
            np.select([x > 1, x < -1], [x, -x], 0),
        )

    each(w, f)


@case
def tests_of_floats(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.isnan(x),
            np.isinf(x),
            np.isfinite(x),
            np.signbit(x),
            np.isclose(x, x),
            np.isposinf(x),
        )

    each(w, f)


@case
def closeness(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1e-9
        return (
            np.isclose(x, y),
            np.isclose(x, y, equal_nan=True),
            np.allclose(x, y),
            np.isclose(x, 0, atol=0.6),
            np.array_equal(x, x, equal_nan=True),
        )

    each(w, f, "f8")


@close
@case
def transcendental_functions(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.exp(x),
            np.tanh(x),
            np.log1p(abs(x)),
            np.sqrt(abs(x)),
            np.arctan(x),
            np.hypot(x, x),
        )

    each(w, f)


@close
@case
def functions_outside_of_their_domain(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.sqrt(x),
            np.log(x),
            np.arcsin(x),
            np.log2(x),
            np.reciprocal(x),
            np.expm1(x),
            np.cos(x),
        )

    each(w, f)


@case
def logical_functions(w: World) -> None:
    @w.compiled
    def f(x):
        y = x[::-1]
        return np.logical_and(x, y), np.logical_or(x, 0), np.logical_not(x), np.logical_xor(x, y)

    each(w, f, "f8", "f4", "f2")
    w(f, ints(5))
    w(f, ints(5) > 0)


@case
def counting(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.count_nonzero(x),
            np.count_nonzero(x, axis=0),
            (x > 0).sum(),
            (x > 0).mean(),
            np.nonzero(x),
        )

    each(w, f)


@case
def conversions_of_special_values(w: World) -> None:
    @w.compiled
    def f(x):
        return x.astype(bool), x.astype("f2"), x.astype("f4"), x.astype(complex)

    each(w, f)


@case
def conversions_to_integers(w: World) -> None:
    @w.compiled
    def f(x):
        return x.astype("i8"), x.astype("i4"), x.astype("u1"), x.astype("i1"), x.astype("u8")

    for x in (
        floats(4),
        floats(4),
        floats(4) - 9,
        np.array([300.7, -1.0]),
        np.array([2.0**40, -(2.0**63)]),
    ):
        w(f, x)
    each(w, f)


@case
def integers_to_floats(w: World) -> None:
    @w.compiled
    def f(x):
        return x.astype("f8"), x.astype("f4"), x.astype("f2"), x * 1.0, x / 1, x.mean()

    for v in ([1, 2], [1, 2], [2**53 + 1, 2**24 + 1], [2**62, -(2**62)], [70000, -1]):
        w(f, np.array(v))
    w(f, np.array([2**63 + 1, 1], "u8"))


@case
def between_integers(w: World) -> None:
    @w.compiled
    def f(x):
        return [x.astype(t) for t in ("i1", "u1", "i2", "i4", "u4", "i8", "u8", "?")]

    for dtype in ("i8", "i8", "i4", "u8", "i1", "?"):
        w(f, np.array([0, 1, 200, 70000, 2**31, 2**40, -1, -129]).astype(dtype))


@case
def sums_with_infinities(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.sum(),
            x.prod(),
            np.cumsum(x),
            x.mean(axis=0),
            np.nansum(x),
            np.add.reduce(x, axis=-1),
        )

    each(w, f)


@case
def differences_and_accumulations(w: World) -> None:
    @w.compiled
    def f(x):
        return np.diff(x), np.maximum.accumulate(x), np.cumprod(x), np.diff(x, 2), np.ediff1d(x)

    each(w, f)
    w(f, ints(5) > 0)
    w(f, ints(4, dtype="u1"))


@case
def signs_and_absolute_values(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            abs(x),
            -x,
            np.copysign(x, -1),
            np.copysign(1, x),
            x * -1,
            np.positive(x),
            np.heaviside(x, 0.5),
        )

    each(w, f)


@case
def ordering(w: World) -> None:
    @w.compiled
    def f(x):
        return np.sort(x), np.argsort(x, kind="stable"), np.unique(x), np.sort(x, axis=0)[::-1]

    each(w, f)


@case
def variance_and_deviation(w: World) -> None:
    @w.compiled
    def f(x):
        return x.var(), x.std(), np.var(x, axis=0), np.nanstd(x)

    for v in ([1, 3], [1, 3], [2, 2, 4, 4], [5], [1, NAN], [INF, 1], [-0.0, 0.0]):
        w(f, np.array(v, float))


@case
def medians_and_percentiles(w: World) -> None:
    @w.compiled
    def f(x, q):
        return np.median(x), np.percentile(x, q), np.quantile(x, [0.25, 0.5])

    for v, q in (
        ([1, 3, 5], 50),
        ([1, 3, 5], 50),
        ([4, 2], 25),
        ([1, NAN], 50),
        ([], 50),
        ([1, 2], 101),
    ):
        w(f, np.array(v, float), q)


@case
def half_precision_of_special_values(w: World) -> None:
    @w.compiled
    def f(x):
        return x + x, x > 0, np.maximum(x, 0), abs(x), np.floor(x), x.max(), -x, x == x

    each(w, f, "f2")


@case
def subnormal_numbers(w: World) -> None:
    @w.compiled
    def f(x):
        return x * 0.5, x + x, x / 2, x > 0, x.sum(), x.astype("f4")

    for v in (1.0, 1.0, 5e-324, 1e-310, 2.3e-308, 1e-40):
        w(f, np.array([v, -v]))
    w(f, np.array([1e-40, 1e-45], "f4"))


@case
def extremes_of_nothing_that_nobody_reads(w: World) -> None:
    @w.compiled
    def f(x):
        np.fmax.reduce(x)
        return x + 1

    @w.compiled
    def g(x):
        np.fmin.reduce(x, axis=0)
        return x * 2

    for n in (3, 3, 0, 2):
        w(f, floats(n))
        w(g, floats(n))
