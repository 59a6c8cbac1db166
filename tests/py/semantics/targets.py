"""Results that go into large arrays of the caller, which a replay writes at once where it may."""

from __future__ import annotations

import warnings

import numpy as np

from semantics.world import World, case

N = 4096  # of f64: 32 KiB, from which on results are written at once


def numbers(n: int = N, start: float = 1.0) -> np.ndarray:
    return np.arange(n, dtype=np.float64) / 8 + start


@case
def out_of_a_ufunc(w: World) -> None:
    @w.compiled
    def f(a, b, c):
        return np.add(a, b, out=c)

    for n in (N, N, N + 1, 3):
        w(f, numbers(n), numbers(n, 5.0), numbers(n, 7.0))
    a, b, c = numbers(), numbers(), numbers()
    w(f, a, b, c)
    w(f, a, b, a)
    w(f, a, a, b)
    w(f, c, c, c)


@case
def sizes_that_differ(w: World) -> None:
    @w.compiled
    def f(a, b, c):
        np.multiply(a, 2.0, out=c)
        np.add(c, b, out=c)

    c = w.watch(numbers())
    w(f, numbers(), numbers(), c)
    w(f, numbers(), numbers(), c)
    w(f, numbers(1), numbers(), c)
    w(f, numbers(2), numbers(), c)  # raises at once
    w(f, numbers(), numbers(2), c)  # raises when half is done
    w(f, numbers(), numbers(), c)


@case
def assigned_as_a_whole(w: World) -> None:
    @w.compiled
    def f(a, c):
        c[...] = np.sqrt(a) * 2
        return c.max(), c

    for n in (N, N, 2 * N, 1):
        w(f, numbers(n), numbers(n, 3.0))
    w(f, numbers(1), numbers())
    w(f, numbers(), numbers().reshape(64, 64).T.reshape(-1))


@case
def overlapping_memory(w: World) -> None:
    @w.compiled
    def f(a, b, c):
        c[:] = a * 2 + b

    whole = w.watch(numbers(2 * N))
    w(f, numbers(), numbers(), numbers())
    w(f, whole[:N], numbers(), whole[N:])
    w(f, whole[:N], numbers(), whole[1 : N + 1])
    w(f, whole[1 : N + 1], whole[:N], whole[:N])
    w(f, whole[:N][::-1], numbers(), whole[:N])
    w(f, whole[::2], numbers(), whole[1::2])


@case
def two_targets(w: World) -> None:
    @w.compiled
    def f(a, c, d):
        np.add(a, 1.0, out=c)
        np.subtract(a, 1.0, out=d)
        return a * 3

    whole = w.watch(numbers(2 * N))
    for _ in range(2):
        w(f, numbers(), numbers(), numbers())
    w(f, numbers(), whole[:N], whole[N:])
    w(f, numbers(), whole[:N], whole[1 : N + 1])
    w(f, numbers(), whole[:N], whole[:N])


@case
def arrays_that_change_places(w: World) -> None:
    @w.compiled
    def f(a, b):
        kept = a + 0
        a[:] = b
        b[:] = kept

    a, b = numbers(), numbers(start=100.0)
    for _ in range(3):
        w(f, a, b)


@case
def a_result_that_is_also_returned(w: World) -> None:
    @w.compiled
    def f(a, c):
        t = a * 2
        c[:] = t
        return t, c

    for _ in range(3):
        w(f, numbers(), numbers())


@case
def the_old_content_counts(w: World) -> None:
    @w.compiled
    def f(a, c):
        c += a
        return c

    @w.compiled
    def part(a, c):
        c[1:-1] = a[2:] * 2

    @w.compiled
    def chosen(a, c):
        np.divide(a, 2.0, out=c, where=a > 20)

    for g in (f, part, chosen):
        for _ in range(3):
            w(g, numbers(), numbers(start=50.0))


@case
def layouts(w: World) -> None:
    @w.compiled
    def f(a, c):
        np.multiply(a, a, out=c)

    for order in "CFCF":
        w(f, numbers().reshape(64, 64), np.zeros((64, 64), order=order))
    w(f, numbers().reshape(64, 64).T, np.zeros((64, 64)))
    w(f, numbers().reshape(64, 64), np.zeros((64, 128))[:, ::2])
    frozen = np.zeros((64, 64))
    frozen.flags.writeable = False
    w(f, numbers().reshape(64, 64), frozen)
    odd = np.zeros(8 * N + 1, np.uint8)[1:].view(np.float64).reshape(64, 64)
    w(f, numbers().reshape(64, 64), odd)


@case
def warnings_on_the_way(w: World) -> None:
    @w.compiled
    def f(a, b, c):
        np.sqrt(a, out=c)
        np.divide(c, b, out=c)
        return c

    good, bad = numbers(), numbers(start=-5.0)
    for a in (good, good, bad, good):
        for b in (good, good * 0, good):
            w(f, a, b, numbers())


@case
def warnings_that_are_errors(w: World) -> None:
    @w.compiled
    def f(a, b, c):
        np.add(np.sqrt(a), b, out=c)

    def strictly(a, b, c):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            f(a, b, c)

    c = w.watch(numbers(start=9.0))
    for a in (numbers(), numbers(), numbers(start=-1.0), numbers()):
        w(f, a, numbers(), c)
        w(strictly, a, numbers(start=2.0), c)


@case
def a_warning_shown_by_raising(w: World) -> None:
    @w.compiled
    def f(a, c):
        np.add(np.sqrt(a), 1.0, out=c)

    def show(*_, **__):
        raise KeyError("shown")

    def shown(a, c):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            f(a, c)

    c = w.watch(numbers(start=9.0))
    for a in (numbers(), numbers(), numbers(start=-1.0), numbers()):
        w(shown, a, c)


@case
def error_states_that_raise(w: World) -> None:
    @w.compiled
    def f(a, c):
        np.add(np.sqrt(a), 1.0, out=c)

    @w.compiled
    def inside(a, c):
        with np.errstate(all="raise"):
            np.add(np.sqrt(a), 1.0, out=c)

    def outside(a, c):
        with np.errstate(all="raise"):
            f(a, c)

    c = w.watch(numbers(start=9.0))
    for g in (f, inside, outside):
        for a in (numbers(), numbers(), numbers(start=-1.0), numbers()):
            w(g, a, c)


@case
def content_that_steers(w: World) -> None:
    @w.compiled
    def f(a, c):
        if c[0] > 5:
            np.add(a, 1.0, out=c)
        else:
            np.negative(a, out=c)
        return float(c[1])

    c = numbers()
    for _ in range(4):
        w(f, numbers(), c)
    w(f, numbers() * 1e4, c)
    w(f, numbers(), c)


@case
def parts_one_by_one(w: World) -> None:
    @w.compiled
    def f(a, c):
        c[1:-1] = a[2:] * 2
        c[0] = c[1] + 1
        c[-1] = c[-2]
        return c[::2].max()

    for n in (N + 2, N + 2, N + 7, 5, 3):
        w(f, numbers(n), numbers(n, 40.0))
    whole = w.watch(numbers(2 * N))
    w(f, whole[:N], whole[N:])
    w(f, whole[:N], whole[:N])
    w(f, whole[1:N], whole[: N - 1])
    w(f, numbers(2), numbers(2))
    w(f, numbers(4), numbers(3))  # sizes that do not fit


@case
def parts_of_a_matrix(w: World) -> None:
    @w.compiled
    def f(u, v):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.25 * (u[2:, 1:-1] - u[:-2, 1:-1])
        v[0, :] = 1.0
        v[:, -1] = u[:, 0]
        return v[1:-1]

    for order in "CCFC":
        u, v = numbers().reshape(64, 64), np.zeros((64, 64), order=order)
        w(f, u, v)
        w(f, v, u)
        w(f, u, u)
    w(f, numbers().reshape(64, 64), np.zeros((64, 64))[::-1, ::-1])


@case
def parts_that_are_not_there(w: World) -> None:
    @w.compiled
    def f(a, c, i):
        c[:3] = a[:3] * 2
        c[i] = a[0] / a[1]

    c = w.watch(numbers())
    for i in (5, 5, -1, N, N - 1, -N - 1):
        w(f, numbers(), c, i)
    w(f, numbers() * 0, c, 2)


@case
def more_parts_than_are_written_one_by_one(w: World) -> None:
    @w.compiled
    def f(a, c):
        for i in range(9):
            c[i] = a[i] * i
        return c

    for n in (9, 9, N, 8):
        w(f, numbers(n), numbers(n))


@case
def a_part_of_a_part(w: World) -> None:
    @w.compiled
    def f(a, c):
        row = c[2]
        row[1:-1] = a * 3
        row += 1
        return row, row.base is c

    for _ in range(3):
        w(f, numbers(62), numbers().reshape(64, 64))


@case
def integers_to_negative_powers(w: World) -> None:
    @w.compiled
    def f(a, b, c):
        c[...] = a**b

    @w.compiled
    def g(a, b, c):
        c[...] = np.power.accumulate(a * b)

    a, c = np.arange(N) % 5 + 1, w.watch(np.zeros(N, np.int64))
    for exponent in (2, 3, -1, 2):
        b = np.full(N, 1)
        b[-1] = exponent
        w(f, a, b, c)
        w(g, np.ones(N, np.int64), b, c)


@case
def indices_that_do_not_fit(w: World) -> None:
    @w.compiled
    def f(a, k, c):
        c[...] = np.take_along_axis(a, np.arange(len(c)) + k, 0)

    @w.compiled
    def g(a, k, c):
        c[...] = a[np.arange(len(c)) + k]

    c = w.watch(numbers())
    for k in (0, 3, 1000, 1):
        w(f, numbers(N + 4, 3.0), k, c)
        w(g, numbers(N + 4, 3.0), k, c)
