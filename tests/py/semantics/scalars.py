"""NumPy scalars, 0-d arrays and Python numbers: which one comes out."""

from __future__ import annotations

import math

import numpy as np

from semantics.world import World, case, close, floats, ints


@case
def operations_on_zero_dimensional_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, -x, x * x, np.sqrt(x * x), x[()], x[...], x.copy(), abs(x)

    for v in (2.0, 2.0, 3.0, 0.0):
        w(f, np.array(v))
        w(f, np.float64(v))
        w(f, np.array([v]))
        w(f, np.array(v, "f4"))


@case
def reductions_give_scalars(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.sum(),
            np.sum(x),
            x.max(),
            np.add.reduce(x, axis=None),
            x.sum(keepdims=True),
            x.any(),
            x.argmax() if x.size else 0,
        )

    for shape in ((3,), (3,), (2, 3), (1,), (1, 1), (4,)):
        w(f, floats(*shape))
    w(f, np.array(3.0))
    w(f, ints(4))


@case
def indexing_gives_scalars_or_views(w: World) -> None:
    @w.compiled
    def f(x):
        return x[0], x[-1], x[0, ...] if x.ndim else 0, x[0:1], x[..., 0]

    for x in (floats(3), floats(3), floats(2, 3), ints(4), floats(1), floats(3, 2).T):
        w(f, x)


@case
def float_and_item(w: World) -> None:
    @w.compiled
    def f(x):
        return float(x.sum()), x.sum().item(), int(x.max()), bool(x.any()), x.tolist()

    for x in (floats(3), floats(3), floats(2, 2), ints(4), floats(1), floats(5) * 0, floats(7)):
        w(f, x)


@case
def a_python_number_comes_and_goes(w: World) -> None:
    @w.compiled
    def f(k, x):
        return k, k + 1, k * 2.0, x + k

    for k in (1, 1, 2, 2.5, True, np.float32(3), np.int64(4), 10**30, -0.0, 1):
        w(f, k, floats(3))


@case
def arithmetic_of_sizes(w: World) -> None:
    @w.compiled
    def f(x):
        n, m = x.shape
        return x.size, n * m, n / m, n // 2, n % 2, x.ndim, len(x), x / n, x.nbytes, x.shape

    for n, m in ((2, 3), (2, 3), (3, 2), (1, 1), (5, 4), (7, 2)):
        w(f, floats(n, m))
    w(f, floats(2, 0))


@close
@case
def math_on_computed_values(w: World) -> None:
    @w.compiled
    def f(x):
        norm = math.sqrt((x * x).sum())
        return norm, math.log(norm + 1), math.floor(norm), round(norm, 2), x / norm

    for n in (3, 3, 5, 1, 4):
        w(f, floats(n) + 1)
    w(f, floats(0))
    w(f, floats(3) * 0)


@case
def math_domain_errors(w: World) -> None:
    @w.compiled
    def f(x):
        s = x.sum()
        return math.sqrt(s), math.log(s)

    for v in (4.0, 4.0, 1.0, 0.0, -1.0, 4.0):
        w(f, np.array([v]))


@case
def rounding_of_scalars(w: World) -> None:
    @w.compiled
    def f(x):
        s = x[0]
        return round(s), round(s, 1), int(s), math.ceil(s), math.trunc(s), s // 1, s % 1

    for v in (2.5, 2.5, -2.5, 0.5, 3.25):
        w(f, np.array([v]))
        w(f, np.array([v], "f4"))


@case
def scalars_as_indices(w: World) -> None:
    @w.compiled
    def f(x, i):
        return x[i] + 1, x[:i], x[i:]

    x = floats(6)
    for i in (1, 1, 2, -1, 0, np.int64(3), np.array(2), True, 6, 7, 2.0, None):
        w(f, x, i)


@case
def scalars_made_by_argmax_as_indices(w: World) -> None:
    @w.compiled
    def f(x):
        i = x.argmax()
        j = int(x.argmin())
        return x[i], x[j], x[min(i, j) : max(i, j)], i, j

    for v in ([1, 5, 2], [1, 5, 2], [5, 1, 2], [3, 3, 3], [1], [2, 1, 0, 9], []):
        w(f, np.array(v, float))


@case
def numpy_scalars_compared(w: World) -> None:
    @w.compiled
    def f(x, k):
        a = x[0] > k
        b = x[0] == x[1]
        return a, b, not a, a and b, a or b, bool(a) is True, a & b

    for x, k in (([1, 1], 0), ([1, 1], 0), ([1, 2], 0), ([1, 1], 3), ([2, 1], 3), ([np.nan, 1], 0)):
        w(f, np.array(x, float), k)


@case
def chained_comparisons(w: World) -> None:
    @w.compiled
    def f(x, lo, hi):
        m = x.mean()
        return lo < m < hi, (x - lo) if lo < m < hi else x

    for lo, hi in ((0, 1), (0, 1), (-1, 0), (5, 6), (-9, 9)):
        w(f, floats(4), lo, hi)
        w(f, np.ones(3) * 0.5, lo, hi)


@case
def scalars_as_array_members(w: World) -> None:
    @w.compiled
    def f(x):
        return np.array([x.sum(), x.max(), 1]), np.stack([x[0], x[-1]]), np.array(x.mean())

    for x in (floats(4), floats(4), floats(8), ints(2), np.ones((2, 2)), floats(4, dtype="f4")):
        w(f, x)


@case
def float_of_more_than_one_element(w: World) -> None:
    @w.compiled
    def f(x):
        return float(x)

    for x in (np.array(2.0), np.array(2.0), np.float32(3), 4, "5", floats(2), floats(0), "x"):
        w(f, x)


@case
def the_type_is_asked(w: World) -> None:
    @w.compiled
    def f(x):
        s = x.sum()
        return (
            type(s).__name__,
            isinstance(s, float),
            isinstance(s, np.floating),
            np.isscalar(s),
            isinstance(x, np.ndarray),
            s.dtype,
            s.shape,
            type(x[0]),
        )

    for x in (floats(3), floats(3), floats(3, dtype="f4"), ints(3), floats(2, 2), ints(2) > 0):
        w(f, x)


@case
def accumulating_a_python_float(w: World) -> None:
    @w.compiled
    def f(x):
        total = 0.0
        for row in x:
            total += float(row.sum())
        return total, x * total

    for n in (3, 3, 5, 0, 1):
        w(f, floats(n, 2))


@case
def builtins_over_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        return sum(x), max(x), min(x), len(x), list(x), abs(x), any(x > 0), all(x > 0), sorted(x)

    for n in (3, 3, 5, 1, 0, 4):
        w(f, floats(n))
    w(f, floats(2, 2))


@case
def divmod_and_pow_of_scalars(w: World) -> None:
    @w.compiled
    def f(a, b):
        return divmod(a, b), pow(a, b), a**b, a // b, a % b, a @ b if hasattr(a, "ndim") else 0

    for a, b in ((7, 2), (7, 2), (-7, 2), (7.5, -2), (floats(3), 2), (2, floats(3) + 2), (1, 0)):
        w(f, a, b)


@case
def zero_dimensional_result_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        out = np.zeros(())
        np.sum(x, out=out)
        return out, np.asarray(x.sum()), np.sum(x, keepdims=True), x.sum()[...]

    for x in (floats(3), floats(3), floats(2, 2), floats(), floats(0)):
        w(f, x)


@case
def flipped_without_axes(w: World) -> None:
    @w.compiled
    def f(x):
        return np.flip(x), np.flip(x, ()), x[()], x[...]

    for x in (np.array(2.0), np.array(3, np.uint32), np.float64(1), floats(3), floats(2, 3)):
        w(f, x)
        w(f, x)
