"""Arrays of every other dtype: object, structured, complex, byte-swapped, text, dates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from semantics.world import World, case, close, floats, ints


@case
def the_dtype_changes_between_calls(w: World) -> None:
    @w.compiled
    def f(x):
        return x + x, x * 2, -x, x.sum(), x == x

    for dtype in ("f8", "f8", ">f8", "f4", "c8", "i8", ">i2", "O", "g", "f8", "?", "c16"):
        w(f, ints(3).astype(dtype))


@case
def objects_run_their_own_operators(w: World) -> None:
    log = w.watch([])

    class Number:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            log.append(("add", self.v))
            return Number(self.v + getattr(other, "v", other))

    @w.compiled
    def f(x):
        return x + x, x + 1

    for _ in range(2):
        w(f, floats(2))
        w(f, np.array([Number(1), Number(2)]))


@case
def arrays_of_fractions_and_big_integers(w: World) -> None:
    @w.compiled
    def f(x):
        return x * 3, x.sum(), x > 1, x[0] + x[1]

    for x in (
        np.array([Fraction(1, 3), Fraction(2, 3)]),
        floats(2),
        np.array([2**80, -(2**70)]),
        np.array([1, 2.5], object),
        ints(2),
        np.array([Fraction(1, 2), 3]),
    ):
        w(f, x)


@case
def an_object_array_that_raises(w: World) -> None:
    @w.compiled
    def f(x):
        x += 1
        return x

    for x in (floats(3), np.array([1, 2, 3], object), np.array([1, "a", 3], object), floats(3)):
        w(f, x)


@case
def structured_fields(w: World) -> None:
    @w.compiled
    def f(r):
        r["a"] += 1
        r["b"] = r["a"] * 2
        return r["b"] + r["a"], r[["a"]], r[0]

    kinds = ([("a", "i4"), ("b", "f8")], [("a", "f8"), ("b", "f8")], [("b", ">f4"), ("a", "i1")])
    for kind in (kinds[0], kinds[0], kinds[1], kinds[2], kinds[0], [("a", "i4")]):
        w(f, np.zeros(3, kind))


@close
@case
def complex_arithmetic(w: World) -> None:
    @w.compiled
    def f(x):
        return x * x.conj(), x.real, x.imag, abs(x), x * 1j, np.angle(x)

    for x in (floats(3), floats(3) + 1j, floats(3), (floats(3) - 2j).astype("c8"), ints(3)):
        w(f, x)


@case
def writing_into_the_real_part(w: World) -> None:
    @w.compiled
    def f(x):
        x.real += 1
        x.imag[...] = 2
        return x

    for x in (floats(3) + 1j, floats(3) + 1j, floats(3), (floats(2, 2) + 0j).T, floats(2) + 1j):
        w(f, x)


@case
def byte_swapped_operands(w: World) -> None:
    @w.compiled
    def f(x, y):
        x += y
        return x * y, x.view("u1"), y.astype("f8")

    for a, b in (
        ("f8", "f8"),
        ("f8", ">f8"),
        (">f8", "f8"),
        (">i4", "i4"),
        (">f8", ">f8"),
        ("f8", "f8"),
    ):
        w(f, ints(3).astype(a), ints(3).astype(b))


@case
def text_arrays(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x == y, np.char.upper(x) if x.dtype.kind == "U" else x + 1, x.astype("U4")

    for x, y in (
        (["a", "bc"], "a"),
        (["a", "bc"], "bc"),
        ([1, 2], 1),
        ([1, 2], "1"),
        (["q"], ["q"]),
    ):
        w(f, np.array(x), y)


@case
def dates_and_durations(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x + k, x - x, x > x[0]

    days = np.array(["2020-01-01", "NaT"], "M8[D]")
    for x, k in (
        (days, 1),
        (ints(2), 1),
        (days, np.timedelta64(2, "h")),
        (days - days, 2),
        (days, 1.5),
    ):
        w(f, x, k)


@case
def views_as_another_dtype(w: World) -> None:
    @w.compiled
    def f(x):
        bits = x.view(np.int64 if x.itemsize == 8 else np.int32)
        bits ^= 1
        return bits, x, x.view("u1")

    for x in (floats(3), floats(3), floats(3, dtype="f4"), ints(3), floats(3)[::-1], floats(2, 2)):
        w(f, x)


@case
def the_dtype_is_asked(w: World) -> None:
    @w.compiled
    def f(x):
        if x.dtype == np.float32:
            return x * 2
        if np.issubdtype(x.dtype, np.integer):
            return x + 1
        return x, x.dtype, x.dtype.kind, x.dtype.name, x.itemsize

    for dtype in ("f4", "f4", "f8", "i1", ">f4", "c8", "u8", "O", "f4"):
        w(f, ints(3).astype(dtype))


@case
def same_sizes_other_names(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x.dtype.char, x * x

    for char in "lqlqiLQpP":
        w(f, np.array([1, 2, 3], char))


@case
def half_precision(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x * x, x.sum(), x > 0, x / 4

    for x in (floats(4, dtype="f2"), floats(4, dtype="f2"), floats(4), floats(0, dtype="f2")):
        w(f, x)


@case
def half_precision_overflows_to_inf(w: World) -> None:
    @w.compiled
    def f(x):
        return x * x - x

    for v in (2, 2, 300, 2, 300):
        w(f, np.full(3, v, "f2"))


@case
def unsigned_wraps_around(w: World) -> None:
    @w.compiled
    def f(x):
        return x - 1, -x, x - x[0], ~x, abs(x), np.diff(x)

    for dtype in ("u1", "u1", "u2", "u4", "u8", "i1"):
        w(f, np.array([3, 0, 1], dtype))


@case
def extremes_of_integers(w: World) -> None:
    @w.compiled
    def f(x):
        return abs(x), x // -1, x * -1, x - 1, x + 1, x.sum(), np.sign(x), x >> 1

    for dtype in ("i8", "i8", "i4", "i2", "i1"):
        info = np.iinfo(dtype)
        w(f, np.array([info.min, info.max, 0, -1], dtype))


@case
def floor_division_and_remainder_signs(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x // y, x % y, np.fmod(x, y), np.floor_divide(x, y), np.remainder(x, -y)

    a = np.array([7, -7, 7, -7, 0])
    b = np.array([2, 2, -2, -2, 3])
    for dtype in ("i8", "i8", "i1", "f8", "f4", "i4"):
        w(f, a.astype(dtype), b.astype(dtype))
    w(f, np.array([-0.0, 5.5, np.inf]), np.array([2.0, np.inf, 2.0]))


def others(n=4):
    """Arrays of the dtypes that are computed by NumPy alone."""
    yield ints(n) + 1j
    yield ints(n).astype(">f8")
    padded = np.zeros(n, "g")  # zeros between the numbers too: a byte swap makes them digits
    padded[...] = ints(n)
    yield padded
    yield ints(n).astype("c8")
    yield floats(n)


@case
def in_place_on_every_dtype(w: World) -> None:
    @w.compiled
    def f(x):
        before = x * 1
        x += 1
        x *= x
        y = x
        y -= 2
        return before, x * 1, y is x

    for x in others():
        w(f, x)
        w(f, x)
        w(f, x)


@case
def views_of_every_dtype_are_written(w: World) -> None:
    @w.compiled
    def f(x):
        v = x[1:]
        v += 1
        t = x.reshape(2, 2).T
        t *= 2
        x[::2] = 5
        x[-1] += 3
        return v, x + 0

    for x in others():
        w(f, x)
        w(f, x)
        w(f, x[::-1])


@case
def methods_that_write_into_every_dtype(w: World) -> None:
    @w.compiled
    def f(x, how):
        before = x * 1
        if how == "sort":
            x.sort()
        elif how == "fill":
            x.fill(2)
        elif how == "put":
            x.put([0], 7)
        elif how == "swap":
            x.byteswap(True)
        elif how == "lock":
            x.setflags(write=False)
        elif how == "partition":
            x.partition(1)
        after = x * 1
        if x.real.sum() > 8:
            return before, after, "large"
        return before, after

    for how in ("sort", "fill", "put", "lock", "partition", "swap"):
        for _ in range(2):
            for x in others():
                w(f, x[::-1].copy(), how)


@case
def out_and_where_of_every_dtype(w: World) -> None:
    @w.compiled
    def f(x, out):
        before = out * 1
        np.add(x, 1, out=out)
        middle = out * 1
        np.multiply(x, 2, out, where=x != 1)
        return before, middle, out * 1

    for x in others():
        w(f, x, x * 0)
        w(f, x, x * 0)
        w(f, x, x)


@case
def two_names_of_one_array_of_every_dtype(w: World) -> None:
    @w.compiled
    def f(x, y, items):
        x += 1
        items.append(y)
        items[0] += 1
        return y * 1, items[0] is x, items[-1] is y, x is y

    for x in others():
        w(f, x, x.copy(), [x])
        w(f, x, x.copy(), [x])
        w(f, x, x, [x])
        w(f, x, x[::-1], [x.copy()])


@case
def scalars_of_every_dtype(w: World) -> None:
    @w.compiled
    def f(x):
        s = x[0]
        t = s
        t += 1
        return s, t, x.sum(), x[1] * 2, abs(x[2]), s == t, x

    for x in others():
        w(f, x)
        w(f, x)


@case
def sizes_and_numbers_beside_complex(w: World) -> None:
    @w.compiled
    def f(x, s):
        return np.where(s, x.shape[0], x.mean()), np.where(x == 0, 1, x), np.clip(x.real, 0, len(x))

    for kind in ("f8", "c16", "c8", "f8"):
        for s in (True, False, np.array([True, False])):
            w(f, np.array([1, 0], kind), s)
