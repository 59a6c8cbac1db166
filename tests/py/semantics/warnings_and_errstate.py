"""Floating-point warnings, and what np.errstate and warning filters make of them."""

from __future__ import annotations

import warnings

import numpy as np

from semantics.world import World, case, floats, ints


@case
def division_by_zero_warns_each_time(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x / y

    x = floats(4) + 2
    for y in (x, x, x * 0, x, x * 0, floats(4)):
        w(f, x, y)
    w(f, floats(0), floats(0))
    w(f, x * 0, x * 0)


@case
def overflow_and_invalid(w: World) -> None:
    @w.compiled
    def f(x):
        return np.exp(x) - np.exp(x)

    for big in (0, 0, 1000, 0, 1000):
        w(f, np.zeros(3) + big)
    w(f, np.zeros(3, np.float32) + 100)


@case
def square_root_and_logarithm_of_negatives(w: World) -> None:
    @w.compiled
    def f(x):
        return np.sqrt(x), np.log(x)

    one = np.ones(3)
    for x in (one, one, -one, one * 0, one, np.ones(5) * np.nan, np.ones(5) * -np.inf):
        w(f, x)


@case
def errstate_around_the_call(w: World) -> None:
    @w.compiled
    def f(x):
        return 1 / x

    for modes in (
        {},
        {"divide": "ignore"},
        {"divide": "raise"},
        {"divide": "ignore"},
        {"all": "print"},
        {},
    ):
        with np.errstate(**modes):
            w(f, np.ones(3))
            w(f, np.array([1.0, 0.0, 2.0]))


@case
def errstate_within_the_function(w: World) -> None:
    @w.compiled
    def f(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            y = x / x.sum()
        return y + 1 / x

    for x in (floats(4) + 3, floats(4) + 3, np.zeros(4), np.zeros(2), np.ones(6)):
        w(f, x)


@case
def errstate_that_raises_within(w: World) -> None:
    @w.compiled
    def f(x):
        try:
            with np.errstate(all="raise"):
                return np.log(x) * 0
        except FloatingPointError:
            return x * 0 - 1

    one = np.ones(3)
    for x in (one, one, one * 0, one, -one, np.ones((2, 2)), np.zeros(0)):
        w(f, x)


@case
def seterr_by_the_program(w: World) -> None:
    @w.compiled
    def f(x):
        old = np.seterr(divide="ignore")
        y = 1 / x
        np.seterr(**old)
        return y, 1 / (x + 1)

    for x in (np.ones(3), np.ones(3), np.zeros(3), -np.ones(3), np.ones(5)):
        w(f, x)


@case
def seterr_that_stays(w: World) -> None:
    @w.compiled
    def f(x, how):
        np.seterr(divide=how)
        return 1 / x

    for how in ("warn", "warn", "ignore", "raise", "warn"):
        w(f, np.ones(3), how)
        w(f, np.zeros(3), how)


@case
def a_callback_for_errors(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        return 1 / x + np.sqrt(x)

    with np.errstate(all="call", call=lambda kind, flag: log.append((kind, flag))):
        for x in (np.ones(3), np.ones(3), np.zeros(3), -np.ones(3), np.ones(3)):
            w(f, x)


@case
def overflow_of_integers_is_quiet_in_arrays(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x * y + x, -x

    for dtype in ("i1", "i1", "i8", "u1", "i4", "u8", "i1"):
        info = np.iinfo(dtype)
        w(f, np.array([info.max, info.min, 3], dtype), np.array([2, 3, 4], dtype))


@case
def overflow_of_integer_scalars_warns(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x[0] * y[0], x[0] + y[0], -x[0]

    for x in (1, 1, 127, -128, 1):
        w(f, np.array([x], "i1"), np.array([2], "i1"))
    w(f, np.array([255], "u1"), np.array([2], "u1"))


@case
def integer_division_by_zero(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x // y, x % y

    for y in (2, 2, 0, -1, 3):
        w(f, ints(4), ints(4) * 0 + y)
    w(f, np.array([-128], "i1"), np.array([-1], "i1"))
    w(f, floats(3), np.zeros(3))
    w(f, ints(0), ints(0))


@case
def casts_that_lose(w: World) -> None:
    @w.compiled
    def f(x):
        return x.astype(np.float32), x.astype(np.int32)

    one = np.ones(3)
    for x in (one, one, one * 1e300, one * np.nan, one * 3e9, one * 2.5, one * -np.inf):
        w(f, x)


@case
def means_of_nothing(w: World) -> None:
    @w.compiled
    def f(x):
        return x.mean(), x.sum()

    for n in (4, 4, 0, 1, 0, 8):
        w(f, np.ones(n))
    w(f, np.ones((0, 3)))


@case
def variance_with_too_few_elements(w: World) -> None:
    @w.compiled
    def f(x):
        return np.var(x, ddof=1)

    for n in (4, 4, 1, 2, 0, 4):
        w(f, np.ones(n))


@case
def warnings_of_the_program(w: World) -> None:
    @w.compiled
    def f(x):
        if x.shape[0] < 3:
            warnings.warn(f"only {x.shape[0]}", UserWarning, stacklevel=1)
        y = x * 2
        warnings.warn("always", DeprecationWarning, stacklevel=2)
        return y

    for n in (3, 3, 2, 5, 1, 3):
        w(f, floats(n))


@case
def warnings_turned_into_errors(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            log.append("in")
            y = 1 / x
            log.append("out")
        return y

    for x in (np.ones(3), np.ones(3), np.zeros(3), np.ones(3), np.zeros(2)):
        w(f, x)


@case
def warnings_caught_by_the_program(w: World) -> None:
    @w.compiled
    def f(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            y = np.log(x)
        return y * 0, [str(c.message) for c in caught]

    for x in (np.ones(3), np.ones(3), np.zeros(3), -np.ones(3), np.ones(2)):
        w(f, x)


@case
def masked_where_it_would_warn(w: World) -> None:
    @w.compiled
    def f(x):
        return np.where(x > 0, 1 / x, 0)

    for x in (np.ones(3), np.ones(3), np.zeros(3), floats(5), np.ones((2, 2))):
        w(f, x)


@case
def divided_only_where_it_is_safe(w: World) -> None:
    @w.compiled
    def f(x, out):
        return np.divide(1, x, out=out, where=x != 0)

    for x in (np.ones(3), np.ones(3), np.zeros(3), floats(5), np.ones((2, 2))):
        w(f, x, np.full(x.shape, 9.0))


@case
def underflow_when_asked_for(w: World) -> None:
    @w.compiled
    def f(x):
        return x * x

    tiny = np.full(3, 1e-200)
    for mode in ("ignore", "warn", "raise", "ignore"):
        with np.errstate(under=mode):
            w(f, np.ones(3))
            w(f, tiny)


@case
def nothing_is_computed_that_the_program_does_not(w: World) -> None:
    @w.compiled
    def f(x, y):
        if (y > 0).all():
            return x / y
        return x

    for y in (1, 1, 0, 1, 0):
        w(f, np.ones(3), np.full(3, float(y)))


@case
def powers_that_are_not_defined(w: World) -> None:
    @w.compiled
    def f(x, n):
        return x**n

    for x, n in (
        (np.ones(3), 2),
        (np.ones(3), 2),
        (np.zeros(3), -1),
        (-np.ones(3), 0.5),
        (np.ones(3), 0.5),
        (ints(3), 2),
        (ints(3) + 5, -1),
        (np.full(3, 1e200), 2),
    ):
        w(f, x, n)


@case
def nan_travels_without_a_warning(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x > 0, np.maximum(x, 0), np.fmax(x, 0), x == x, np.sign(x)

    for v in (1.0, 1.0, np.nan, np.inf, -0.0):
        w(f, np.array([v, 1.0]))


@case
def inf_minus_inf(w: World) -> None:
    @w.compiled
    def f(x):
        return x - x, x * 0, x.sum()

    for v in (1.0, 1.0, np.inf, -np.inf, np.nan, 2.0):
        w(f, np.array([v, 1.0, -v]))


@case
def constants_too_small_or_too_large_for_a_dtype(w: World) -> None:
    @w.compiled
    def f(x):
        return np.isclose(x, x), x * 1e-30, np.where(x > 0, x, 2.0), x + np.inf

    @w.compiled
    def g(x):
        return x + 1e10

    for mode in ("raise", "warn", "ignore"):
        with np.errstate(all=mode):
            for x in (np.array(-1, np.float16), np.ones(3, np.float16), floats(3)):
                for _ in range(2):
                    w(f, x)
                    w(g, x)


@case
def halves_that_signal(w: World) -> None:
    """NumPy's sort of halves ends in such NaNs; a conversion by bits makes them anywhere."""

    @w.compiled
    def f(x):
        y = np.sort(x, 0)
        return y / 3, y.mean(0)

    @w.compiled
    def g(x):
        return x * 2 + 1

    for count in (1, 3, 40, 700):
        x = floats(count, 2).astype(np.float16)
        y = x.copy()
        y[0] = np.nan
        z = x.copy()
        z[-1, 0] = np.array(0x7C01, np.uint16).view(np.float16)
        for each in (x, x, y, z):
            w(f, each)
            w(g, each)
