"""Writes through views that overlap what is read, as NumPy defines them."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def shift_right_in_place(w: World) -> None:
    @w.compiled
    def f(x):
        x[1:] = x[:-1]
        return x

    for x in (floats(5), floats(5), floats(7), floats(1), floats(0), floats(3, 2), floats(9)[::2]):
        w(f, x)


@case
def shift_left_and_add(w: World) -> None:
    @w.compiled
    def f(x):
        x[:-1] += x[1:]
        return x * 2

    for x in (floats(5), floats(5), floats(7), floats(1), floats(2, 2), floats(8)[::-1]):
        w(f, x)


@case
def reverse_in_place(w: World) -> None:
    @w.compiled
    def f(x):
        x[:] = x[::-1]
        return x

    for x in (floats(5), floats(5), floats(6), floats(0), floats(3, 2), floats(6)[::-1]):
        w(f, x)


@case
def transpose_added_to_itself(w: World) -> None:
    @w.compiled
    def f(x):
        x += x.T
        return x

    for n in (3, 3, 4, 1, 0):
        w(f, floats(n, n))
    w(f, floats(3, 3).T)
    w(f, floats(2, 3))


@case
def transpose_written_over_itself(w: World) -> None:
    @w.compiled
    def f(x):
        x[...] = x.T
        return x

    for n in (3, 3, 5, 1):
        w(f, floats(n, n))
    w(f, floats(2, 3))
    w(f, floats(3, 3))


@case
def overlapping_slices_as_two_arguments(w: World) -> None:
    @w.compiled
    def f(a, b):
        a += b
        b *= 2
        return a - b

    for start in (0, 0, 1, 2, 4, 0):
        base = floats(8)
        w(f, base[:4], base[start : start + 4])
        w.note(base)


@case
def a_row_subtracted_from_all_rows(w: World) -> None:
    @w.compiled
    def f(x):
        x -= x[0]
        return x

    for x in (floats(3, 4), floats(3, 4), floats(5, 2), floats(1, 3), floats(4, 3).T):
        w(f, x)


@case
def a_row_divided_by_its_own_element(w: World) -> None:
    @w.compiled
    def f(x):
        x /= x[0]
        x[1] = x[1] - x[1, 0] * x[0]
        return x

    for x in (floats(3, 4) + 8, floats(3, 4) + 8, floats(2, 2) + 8, floats(4, 3).T + 8):
        w(f, x)


@case
def an_element_is_read_before_and_after(w: World) -> None:
    @w.compiled
    def f(x):
        before = x[0]
        row = x[1:]
        x += 1
        return before, x[0], row, row.sum()

    for x in (floats(4), floats(4), floats(6), floats(3, 2), floats(1)):
        w(f, x)


@case
def swap_with_a_copy_and_without(w: World) -> None:
    @w.compiled
    def f(x, copy):
        t = x[0].copy() if copy else x[0]
        x[0] = x[1]
        x[1] = t
        return x

    for copy in (True, False, True, False):
        w(f, floats(2, 3), copy)
        w(f, floats(3, 4), copy)


@case
def swap_in_one_statement(w: World) -> None:
    @w.compiled
    def f(x):
        x[0], x[1] = x[1], x[0]
        return x

    for x in (floats(3), floats(3), floats(2, 3), floats(2, 3), floats(4), floats(1)):
        w(f, x)


@case
def accumulate_into_a_view(w: World) -> None:
    @w.compiled
    def f(x):
        np.cumsum(x, out=x)
        np.add(x[1:], x[:-1], out=x[1:])
        return x

    for x in (floats(4), floats(4), floats(7), floats(1), floats(0), ints(5)):
        w(f, x)


@case
def steps_that_interleave(w: World) -> None:
    @w.compiled
    def f(x):
        x[::2] += x[1::2]
        x[1::2] -= x[::2]
        return x

    for n in (4, 4, 6, 0, 5, 4):
        w(f, floats(n))


@case
def negative_step_into_forward(w: World) -> None:
    @w.compiled
    def f(x):
        x[:3] = x[5:2:-1]
        x[3:] = x[2::-1] * 2
        return x

    for n in (6, 6, 7, 5, 6):
        w(f, floats(n))


@case
def a_broadcast_row_of_itself(w: World) -> None:
    @w.compiled
    def f(x):
        x[...] = x[-1]
        return x.sum(axis=0)

    for x in (floats(3, 2), floats(3, 2), floats(4, 5), floats(1, 1), floats(2, 3, 2)):
        w(f, x)


@case
def out_is_the_other_argument(w: World) -> None:
    @w.compiled
    def f(x, y):
        return np.subtract(x, y, out=y)

    for shape in ((3,), (3,), (5,), (2, 3), (0,)):
        w(f, floats(*shape), floats(*shape) + 1)
    x = floats(4)
    w(f, x, x)
    w(f, x[1:], x[:-1])
    w.note(x)
