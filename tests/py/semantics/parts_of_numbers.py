"""Ufuncs of two results, and those whose operands or result have dtypes of their own."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case


def edges(dtype: str) -> np.ndarray:
    """Floats of every kind: zeros, subnormal ones, the largest, infinities, NaN."""
    limits = np.finfo(dtype)
    numbers = [0.0, 1, 0.5, 3.75, 1e-3, 2**10, np.inf]
    numbers += [limits.smallest_subnormal, limits.smallest_normal, limits.max]
    return np.array([*numbers, *(-each for each in numbers), np.nan], dtype)


@case
def mantissas_and_exponents(w: World) -> None:
    @w.compiled
    def f(x):
        mantissa, exponent = np.frexp(x)
        return mantissa, exponent, np.ldexp(mantissa, exponent), np.frexp(x[0])

    for t in ("f2", "f4", "f8", "i1", "u8"):
        x = edges(t) if t[0] == "f" else np.array([0, 1, 5, 100], t)
        w(f, x)
        w(f, x[::-2])
        w(f, np.stack([x, x]).T)


@case
def exponents_of_any_type(w: World) -> None:
    @w.compiled
    def f(x, powers):
        return np.ldexp(x, powers), np.ldexp(x, 3), np.ldexp(2.0, powers)

    for t in ("f2", "f4", "f8", "i4"):
        for of in ("i1", "u2", "i4", "i8"):
            w(f, np.array([0, 1, -3, 0.75]).astype(t), np.array([0, 3, 9, 1], of))
    far = np.array([-5000, 5000, 2**40, -(2**40), -1074, 1023, -149, 127])
    w(f, np.array([0.0, np.inf, np.nan, -0.0, 1, 1, 1, 1]), far)
    w(f, np.full(8, 1.7), far)


@case
def fractions_and_whole_parts(w: World) -> None:
    @w.compiled
    def f(x):
        return np.modf(x), np.divmod(x, 2)

    for t in ("f2", "f4", "f8", "i2", "u4"):
        w(f, edges(t)[np.isfinite(edges(t))] if t[0] == "f" else np.arange(7, dtype=t))
        w(f, np.zeros((3, 0), t))
    w(lambda x: np.modf(x), edges("f8"))


@case
def two_results_written_into_arrays(w: World) -> None:
    @w.compiled
    def f(x, whole, rest, test):
        first = np.divmod(x, 3, out=(whole, rest))
        second = np.modf(x, out=(None, whole), where=True)
        np.frexp(x, rest, where=test)
        np.divmod(x, 2, whole, rest, where=test)
        return first[0] is whole, first[1] is rest, second[0], second[1] is whole

    for t in ("f4", "f8"):
        x = np.arange(-4, 5).astype(t)
        w(f, x, np.zeros(9, t), np.zeros(9, t), x > 0)


@case
def results_in_the_operands(w: World) -> None:
    @w.compiled
    def f(x, y):
        np.divmod(x, y, out=(y, x))
        np.modf(x, out=(x, y))
        np.ldexp(x, 2, out=x)
        return x + y

    w(f, np.arange(9.0), np.arange(1.0, 10.0))


@case
def distances_to_the_next(w: World) -> None:
    @w.compiled
    def f(x):
        return np.spacing(x)

    for t in ("f2", "f4", "f8", "i4"):
        x = edges(t) if t[0] == "f" else np.array([0, 1, -5, 100], t)
        w(f, x)
        w(f, x[np.isfinite(x) & (np.abs(x.astype("f8")) < 6e4)])


@case
def ones_of_integers(w: World) -> None:
    @w.compiled
    def f(x):
        return np.bitwise_count(x), np.bitwise_count(x).sum(dtype=int)

    for t in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        limits = np.iinfo(t)
        w(f, np.array([0, 1, 7, limits.max, limits.min, limits.max // 3], t))
        w(f, np.array(5, t))
    w(f, np.array([True, False]))


@case
def conjugates_of_real_numbers(w: World) -> None:
    @w.compiled
    def f(x):
        return np.conjugate(x), np.conj(x), np.conjugate(x) is x, x.conj() is x, x.conjugate()

    for t in ("?", "i1", "u8", "f2", "f8"):
        w(f, np.array([[0, 1, 3], [4, 5, 6]], t))


@case
def powers_in_doubles(w: World) -> None:
    @w.compiled
    def f(x, y):
        return np.float_power(x, y), np.float_power(x, 2), np.float_power(2, y)

    for t in ("i1", "u4", "f2", "f4", "f8"):
        w(f, np.array([1, 2, 5], t), np.array([0, 1, 3], t))
    w(f, np.array([1, 2, 4]), np.array([-1, -2, 0]))
