"""NEP 50: Python numbers are weak, NumPy scalars and arrays are not."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, close, floats, ints


@case
def a_python_float_is_weak(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x * k, k - x

    for dtype in ("f4", "f4", "f8", "f2", "i4", "i1", "u8", "?"):
        w(f, ints(3, dtype=dtype), 2.0)
        w(f, ints(3, dtype=dtype) if dtype != "?" else np.array([True, False]), 0.5)


@case
def a_numpy_scalar_is_strong(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x * k, x + k

    for k in (2.0, np.float32(2), np.float64(2), 2, np.int8(2), np.int64(2), True, np.True_):
        w(f, floats(3, dtype="f4"), k)
        w(f, floats(3, dtype="f4"), k)
        w(f, ints(3, dtype="i1"), k)


@case
def two_scalars(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a * b, a + b, a - 1, a / 2

    for a, b in (
        (np.float32(1), 2.0),
        (np.float32(1), 2.0),
        (np.float32(1), np.float64(2)),
        (np.int8(100), 3),
        (np.int8(2), np.int16(3)),
        (2, np.uint8(3)),
        (2, 3),
        (True, np.float16(3)),
        (np.bool_(True), np.bool_(False)),
    ):
        w(f, a, b)


@case
def python_integers_that_do_not_fit(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x + k

    for dtype in ("i1", "u1", "i4", "i8", "u8", "f4", "f8"):
        for k in (1, 100, 200, -1, 2**31, 2**40, 2**63, 2**64, -(2**63), 1):
            w(f, np.zeros(2, dtype), k)


@case
def python_integers_beyond_int64_in_the_program(w: World) -> None:
    @w.compiled
    def f(x, n):
        big = n * n * n
        return x + big % 7, big

    for n in (3, 3, 2**20, 2**22, 2**40, 3, -(2**40)):
        w(f, floats(3), n)


@case
def comparisons_with_integers_out_of_range(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x < k, x == k, x != k, k <= x

    for dtype in ("i1", "u1", "i8", "u8", "f4"):
        for k in (1, 1, 300, -1, 2**63, 2**70):
            w(f, ints(4, dtype="i1").astype(dtype), k)


@case
def booleans_in_arithmetic(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a + b, a * b, a & b, a | b, a ^ b, ~a, a == b

    t = np.array([True, False, True])
    for a, b in ((t, ~t), (t, ~t), (t, True), (t, 1), (t, np.int8(2)), (ints(3), t), (t, t)):
        w(f, a, b)


@case
def minus_of_booleans_is_an_error(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a - b

    t = np.array([True, False, True])
    for a, b in (
        (ints(3), ints(3)),
        (ints(3), t),
        (t, ints(3)),
        (t, t),
        (t, True),
        (ints(3), True),
    ):
        w(f, a, b)


@case
def true_division_of_integers(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a / b, a // b, a % b

    for x, y in (
        ("i8", "i8"),
        ("i8", "i8"),
        ("i1", "i1"),
        ("u1", "i1"),
        ("f4", "i2"),
        ("f2", "u1"),
    ):
        w(f, ints(4, dtype="i1").astype(x) + 4, ints(4, dtype="i1").astype(y) * 0 + 3)


@case
def mixed_dtypes_of_two_arrays(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a + b, a * b, np.maximum(a, b), np.where(a > b, a, b), a < b

    dtypes = ["i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
    for i, one in enumerate(dtypes):
        for other in dtypes[i::3]:
            w(f, np.arange(3).astype(one), np.arange(3)[::-1].astype(other))


@case
def shifts_and_bits(w: World) -> None:
    @w.compiled
    def f(a, b):
        return a << b, a >> b, a & 3, a | b, a ^ -1 if a.dtype.kind == "i" else a ^ 1

    for dtype in ("i8", "i8", "i1", "u1", "i4", "u8"):
        w(f, np.array([1, 2, 100], dtype), np.array([1, 3, 2], dtype))
    w(f, np.array([1, -2, 100], "i1"), np.array([8, 100, 7], "i1"))
    w(f, np.array([1, -2, 100]), np.array([64, -1, 63]))
    w(f, floats(3), floats(3))


@case
def sums_of_small_integers_are_wide(w: World) -> None:
    @w.compiled
    def f(x):
        return x.sum(), x.sum(axis=0), x.prod(), x.cumsum(), x.max(), x.mean()

    for dtype in ("i1", "i1", "u1", "i4", "u4", "?", "f4", "f8", "i8"):
        w(f, np.ones((3, 2), dtype))


@case
def sums_with_a_dtype(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.sum(dtype=np.float32),
            np.add(x, x, dtype=np.float64),
            np.mean(x, dtype="f8"),
            x.sum(axis=0, dtype=int, keepdims=True),
        )

    for dtype in ("f4", "f4", "i1", "i8", "f8", "?"):
        w(f, np.ones((3, 2), dtype))


@close
@case
def functions_of_integers_are_float(w: World) -> None:
    @w.compiled
    def f(x):
        return np.sqrt(x), np.exp(x), np.floor(x), np.abs(x), np.square(x), np.rint(x)

    for dtype in ("i8", "i8", "i1", "u2", "f4", "f8", "?"):
        w(f, np.array([0, 1, 2]).astype(dtype))


@case
def constants_within_the_program(w: World) -> None:
    @w.compiled
    def f(x):
        return x * 2, x * 2.0, x * np.float64(2), x * np.float32(2), x + 1j * 0, x * True

    for dtype in ("f4", "f4", "f8", "i4", "i1", "f2", "u8"):
        w(f, ints(3, dtype="i1").astype(dtype) + 3)


@case
def a_scalar_of_an_array_is_strong(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y[0], x * y.sum(), x + float(y[0]), x * y.max().item()

    for a, b in (
        ("f4", "f8"),
        ("f4", "f8"),
        ("f4", "f4"),
        ("i1", "i8"),
        ("f4", "i8"),
        ("f8", "f4"),
    ):
        w(f, ints(3, dtype=a), ints(3, dtype=b))


@case
def a_zero_dimensional_array_is_strong(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x + k, x * k, np.maximum(x, k)

    for a, b in (
        ("f4", "f8"),
        ("f4", "f8"),
        ("i1", "i8"),
        ("f4", "i8"),
        ("f8", "f4"),
        ("u1", "f2"),
    ):
        w(f, ints(3, dtype=a), np.array(2, b))
        w(f, np.array(3, a), np.array(2, b))


@case
def where_and_clip_promote(w: World) -> None:
    @w.compiled
    def f(x):
        return np.where(x > 0, x, 0.0), np.where(x > 0, 1, 2.5), np.clip(x, 0, 2), x.clip(-1, None)

    for dtype in ("f4", "f4", "f8", "i4", "i1", "f2"):
        w(f, ints(4, dtype=dtype))


@case
def a_type_as_argument(w: World) -> None:
    @w.compiled
    def f(x, dtype):
        return x.astype(dtype), np.zeros(3, dtype), np.full(2, 3, dtype)

    for dtype in (np.float32, "f4", float, int, np.dtype("i2"), bool, "f8", "no such", np.int64):
        w(f, floats(4), dtype)


@case
def constants_that_do_not_fit_raise(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        return y + 200

    for dtype in ("i8", "i8", "i1", "u1", "i1", "f2", "i2"):
        w(f, np.ones(3, dtype))


@case
def powers_keep_the_dtype(w: World) -> None:
    @w.compiled
    def f(x):
        return x**2, x**2.0, x**0.5, 2**x, x ** np.int8(3)

    for dtype in ("f4", "f4", "f8", "i4", "u1", "f2"):
        w(f, np.array([0, 1, 2, 3], dtype))


@case
def halves_are_rounded_before_they_widen(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.arange(3.0) + x.sum(),
            (x * x).astype(np.float64),
            (x / 3) + np.ones(len(x), np.float32),
            (x / 3).mean(),
            float((x * x).max()),
            (x * np.float16(1e-4) * np.float16(1e-4)).astype(bool),
            (x * 1000).astype(np.int32),
            abs(x).astype(np.float64),
            (-x).mean(),
            np.negative(x).reshape(-1, 1).astype(np.float32),
        )

    for count in (40, 40, 3):
        w(f, (np.arange(1, count + 1) / 7).astype(np.float16))
