"""NumPy's own functions called as a whole: what they write, return, warn of and raise."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def percentiles_of_any_shape(w: World) -> None:
    @w.compiled
    def f(x, q):
        return np.percentile(x, q), np.median(x, axis=0), np.quantile(x, 0.3, keepdims=True)

    for n in (3, 3, 5, 1):
        w(f, floats(n, 2), 50)
        w(f, floats(n, 2), [10, 90])
    w(f, np.array([[1.0, np.nan]]), 50)
    w(f, floats(0, 2), 50)
    w(f, floats(3, 2), 101)


@case
def a_container_of_an_array_that_was_written(w: World) -> None:
    @w.compiled
    def f(keys):
        keys[0][...] = -keys[0]
        return np.lexsort(keys)

    @w.compiled
    def g(keys):
        keys[1] += 3
        return np.lexsort(keys), np.lexsort((keys[0], keys))

    for n in (4, 4, 2, 1):
        w(f, [ints(n) * 3 % 5])
        w(f, (ints(n) * 3 % 5, ints(n)))
        w(g, [ints(n) * 3 % 5, ints(n)])
    one = ints(4)
    w(f, [one, one])


@case
def a_patched_function_runs(w: World) -> None:
    @w.compiled
    def f(x):
        return np.median(x) + np.percentile(x, 20)

    w(f, floats(4))
    w(f, floats(4))
    own = np.median
    np.median = lambda x: x.sum() * 100
    try:
        w(f, floats(4))
        w(f, floats(4))
    finally:
        np.median = own
    w(f, floats(4))


@case
def results_by_out(w: World) -> None:
    @w.compiled
    def f(x, out):
        a = np.median(x, axis=0, out=out)
        b = out + 0
        c = np.percentile(x, 30, axis=0, out=out)
        np.quantile(x, 0.5, 0, out)
        return a is out, c is out, b, out * 2, a

    for n in (3, 3, 5):
        w(f, floats(n, 2), np.zeros(2))
        w(f, floats(n, 2), np.zeros(4)[::2])
    both = floats(2, 2)
    w(f, both, both[0])
    w(f, both, np.zeros(2, np.float32))
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    w(f, both, frozen)
    w(f, both, np.zeros(3))


@case
def the_input_is_overwritten(w: World) -> None:
    @w.compiled
    def f(x, y):
        m = np.median(x, overwrite_input=True)
        np.nan_to_num(y, copy=False)
        return m, x.sum(), y * 2

    for n in (5, 5, 8):
        w(f, floats(n)[::-1].copy(), np.array([np.nan, 1.0, np.inf]))
    both = floats(6)[::-1].copy()
    w(f, both, both)


@case
def ufunc_at(w: World) -> None:
    @w.compiled
    def f(x, i, v):
        before = x * 1
        r = np.add.at(x, i, v)
        np.negative.at(x, [0])
        return before, r, x.copy()

    for n in (4, 4, 6):
        w(f, floats(n), np.array([0, 0, 2]), np.array([1.0, 2.0, 3.0]))
    w(f, floats(8)[::2], np.array([0, 0, 2]), np.array([1.0, 2.0, 3.0]))
    one = floats(3)
    w(f, one, np.array([0, 0, 2]), one)
    w(f, one[::-1], np.array([0, 0, 2]), one)
    w(f, one, np.array([0, 9]), 1.0)
    w(f, one, np.array([0, 1]), np.array([1.0, 2.0, 3.0]))
    w(f, np.arange(3), np.array([0, 1]), 1.5)
    frozen = floats(3)
    frozen.flags.writeable = False
    w(f, frozen, np.array([0, 0]), 1.0)


@case
def writes_into_one_argument(w: World) -> None:
    @w.compiled
    def f(x, m, v):
        np.copyto(x, v, where=m)
        a = x * 1
        np.place(x, x > 1, [7.0, 8.0])
        np.putmask(x, m, 3.0)
        np.put(x, [0, -1], [1.5, 2.5])
        return a, x + 0

    for n in (3, 3, 5):
        w(f, floats(n), np.arange(n) > 0, floats(n) * 2)
    x = floats(4)
    w(f, x, x > 0, x)
    w(f, x[1:], x[1:] > 0, x[:-1])
    w(f, x, x[:2] > 0, x)
    w(f, ints(4), ints(4) > 1, ints(4))
    w(f, ints(4), ints(4) > 1, floats(4))


@case
def writes_into_a_view_of_an_argument(w: World) -> None:
    @w.compiled
    def f(x):
        row = x[1]
        row.sort()
        np.fill_diagonal(x, 9.0)
        x[:, 0].partition(1)
        np.add.at(x[0], [1, 1], 10.0)
        return row * 1, x

    for n in (3, 3, 4):
        w(f, -floats(n, n))
    w(f, -floats(6, 6)[::2, ::2])
    w(f, -floats(1, 3))


@case
def what_is_returned_is_the_argument(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.asanyarray(x)
        z = np.atleast_2d(x)
        return y is x, y, z

    for x in (floats(3), floats(3), floats(2, 2), 3.5, [1, 2], floats(4)[::2]):
        w(f, x)


@case
def a_result_that_shares_memory_is_written(w: World) -> None:
    @w.compiled
    def f(x, which):
        y = np.rot90(x) if which else np.trim_zeros(x[0])
        y += 1
        x *= 2
        return y, x

    for which in (True, True, False, False):
        w(f, floats(3, 3), which)


@case
def views_by_opaque_calls_of_intermediates(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        z = np.trim_zeros(y)
        return z, z.sum(), y

    for x in (floats(3), floats(3), np.array([0.0, 1.0, 0.0]), np.zeros(2)):
        w(f, x)


@case
def complex_arrays_are_numpys(w: World) -> None:
    @w.compiled
    def f(x):
        z = x + 1j * x[::-1]
        before = z.real + 0
        head = z[:2]
        z[0] = 5
        z *= 2
        np.add.at(z, [1, 1], 1j)
        head += 1
        return before, z, head, z.real, z.real.sum(), abs(z), z.conj()

    for n in (3, 3, 5):
        w(f, floats(n))
    w(f, floats(1))
    w(f, floats(0))


@case
def a_complex_array_of_the_caller(w: World) -> None:
    @w.compiled
    def f(z):
        half = z[::2]
        half *= 2
        z[0] = 1j
        return half, z.imag.sum()

    for n in (3, 3, 5):
        w(f, floats(n) * 1j)


@case
def parts_of_a_complex_array_change_with_it(w: World) -> None:
    @w.compiled
    def f(x):
        z = x * 1j
        part = z.imag
        total = part.sum()
        z[0] = 100j
        part[1] = 7.0
        return total, part.sum(), z, part * 2

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def arrays_of_objects_made_inside(w: World) -> None:
    @w.compiled
    def f(x):
        a = np.array([1, 2.5, 3], dtype=object)
        b = a + a
        b[0] = 7
        return b, b.sum(), np.add.reduce(a), a.astype(float) * x

    for n in (3, 3, 1):
        w(f, floats(n))


@case
def arrays_of_objects_of_the_user(w: World) -> None:
    log = w.watch([])

    class Loud:
        def __add__(self, other):
            log.append("add")
            return self

        __radd__ = __add__

    table = np.array([Loud(), Loud()], dtype=object)

    @w.compiled
    def f(x):
        return (table + x).shape

    for n in (2, 2, 2):
        w(f, floats(n))


@case
def warnings_within(w: World) -> None:
    @w.compiled
    def f(x):
        return np.nanmedian(x), np.mean(x)

    for x in (floats(3), floats(3), np.array([np.nan, np.nan]), floats(3), np.zeros(0), floats(2)):
        w(f, x)


@case
def an_exception_within(w: World) -> None:
    @w.compiled
    def f(x, log, q):
        log.append("before")
        y = np.percentile(x, q)
        log.append("after")
        return y

    log = w.watch([])
    for q in (10, 20, 200, 30):
        w(f, floats(3), log, q)


@case
def generators_of_the_programs_own(w: World) -> None:
    @w.compiled
    def f(n, seed):
        rng = np.random.default_rng(seed)
        old = np.random.RandomState(seed)
        return rng.random(n), rng.integers(10, size=3), old.rand(2), rng.standard_normal()

    for n, seed in ((3, 1), (3, 1), (4, 2), (0, 1)):
        w(f, n, seed)
    w(f, 3, -1)


@case
def a_generator_that_is_returned(w: World) -> None:
    @w.compiled
    def f(x):
        rng = np.random.default_rng(7)
        return rng.random() * x, rng

    for n in (2, 2, 3):
        made = w(f, floats(n))
        w.note(made[1].random())
        made[0][:] = 0


@case
def draws_from_the_shared_generator(w: World) -> None:
    rand, randint = np.random.rand, np.random.randint
    np.random.seed(3)

    @w.compiled
    def f(x):
        return x + rand(), randint(0, 100, size=2)

    for n in (2, 2, 3):
        w(f, floats(n))
    w(f, None)
    w(f, floats(2))


@case
def two_c_types_of_one_size(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x.astype("q"), (x * 2).dtype.char, np.dtype("q").char

    for x in (ints(3), ints(3), np.arange(3, dtype="q"), np.arange(3, dtype="Q"), ints(2)):
        w(f, x)


@case
def lists_of_loops_of_a_ufunc(w: World) -> None:
    @w.compiled
    def f(x):
        kept = [t for t in np.add.types if "O" not in t]
        own = np.sin.types
        own.append("mine")
        return len(kept), own, np.add.nin, np.dtype(kept[0][0]).type, x + len(own)

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def limits_of_dtypes(w: World) -> None:
    @w.compiled
    def f(x):
        info, number = np.finfo(x.dtype), np.iinfo(np.int16)
        return x * info.eps, info.max, info.tiny, number.min, number.max, info.dtype

    for x in (floats(2), floats(2), floats(2).astype(np.float32)):
        w(f, x)


@case
def an_error_state_that_ignores_less(w: World) -> None:
    @w.compiled
    def f(x):
        with np.errstate(divide="raise"):
            a = np.interp(x, x, x)
            return a, (x + 0j) / x

    with np.errstate(all="ignore"):
        for x in (floats(3) + 1, floats(3) + 1, np.zeros(2), floats(2) + 1):
            w(f, x)


@case
def loops_over_arrays_that_are_numpys(w: World) -> None:
    @w.compiled
    def f(x):
        z = x * 1j
        rows = list(z.reshape(-1, 1))
        total = 0
        for part in z:
            total = total + part
        rows[0][0] = 7
        return total, rows, z

    for n in (3, 3, 2, 1):
        w(f, floats(n))


@case
def resize_counts_references(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.copy()
        y.resize((2, 2))
        return y

    for n in (6, 6, 3):
        w(f, floats(n))
