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


@case
def put_takes_values_round_and_round(w: World) -> None:
    def f(x, places, values):
        np.put(x, places, values)
        x[0] += 1
        return x.sum()

    def wrapped(x, places):
        x.put(places, [1, 2], mode="wrap")
        np.put(x, places, 5, mode="clip")

    for places in ([1, 5, 1], [-1, 0], [], [[2], [3]], 4, [2, 99], [1.5], [True]):
        put, put_in_mode = w.compiled(f), w.compiled(wrapped)
        for values in (7, [8.5, 9], [], np.arange(6), np.float64(2.5)):
            w(put, floats(4, 3), places, values)
            w(put, ints(4, 3), np.array(places), values)
            w(put, floats(4, 3)[::2], places, values)
        w(put_in_mode, floats(4, 3), places)
    frozen = floats(4, 3)
    frozen.flags.writeable = False
    w(w.compiled(f), frozen, [1], 5)


@case
def values_and_places_share_memory_with_what_is_written(w: World) -> None:
    @w.compiled
    def f(x, y):
        np.put(x, [0, 4, 2], x[1])
        x[y] = x[:2].sum()
        np.put(x, y, y)
        np.add.at(x, (y % 2, y % 3), x[0, 0])
        return x

    x = ints(4, 3)
    for _ in range(3):
        w(f, x, x[3])
        w(f, x, ints(3) % 3)
        w(f, floats(4, 3), ints(3) % 3)


@case
def at_places_of_several_axes(w: World) -> None:
    @w.compiled
    def f(x, i, j, v):
        np.add.at(x, (i, j), v)
        np.multiply.at(x, (i,), 2)
        np.subtract.at(x, (i, 0), v)

    for i in ([1, 1, -1], [0, 2, 0], [[0], [1]], 2, [5, 0, 0]):
        w(f, floats(3, 4), np.array(i), np.array([0, 0, 3]), 2.5)
        w(f, floats(3, 4), i, -1, 1)
        w(f, floats(4, 3).T, i, 2, [1.0])
        w(f, floats(2, 4, 2), i, [0, 1, 0], 3)


@case
def rows_are_read_through_writes_that_wait(w: World) -> None:
    @w.compiled
    def f(x, a, b, i, n):
        x[a] = 5
        x[i] = x[0] * 2
        r = x[b]
        x[1:n:2] = 7
        x[b] += x[a][:1]
        s = x[a] * 1
        np.maximum.at(x, b, 6)
        x[..., :1] = 3
        return r, s, x[b], x[a].sum()

    for a, b in (
        ([0, 0, 1], [1, -1, 1]),
        ([2], [0, 1, 2]),
        ([-1, 1], [1, 1]),
        ([9], [0]),
        ([0], [9]),
    ):
        for i, n in ((0, 3), (-1, 2), (2, -1)):
            for x in (floats(4), floats(4, 3), floats(3, 4).T, ints(4, 2)):
                w(f, x, np.array(a), np.array(b), i, n)


@case
def arrays_of_the_path_are_written_where_nobody_reads_them(w: World) -> None:
    @w.compiled
    def f(x, places, g):
        y = x * 2
        z = y.copy()
        y[places] = g
        kept = y[1:]
        y[places] += 1
        again = y * 1
        np.add.at(y, places, g)
        return y, z, kept, again

    @w.compiled
    def given(x, places):
        x[places, 0] = 9
        y = np.asarray(x)
        y[:, places] -= 1
        return y

    for places in ([0, 0], [1, -1], [5, 0]):
        w(f, floats(3, 2), np.array(places), 3)
        w(f, floats(2, 3).T, np.array(places), np.ones(2))
        w(given, floats(3, 3), np.array(places))
        w(given, w.watch(floats(3, 3)).T, places)
