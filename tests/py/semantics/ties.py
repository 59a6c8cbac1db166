"""What floats do at their edges: which zero of two, which flag of two, which range.

The sign that elementwise fmax and fmin give to a tie of zeros depends in NumPy on the width of its
vectors (docs/decisions.md), so no case here asks for it.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from semantics.world import World, case, floats, ints


@case
def signed_zeros_of_ties(w: World) -> None:
    @w.compiled
    def f(x, y):
        return (
            np.maximum(x, y),
            np.minimum(x, y),
            np.clip(x, y, 1),
            x.clip(-1, y),
            np.maximum(x, 0.0),
            np.minimum(0.0, x),
            np.maximum.accumulate(x),
            x.clip(-0.0, 0.0),
        )

    for t in ("f2", "f4", "f8"):
        for a, b in ((0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)):
            w(f, np.array([a, b] * 9, t), np.array([b, a] * 9, t))
            w(f, np.array([a], t), np.array([b], t))
            w(f, np.array([a, b, a, b], t)[::2], np.array(b, t))


@case
def sums_of_negative_zeros(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.sum(),
            x.sum(axis=0),
            x.sum(axis=-1),
            x.mean(),
            x.cumsum(),
            np.add.reduce(x, axis=None),
            x.sum(keepdims=True),
            x.prod(),
            x.std(),
        )

    for t in ("f2", "f4", "f8"):
        for s in ((3,), (1,), (0,), (70,), (2, 3), (1, 3), (3, 1), (0, 2)):
            w(f, np.full(s, -0.0, t))


@case
def where_with_out_of_another_type(w: World) -> None:
    @w.compiled
    def f(a, b, m, o):
        np.add(a, b, out=o, where=m)
        return o

    for v in (1.0, 2.0, np.nan, np.inf):
        w(f, ints(3), ints(3), np.array([True, False, True]), np.full(3, v))
        w(f, ints(3, dtype="i4"), 1, np.array([True, False, True]), np.full(3, v, "f4"))


@case
def casts_of_special_floats(w: World) -> None:
    @w.compiled
    def f(x, dt):
        return x.astype(dt), np.asarray(x, dt)

    for dt in ("i1", "u1", "i4", "i8", "u8", "?", "f2", "f4", "c16"):
        for v in (1.5, 300.0, -1.5, np.nan, np.inf, 1e10, 1e30, -0.0):
            w(f, np.array([v, 2.0]), dt)


@case
def errstate_nesting(w: World) -> None:
    @w.compiled
    def f(x):
        with np.errstate(divide="ignore"):
            a = 1 / x
            with np.errstate(divide="warn", invalid="ignore"):
                b = x / x
            c = 2 / x
        return a, b, c, 3 / x

    for v in (1.0, 1.0, 0.0, 1.0):
        w(f, np.array([v, 2.0]))


@case
def errstate_raise_inside(w: World) -> None:
    @w.compiled
    def f(x):
        x += 1
        with np.errstate(all="raise"):
            return 1 / (x - 1)

    for v in (1.0, 2.0, 0.0, 1.0):
        w(f, np.array([v, 2.0]))


@case
def seterr_call(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        return 1 / x

    w(f, np.array([1.0]))
    with np.errstate(divide="call", call=lambda kind, flag: log.append((kind, flag))):
        w(f, np.array([0.0]))
        w(f, np.array([0.0]))
        w(f, np.array([1.0]))
    w(f, np.array([0.0]))


@case
def warnings_as_errors(w: World) -> None:
    @w.compiled
    def f(x):
        x[0] = 5
        y = x / 0
        x[1] = 6
        return y

    def g(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return f(x)

    for _ in range(3):
        w(g, floats(3))
        w(f, floats(3))


@case
def scalars_divide_by_zero(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a / b

    for a, b in (
        (1.0, 2.0),
        (np.float64(1), 2.0),
        (np.float64(1), 0.0),
        (1.0, np.float64(0)),
        (np.float64(0), 0),
        (np.int64(1), 0),
        (np.float32(1), np.float32(0)),
        (1.0, 0.0),
        (1, 0),
    ):
        w(f, a, b)


@case
def numpy_scalar_arithmetic_warns(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a + b, a * b, a - b, a / b if b else 0, a // b if b else 1, a**2

    for t in (np.int8, np.uint8, np.int64, np.float32, np.float16, np.float64):
        for a, b in ((1, 2), (100, 100), (3, 0), (1, 2)):
            w(f, t(a), t(b))
            w(f, t(a), b)
            w(f, a, t(b))
    w(f, np.float32(3e38), np.float32(3e38))
    w(f, np.float64(1.0), np.float64(0.0))
    w(f, np.float64(np.inf), np.float64(np.inf))


@case
def int_of_nan(w: World) -> None:
    @w.compiled
    def f(x):
        x += 1
        return int(x.sum()), math.sqrt(x[0])

    for v in (1.0, 2.0, np.nan, np.inf, -5.0, 1.0):
        w(f, np.array([v, 1.0]))


@case
def integer_scalars_of_two_types_overflow(w: World) -> None:
    @w.compiled
    def f(x, n):
        a = x[0] * n
        x[1] += n
        x[0] -= n
        return a, x, x[0] * True, -x[1]

    for kind in ("i1", "u1", "i4", "i8"):
        top = np.iinfo(kind).max
        for n in (1, np.int8(3), np.int64(2), np.uint8(1), True, np.True_):
            w(f, np.array([1, 2], kind), n)
            w(f, np.array([top, top], kind), n)


@case
def scalars_stored_into_narrow_integers(w: World) -> None:
    @w.compiled
    def f(x, v, y):
        x[1] = v
        x[:1] = y[0]
        x[2:] = [v, y[1]]
        return x

    @w.compiled
    def g(x, v):
        x.fill(v)
        return x

    for kind in ("i1", "u1", "i4", "f4"):
        for v in (1, 300, 2**40):
            for other in ("i8", "f8"):
                y = np.array([v, 2], other)
                w(f, np.zeros(4, kind), y[0], np.array([1, 2], other))
                w(f, np.zeros(4, kind), np.int64(3), y)
                w(g, np.zeros(4, kind), y[0])
                w(g, np.zeros(4, kind), np.array(v, other))


@case
def warnings_of_what_is_broadcast_to_nothing(w: World) -> None:
    @w.compiled
    def f(x, y):
        z = np.log(x) + y
        x[1:] = 1 / x
        return z, x

    for n, v in ((3, 1.0), (3, 1.0), (1, 1.0), (1, -1.0), (1, 0.0)):
        w(f, np.full((n, 1), v), floats(n - 1 if n == 1 else n, 2) if n == 1 else floats(n, 2))


@case
def nan_and_infinities_in_sums(w: World) -> None:
    @w.compiled
    def f(x):
        return x.sum(), x.mean(), x.prod(), x.sum(axis=0)

    for v in (
        [1, 2, 3],
        [np.inf, -np.inf, 1],
        [np.nan, 1, 2],
        [np.nan, np.inf, 1],
        [np.nan, np.inf, -np.inf],
        [np.inf, np.nan, -np.inf],
        [0, np.nan, np.inf],
        [1, 1, 1],
    ):
        w(f, np.array(v, float))
        w(f, np.array([v] * 30, float).ravel())


@case
def extremes_between_zeros(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.max(),
            x.min(axis=0),
            np.max(x, axis=-1),
            np.fmax.reduce(x),
            np.fmin.reduce(x, axis=-1),
            np.nanmax(x),
            np.nanmin(x, axis=0),
        )

    for t in ("f2", "f4", "f8"):
        for some in ((-0.0, 0.0), (0.0, -0.0), (-0.0, -0.0), (0.0, np.nan, -0.0)):
            for repeated in (1, 9, 300):
                x = np.array(some * repeated, t)
                w(f, x)
                w(f, np.array([x, x[::-1]]))
                w(f, np.array([x, x[::-1]]).T[::2])


@case
def sums_of_a_single_negative_zero(w: World) -> None:
    @w.compiled
    def f(x):
        return x.sum(), x.mean(), np.sum(x, axis=()), np.add.reduce(x), np.nansum(x), x.prod()

    @w.compiled
    def of_an_element(x):
        return x[0].sum(), x[0].mean(), x[0].max()

    for t in ("f2", "f4", "f8"):
        for value in (-0.0, -0.0, 0.0, 1.5):
            w(f, np.array(value, t))
            w(f, np.array([value], t))
            w(of_an_element, np.array([value], t))

    @w.compiled
    def over_no_axes(x):
        return x.sum(axis=()), np.add.reduce(x, axis=())

    for x in (np.full((2, 3), -0.0), np.full((2, 3), -0.0).T, np.array(-0.0)):
        w(over_no_axes, x)
        w(over_no_axes, x)


@case
def running_extremes_of_zeros(w: World) -> None:
    @w.compiled
    def f(x):
        each = np.maximum, np.minimum, np.fmax, np.fmin
        return [g.accumulate(x) for g in each], [g.accumulate(x.T, 0) for g in each]

    for t in ("f2", "f4", "f8"):
        for some in ([-0.0, 0.0], [0.0, -0.0, np.nan], [np.nan, -0.0, 1.0, 0.0, -1.0, -0.0]):
            for repeated in (1, 1, 9):
                w(f, np.array(some * repeated, t))
                w(f, np.array([some * repeated, some[::-1] * repeated], t))


@case
def comparisons_of_arrays_of_objects(w: World) -> None:
    asked = w.watch([])

    class Value:
        def __lt__(self, other):
            asked.append(other)
            return len(asked) % 2 == 0

        def __eq__(self, other):
            asked.append(("eq", other))
            return True

        __hash__ = None

    @w.compiled
    def f(values, x):
        if values < 2:
            x = x + 1
        if not values == 3:
            x = x * 2
        return x

    for shape in ((1,), (1,), ()):
        values = np.empty(shape, object)
        values[...] = Value()
        w(f, values, floats(3))
