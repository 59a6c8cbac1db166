"""reduce, accumulate, reduceat and outer of every binary ufunc, in NumPy's order of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from semantics.world import World, case

#: what NumPy reduces from left to right, with results that depend on it
ORDERED = (
    *(np.subtract, np.divide, np.floor_divide, np.remainder, np.fmod, np.copysign, np.nextafter),
    np.heaviside,
)
#: of which any order gives the same
INTEGRAL = (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm)
SHIFTS = (np.left_shift, np.right_shift)


def numbers(shape: tuple[int, ...], dtype: str, low: int = -4, high: int = 9) -> Any:
    """Small numbers, none of them 0, that no ufunc here warns of."""
    rng = np.random.default_rng(len(shape))
    made = np.asarray(rng.integers(max(low, 1) if dtype[0] in "u?" else low, high, shape))
    made[made == 0] = 3
    return (made + 0.25 * (dtype[0] == "f")).astype(dtype)


@case
def reductions_from_left_to_right(w: World) -> None:
    for ufunc in ORDERED:

        @w.compiled
        def f(x, ufunc=ufunc):
            return ufunc.reduce(x), ufunc.reduce(x, axis=-1), ufunc.reduce(x, keepdims=True)

        for t in ("f4", "f8", "i1", "i8", "u4"):
            if t == "u4" and ufunc in (np.copysign, np.nextafter, np.heaviside):
                continue
            for shape in ((5,), (1,), (3, 4), (1, 5), (4, 1), (2, 3, 4)):
                x = numbers(shape, t)
                w(f, x)
                w(f, np.asfortranarray(x))
                w(f, x[::-1])
            w(f, numbers((12,), t)[::3])


@case
def halves_from_left_to_right(w: World) -> None:
    @w.compiled
    def f(x):
        return np.subtract.reduce(x), np.divide.reduce(x), np.remainder.reduce(x)

    @w.compiled
    def g(x):
        return np.subtract.accumulate(x), np.divide.accumulate(x, axis=-1)

    for n in (1, 2, 5, 40):
        w(f, numbers((n,), "f2"))
        w(g, numbers((n,), "f2"))
    w(f, numbers((3, 4), "f2"))
    w(g, numbers((3, 4), "f2"))


@case
def reductions_of_bits(w: World) -> None:
    for ufunc in (*INTEGRAL, np.logical_xor):

        @w.compiled
        def f(x, ufunc=ufunc):
            everything = ufunc.reduce(x, axis=None if x.ndim == 1 else -1)
            return everything, ufunc.reduce(x, 0), ufunc.reduce(x, initial=6), ufunc.accumulate(x)

        for t in ("i1", "u1", "i4", "u8", "i8"):
            for shape in ((6,), (1,), (3, 5), (2, 3, 4)):
                w(f, numbers(shape, t))
                w(f, numbers(shape, t).T)


@case
def several_axes_at_once(w: World) -> None:
    @w.compiled
    def f(x):
        bits = np.bitwise_xor.reduce(x, axis=(0, 2)), np.bitwise_or.reduce(x, axis=None)
        return bits, np.gcd.reduce(x, (0, 1), keepdims=True), np.logical_xor.reduce(x, axis=(-1, 0))

    for shape in ((2, 3, 4), (1, 1, 1), (3, 0, 2), (0, 2, 2)):
        w(f, numbers(shape, "i4"))

    @w.compiled
    def g(x):
        return np.subtract.reduce(x, axis=(0, 1))  # in which order is not defined

    w(g, np.ones((2, 2)))


@case
def shifts_by_elements(w: World) -> None:
    for ufunc in SHIFTS:

        @w.compiled
        def f(x, ufunc=ufunc):
            return (
                ufunc.reduce(x),
                ufunc.accumulate(x, axis=-1),
                ufunc.reduce(x, axis=0, initial=77),
            )

        for t in ("i2", "u1", "i8"):
            w(f, numbers((4,), t, 1, 3))
            w(f, numbers((2, 3), t, 1, 3))


@case
def floats_in_an_order_of_their_own(w: World) -> None:
    @w.compiled
    def f(x):
        return np.hypot.reduce(x), np.logaddexp.reduce(x, axis=-1), np.logaddexp2.reduce(x, 0)

    @w.compiled
    def g(x):
        return np.hypot.accumulate(x), np.power.reduce(x), np.arctan2.reduce(x)

    for t in ("f4", "f8"):
        w(f, np.array([1.5], t))
        w(f, np.array([-1.5], t))
        w(f, np.array([], t))
        w(g, np.array([[2.0, 3], [2, 1]], t))


@case
def nothing_to_reduce(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.hypot.reduce(x),
            np.bitwise_and.reduce(x.astype(int)),
            np.gcd.reduce(x.astype(int)),
        )

    @w.compiled
    def g(x):
        return np.subtract.reduce(x)

    for x in (np.ones(0), np.ones((0, 3)), np.ones((3, 0)), np.ones((2, 3))):
        w(f, x)
        w(g, x)


@case
def reductions_with_a_start(w: World) -> None:
    @w.compiled
    def f(x, start):
        return (
            np.subtract.reduce(x, initial=start),
            np.subtract.reduce(x, initial=10, keepdims=True),
            np.divide.reduce(x, axis=-1, initial=start),
            np.hypot.reduce(x, initial=start),
            np.power.reduce(x, initial=2),
            np.subtract.reduce(x, initial=None),
        )

    for x in (np.array([2.0, 0.5, 4]), np.ones((2, 3)), np.ones((1, 1))):
        w(f, x, 3.0)
        w(f, x.astype("f4"), np.float32(2.5))

    @w.compiled
    def g(x):
        return np.bitwise_or.reduce(x, initial=None)

    w(g, np.array([1, 4]))


@case
def reductions_of_some_elements(w: World) -> None:
    @w.compiled
    def f(x, test):
        return (
            np.subtract.reduce(x, initial=1, where=test),
            np.divide.reduce(x, axis=-1, initial=1, where=test),
            np.hypot.reduce(x, where=test),
            np.remainder.reduce(x, 0, initial=100, where=test, keepdims=True),
            np.subtract.reduce(x, initial=1, where=test[:1]),
        )

    @w.compiled
    def bits(x, test):
        return np.bitwise_xor.reduce(x, where=test), np.gcd.reduce(x, where=test, initial=12)

    @w.compiled
    def needs_a_start(x, test):
        return np.subtract.reduce(x, where=test)

    for shape in ((5,), (1,), (3, 4), (4, 1)):
        x = numbers(shape, "f8")
        for test in (x > 2, x > 100, x < 100):
            w(f, x, test)
            w(f, x.T, test.T)
            w(bits, x.astype("i4"), test)
            w(needs_a_start, x, test)


@case
def reductions_into_an_array(w: World) -> None:
    @w.compiled
    def f(x, out):
        made = np.subtract.reduce(x, out=out)
        np.divide.reduce(x, 0, None, out[:])
        return made is out, np.bitwise_or.reduce(x.astype(int), 0, dtype="i2")

    w(f, numbers((3, 4), "f8"), np.zeros(4))
    w(f, numbers((3, 4), "i4"), np.zeros(4))
    w(f, numbers((3, 4), "f8"), np.zeros(3))


@case
def reductions_in_another_dtype(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.subtract.reduce(x, dtype="f4"),
            np.divide.reduce(x, dtype=np.float64),
            np.subtract.accumulate(x, dtype="f8"),
            np.power.reduce(x, dtype="i8"),
            np.float_power.reduce(x),
        )

    for t in ("i1", "u2", "i8"):
        w(f, numbers((4,), t, 1, 3))


@case
def running_results_of_all(w: World) -> None:
    for ufunc in (*ORDERED, np.logical_or, np.logical_xor, np.logical_and):

        @w.compiled
        def f(x, ufunc=ufunc):
            return ufunc.accumulate(x), ufunc.accumulate(x, axis=-1)

        for shape in ((5,), (1,), (0,), (3, 4), (4, 0), (2, 3, 4)):
            x = numbers(shape, "f8")
            w(f, x)
            w(f, np.asfortranarray(x))
            w(f, x[::-1])
    w(lambda x: np.fmax.accumulate(x), np.array([1.0, np.nan, 3, 2, np.nan, 7]))
    w(lambda x: np.subtract.accumulate(x), np.array([np.inf, 1, -np.inf, np.nan]))


@case
def running_results_into_an_array(w: World) -> None:
    @w.compiled
    def f(x, out):
        np.subtract.accumulate(x, out=out)
        np.subtract.accumulate(x, axis=0, out=x)
        return x + out

    for shape in ((4,), (3, 2)):
        w(f, numbers(shape, "f8"), np.zeros(shape))


@case
def comparisons_of_truths(w: World) -> None:
    @w.compiled
    def f(x):
        return np.equal.reduce(x), np.not_equal.accumulate(x), np.less.reduce(x, axis=-1)

    for shape in ((5,), (1,), (3, 4)):
        w(f, numbers(shape, "i4") > 2)


@case
def pieces(w: World) -> None:
    for ufunc in (np.add, np.multiply, np.maximum, np.subtract, np.bitwise_or, np.logical_and):

        @w.compiled
        def f(x, places, ufunc=ufunc):
            return ufunc.reduceat(x, places), ufunc.reduceat(x, [0, 2, 1], axis=-1)

        for t in ("f4", "f8", "i4", "u1"):
            if ufunc is np.bitwise_or and t[0] == "f":
                continue
            for shape in ((5,), (4, 3), (3, 3, 4)):
                x = numbers(shape, t)
                for places in ([0], [0, 2], [2, 0, 1], [1, 1, 1]):
                    w(f, x, np.array(places))
                    w(f, np.asfortranarray(x), np.array(places, "i4"))
                w(f, x, np.array([0, 9]))
                w(f, x, np.array([-1]))
                w(f, x, np.array([], int))


@case
def pieces_of_zeros(w: World) -> None:
    """A sum of none but -0. is -0., for no 0 is added to."""

    @w.compiled
    def f(x, places):
        return np.signbit(np.add.reduceat(x, places)), np.signbit(np.add.reduceat(x, places, -1))

    for t in ("f2", "f4", "f8"):
        for shape in ((2,), (9,), (600,), (3, 4)):
            for x in (-np.zeros(shape, t), np.where(np.arange(shape[-1]) == 1, 0.0, -0.0)):
                w(f, x.astype(t), np.array([0, 0]))
                w(f, x.astype(t), np.array([0, 1]))


@case
def pieces_into_an_array(w: World) -> None:
    @w.compiled
    def f(x, out):
        made = np.add.reduceat(x, [0, 3], out=out)
        return made is out, np.add.reduceat(x, [0, 3], dtype="f8"), np.add.reduceat(x, [0, 3], -1)

    w(f, numbers((6,), "i4"), np.zeros(2, "i8"))
    w(f, numbers((6,), "f4"), np.zeros(2, "f4"))


@case
def tables_of_all_pairs(w: World) -> None:
    @w.compiled
    def f(x, y, out):
        made = np.subtract.outer(x, y, out=out)
        return (
            made is out,
            np.less.outer(x, y),
            np.divmod.outer(x, y),
            np.multiply.outer(x, y, dtype="f4"),
            np.hypot.outer(x, 2.0),
            np.add.outer(x, [1, 2]),
        )

    for t in ("f8", "f4"):
        w(f, numbers((3,), t), numbers((4,), t), np.zeros((3, 4), t))
        w(f, numbers((3, 2), t).T, numbers((4,), t), np.zeros((2, 3, 4), t))
        w(f, numbers((0,), t), numbers((4,), t), np.zeros((0, 4), t))


@case
def folds_over_no_axis(w: World) -> None:
    @w.compiled
    def f(x, test):
        return (
            np.hypot.reduce(x, axis=()),
            np.subtract.reduce(x, axis=()),
            np.subtract.reduce(x, axis=(), initial=3),
            np.subtract.reduce(x, axis=(), initial=3, where=test),
            np.logical_xor.reduce(x, axis=()),
        )

    w(f, np.array([-1.5, 2]), np.array([True, False]))
    w(f, np.array(-1.5), np.array(True))
    w(f, np.ones((2, 3)).T, np.ones((3, 2), bool))
    w(lambda x: (np.hypot.reduce(x), np.subtract.reduce(x), np.gcd.reduce(int(x))), np.float64(-2))
