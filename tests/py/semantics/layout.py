"""Layouts: empty and 0-d arrays, negative strides, Fortran order, broadcast views, read-only."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


def readonly(x):
    x.flags.writeable = False
    return x


@case
def results_keep_the_order_of_the_operands(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, x * 2, np.empty_like(x).strides, x.copy(), x.copy("K"), np.sqrt(x * x)

    c, t = floats(3, 4), floats(4, 3).T
    for x, y in ((c, c), (c, c), (t, t), (c, t), (t, c), (c[:, ::-1], c), (c[::-1, ::-1], c)):
        w(f, x, y)


@case
def order_in_three_dimensions(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, -x.transpose(1, 2, 0), x.sum(axis=1), x.swapaxes(0, 2) * x.swapaxes(0, 2)

    base = floats(2, 3, 4)
    for axes in ((0, 1, 2), (0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0), (0, 2, 1)):
        w(f, base.transpose(axes))
    w(f, floats(1, 3, 1))
    w(f, floats(2, 0, 4))


@case
def shapes_that_shrink_to_one_and_nothing(w: World) -> None:
    @w.compiled
    def f(x, y):
        return (x + y) * 2, x.sum(axis=0), (x - y).sum()

    for n, m in ((3, 4), (3, 4), (1, 4), (3, 1), (1, 1), (0, 4), (3, 0), (0, 0), (3, 4)):
        w(f, floats(n, m), floats(n, m))
        w(f, floats(n, m), floats(m))
        w(f, floats(n, m), floats(1, 1))
        w(f, floats(n, 1), floats(1, m))


@case
def a_negative_stride(w: World) -> None:
    @w.compiled
    def f(x):
        return x[::-1] + 1, x[::-1], x[::-2] * 2, x[-2::-1]

    for x in (floats(4), floats(4), floats(7)[::-1], floats(1), floats(0), floats(5, 2)):
        w(f, x)


@case
def writing_through_a_negative_stride(w: World) -> None:
    @w.compiled
    def f(x):
        x[::-1] += np.arange(len(x))
        x[::-2] = 0
        return x

    for x in (floats(4), floats(4), floats(7)[::-1], floats(1), floats(0), ints(6)[::2]):
        w(f, x)


@case
def broadcast_views_are_read(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x.sum(axis=0), x.T, x.copy()

    for x in (
        np.broadcast_to(floats(3), (2, 3)),
        np.broadcast_to(floats(3), (2, 3)),
        np.broadcast_to(floats(2, 1), (2, 3)),
        floats(2, 3),
        np.broadcast_to(floats(1), (4, 4)),
        np.broadcast_to(3.0, (2, 2)),
    ):
        w(f, x)


@case
def a_broadcast_is_made_and_written(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.broadcast_to(x, (2, *x.shape))
        z = y + 1
        y[0] = 5
        return z

    for shape in ((3,), (3,), (4,), (2, 2)):
        w(f, floats(*shape))


@case
def read_only_arguments(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        x += 1
        return y

    for x in (floats(3), floats(3), readonly(floats(3)), floats(3), readonly(floats(4)), floats(4)):
        w(f, x)


@case
def read_only_views_and_results(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        y.flags.writeable = False
        return y, x[1:], x.T, x + 0

    for x in (floats(3), readonly(floats(3)), floats(3), readonly(floats(3)), floats(2, 2)):
        w(f, x)


@case
def writeable_is_asked(w: World) -> None:
    @w.compiled
    def f(x):
        if x.flags.writeable:
            x *= 2
            return x
        return x * 3

    for x in (floats(3), floats(3), readonly(floats(3)), floats(3), readonly(floats(3))):
        w(f, x)


@case
def contiguity_is_asked(w: World) -> None:
    @w.compiled
    def f(x):
        flags = x.flags
        return flags.c_contiguous, flags["F"], x.flags.owndata, x.strides, x + 1

    for x in (floats(3), floats(3), floats(6)[::2], floats(2, 3), floats(2, 3).T, floats(1, 3).T):
        w(f, x)


@case
def reshaped_views_or_copies(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.reshape(-1)
        y[0] = 77
        return x + 0, y

    for x in (floats(2, 3), floats(2, 3), floats(2, 3).T, floats(4, 3)[::2], floats(1, 3).T):
        w(f, x)


@case
def raveled_in_other_orders(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.ravel("F"),
            x.ravel("K"),
            x.ravel("A"),
            x.flatten("F"),
            x.reshape((-1,), order="F"),
            np.ravel(x),
        )

    for x in (
        floats(2, 3),
        floats(2, 3),
        floats(2, 3).T,
        floats(4, 3)[::2],
        floats(3),
        floats(0, 3),
    ):
        w(f, x)


@case
def new_arrays_in_an_order(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.zeros_like(x),
            np.ones_like(x, order="C"),
            np.full_like(x, 2, order="F"),
            np.zeros(x.shape, order="F"),
            np.zeros_like(x, shape=(2, 2)),
            np.zeros_like(x, dtype="i1"),
        )

    for x in (floats(2, 3), floats(2, 3), floats(2, 3).T, floats(3, 2, 2).transpose(1, 0, 2)):
        w(f, x)


@case
def strides_of_zero_written_by_as_strided(w: World) -> None:
    @w.compiled
    def f(x):
        windows = np.lib.stride_tricks.as_strided(x, (len(x) - 1, 2), x.strides * 2)
        y = windows * 1
        windows += 1
        return y, x, np.lib.stride_tricks.sliding_window_view(x, 2).sum(axis=1)

    for n in (4, 4, 6, 2):
        w(f, floats(n))


@case
def unaligned_and_offset_memory(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x.sum()

    def unaligned(n):
        raw = np.zeros(8 * n + 1, np.uint8)
        x = raw[1:].view(np.float64)
        x[:] = floats(n)
        return x

    for x in (floats(4), unaligned(4), floats(4), unaligned(4), unaligned(6)):
        w(f, x)


@case
def nothing_to_compute_still_makes_results(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1, x.sum(axis=0), x.mean(axis=0) if len(x) else None, x[:0], np.cumsum(x)

    for shape in ((3, 2), (3, 2), (0, 2), (3, 0), (0, 0), (1, 1)):
        w(f, floats(*shape))


@case
def rank_changes_between_calls(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x * y + 1

    for one, other in (
        ((3,), (3,)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((), (3,)),
        ((), ()),
        ((3,), ()),
    ):
        w(f, floats(*one), floats(*other))
    w(f, floats(3), floats(3))


@case
def slices_of_one_row_and_column(w: World) -> None:
    @w.compiled
    def f(x):
        row, column = x[:1], x[:, :1]
        return row + column, np.maximum(column, row), x - row, x * column, row * 2, column.T + row

    for shape in ((3, 4), (3, 4), (4, 3), (4, 1), (1, 4), (1, 1), (0, 3), (3, 0)):
        x = floats(*shape)
        for each in (
            x,
            np.asfortranarray(x),
            x[::-1],
            x[:, ::-1],
            x.repeat(2, 1)[:, ::2],
            x.T.copy().T,
        ):
            w(f, each)


@case
def an_axis_that_repeats_between_others(w: World) -> None:
    @w.compiled
    def f(x):
        return x.sum(axis=1), x.max(axis=1), x * x + x, x.mean(axis=(0, 2))

    for shape in ((8, 2), (8, 2), (300, 64), (1, 5)):
        x = floats(*shape)
        w(f, np.broadcast_to(x[:, None, :], (shape[0], 3, shape[1])))
    w(f, np.lib.stride_tricks.as_strided(floats(40), (6, 3, 8), (8, 0, 8)))


@case
def extremes_of_what_repeats_need_one_of_it(w: World) -> None:
    @w.compiled
    def f(x):
        return x.any(), np.all(x, axis=-1), x.max(axis=0), (x > 0).any(axis=0)

    w(f, np.broadcast_to(floats(2, 3)[:, None], (2, 4, 3)))
    for count in (3, 3, 1, 0):
        w(f, np.broadcast_to(floats(2, 1), (2, count + 1)))

    @w.compiled
    def any_of(x):
        return x.any()

    for value in (True, True, False):
        w(any_of, np.broadcast_to(value, (5,)))


@case
def an_axis_that_becomes_one_leaves_the_order_to_the_others(w: World) -> None:
    @w.compiled
    def f(a, c):
        return (a[:, 1:] - a[:, :-1]) - c, a * c[:1], a + c.reshape(1, -1)

    for n, m, k in ((2, 3, 2), (2, 3, 2), (5, 2, 1), (5, 2, 1), (5, 3, 2), (1, 3, 2)):
        w(f, np.asfortranarray(floats(n, m)), floats(k))

    @w.compiled
    def differences(a, c):
        return (a[:, 1:] - a[:, :-1]) - c

    for n, m in ((2, 3), (2, 3), (5, 2), (5, 2), (1, 3), (1, 2)):
        w(differences, np.asfortranarray(floats(n, m)), floats(2))


@case
def axes_of_stride_zero_leave_the_order_to_the_others(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, y * x, np.where(x > 1, x, y), x.copy()

    tall, wide = np.broadcast_to(floats(3, 1), (3, 4)), np.broadcast_to(floats(4), (3, 4))
    for x in (tall, tall, floats(3, 8)[:, ::2], wide, floats(3, 4), floats(4, 3).T, tall[:, :1]):
        for y in (floats(4, 3).T, floats(3, 4), wide, floats(8, 3).T[:, ::2]):
            w(f, x, y) if x.shape == y.shape else w(f, x, y[:, :1])
