"""Writes into parts of arrays of the caller, which behind the commit cost what the parts do."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def places_out_of_bounds_leave_all_as_it_was(w: World) -> None:
    @w.compiled
    def f(x, log, places):
        log.append(len(log))
        x[0] = 7
        x[places] = 1
        x[-1] = 8

    for places in ([0, 1], [1, 2], [2, 9], [0, -3], [0, -4]):
        w(f, floats(3, 2), [], np.array(places))


@case
def an_exception_of_an_index_is_caught_inside(w: World) -> None:
    @w.compiled
    def f(x, i):
        try:
            x[1] = 5
            x[i] = 7
            np.add.at(x, i, 2)
        except IndexError:
            x[0] = -1
        return x.sum()

    for i in (0, 1, 2, 7, -7):
        w(f, floats(3), i)


@case
def a_path_captured_within_bounds_raises_beyond_them(w: World) -> None:
    @w.compiled
    def f(x, i, j):
        x[i] = x[j]
        x[[i, j]] = x[[j, i]]
        return x

    for i, j in ((0, 1), (1, 0), (2, 1), (5, 0), (0, 5), (-1, -3), (-4, 0)):
        w(f, floats(3), i, j)
        w(f, floats(3, 2), i, j)


@case
def what_is_read_between_is_what_was_written_so_far(w: World) -> None:
    @w.compiled
    def f(x, i, j):
        a = x[i] * 1
        x[i] = 10
        b = x[j] * 1
        x[j] += a
        c = x[1:3] * 1
        x[0], x[1] = x[1], x[0]
        return a, b, c, x[i] + x[j], x.sum()

    for i, j in ((0, 1), (1, 1), (2, 0), (-1, 2), (0, 1)):
        w(f, floats(4, 3), i, j)


@case
def views_outside_see_the_writes(w: World) -> None:
    x = w.watch(floats(6, 4))
    w.watch(x[2:4])
    w.watch(x.T)

    @w.compiled
    def f(x, idx):
        v = x[1:5]
        v[1:3] *= 2
        x.ravel()[5] = -1
        x[idx] -= 1
        np.add.at(x, idx, 1)
        return v

    for _ in range(3):
        w(f, x, np.array([0, 3, 3, -1]))


@case
def arrays_that_may_overlap(w: World) -> None:
    @w.compiled
    def f(x, y):
        x[0] = y[1]
        y[0] = x[0] * 2
        x[1:] = y[:-1]
        return x, y

    x = floats(8)
    for a, b in ((x[:4], x[4:]), (x[:4], x[2:6]), (x[:4], x[:4]), (floats(4), floats(4))):
        w(f, a, b)
    w(f, x[::-2], x[1::2])


@case
def places_named_by_the_array_itself(w: World) -> None:
    @w.compiled
    def f(x, y):
        x[x] = y
        y[x] += 1
        x[y] = x[:3]
        return x, y

    for _ in range(3):
        w(f, ints(3) % 3, np.array([2, 0, 1]))


@case
def arrays_that_may_not_be_written(w: World) -> None:
    @w.compiled
    def f(x, i):
        x[0] = i
        x[[0, i]] = 3
        np.add.at(x, i, 1)

    locked = floats(3)
    locked.flags.writeable = False
    for x in (floats(3), locked, floats(3), np.broadcast_to(floats(1), (3,))):
        w(f, x, 1)


@case
def values_that_do_not_fit(w: World) -> None:
    @w.compiled
    def f(x, idx, v):
        x[idx] = v
        return x

    for v in (floats(2), floats(1), floats(2, 1), floats(1, 1, 2), floats(3), floats(), 2, True):
        w(f, floats(4, 2), np.array([0, 2]), v)
        w(f, ints(4, 2), np.array([0, 2]), v)


@case
def the_real_part_is_the_array(w: World) -> None:
    @w.compiled
    def f(x, y):
        x.real = y
        x.real[0] = 3
        return x

    for x in (floats(3), floats(3), ints(3)):
        w(f, x, 2)
        w(f, x, floats(3))


@case
def a_known_scalar_in_another_dtype(w: World) -> None:
    @w.compiled
    def gelu_factor(x):
        return x * np.sqrt(2 / np.pi).astype(x.dtype), np.sqrt(2.0).astype(np.float32)

    for dtype in ("f4", "f4", "f8", "f2"):
        w(gelu_factor, floats(3).astype(dtype))
    w.captured(gelu_factor, 3)


@case
def arrays_made_inside_are_written_in_parts(w: World) -> None:
    @w.compiled
    def f(x, i):
        y = np.zeros_like(x)
        y[0] = 1
        y[1:-1] = x[2:] - x[:-2]
        y[i] += y[i - 1]
        y[[0, 1]] = y[[1, 0]]
        return y, y[1:].sum()

    for i in (1, 2, -1, 0):
        w(f, floats(5), i)
        w(f, floats(5, 3), i)


@case
def padding_by_parts(w: World) -> None:
    for mode in ("edge", "wrap", "reflect"):

        @w.compiled
        def f(x, n, mode=mode):
            return np.pad(x, n, mode=mode), np.pad(x, ((0, n), (1, 0)), mode)

        for n, shape in (
            (1, (3, 4)),
            (2, (3, 4)),
            (2, (2, 5)),
            (3, (2, 2)),
            (1, (0, 2)),
            (0, (2, 1)),
        ):
            w(f, floats(*shape), n)
            w(f, np.asfortranarray(floats(*shape)), n)
