"""Arrays that are one array, or see the same memory: arguments, results and both."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def an_argument_is_returned(w: World) -> None:
    @w.compiled
    def f(x):
        return x

    for x in (floats(3), floats(3), floats(2, 2), ints(4), floats(3)):
        w(f, x)


@case
def an_argument_is_returned_beside_a_result(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x, x + y, x, y

    x, y = floats(3), floats(3)
    for a, b in ((x, y), (y, x), (x, x), (floats(0), floats(0)), (floats(2, 2), floats(2)), (y, y)):
        w(f, a, b)


@case
def one_array_is_both_arguments(w: World) -> None:
    @w.compiled
    def f(x, y):
        x += 1
        return x * y

    x, y = floats(4), floats(4)
    for a, b in ((x, y), (x, x), (x, y), (y, y), (floats(5), floats(5)), (x, x[:]), (x, x[::-1])):
        w(f, a, b)


@case
def a_result_is_returned_twice(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return y, y, [y, x]

    for n in (3, 3, 5, 0, 1):
        w(f, floats(n))


@case
def equal_results_are_two_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        return x * 2, x * 2

    for n in (3, 3, 5, 0, 1):
        one, other = w(f, floats(n))
        one += 1
        w.note(one, other)


@case
def a_result_is_written_into_after_the_call(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 0

    x = floats(4)
    for _ in range(4):
        y = w(f, x)
        y[:] = 9
        w.note(x, y)
    w(f, floats(2, 3))


@case
def a_view_of_an_argument_is_returned(w: World) -> None:
    @w.compiled
    def f(x):
        return x[1:], x[::-1], x.T, x.reshape(-1)

    for x in (floats(3), floats(3), floats(2, 3), floats(4, 3).T, floats(1), floats(3)):
        result = w(f, x)
        if result is not None:
            for view in result:
                view += 1
            w.note(x, result)


@case
def a_view_of_a_result_is_returned(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return y[1:], y, y[::2]

    for x in (floats(3), floats(3), floats(5, 2), floats(0), floats(1), floats(7)):
        a, b, c = w(f, x)
        b += 1
        w.note(a, b, c)


@case
def a_view_of_a_result_is_returned_without_it(w: World) -> None:
    @w.compiled
    def f(x):
        return (x * 2)[1:], (x + 1).T

    for x in (floats(3), floats(3), floats(5, 2), floats(1, 1), floats(7)):
        w(f, x)


@case
def writing_to_one_argument_changes_the_other(w: World) -> None:
    @w.compiled
    def f(x, y):
        x[0] = 7
        return y + 1

    base = floats(6)
    for x, y in (
        (floats(3), floats(3)),
        (base[:3], base[3:]),
        (base[:3], base[2:5]),
        (base[2:5], base[:3]),
        (base, base),
        (floats(3), floats(3)),
    ):
        w(f, x, y)
    w.note(base)


@case
def sums_written_into_an_argument_that_overlaps(w: World) -> None:
    @w.compiled
    def f(x, out):
        np.add(x, 1, out=out)
        return x * 2

    base = floats(6)
    for x, out in (
        (floats(3), floats(3)),
        (base[:3], base[3:]),
        (base[:3], base[1:4]),
        (base[1:4], base[:3]),
        (base, base[::-1]),
        (floats(4), floats(4)),
    ):
        w(f, x, out)
    w.note(base)


@case
def asked_whether_it_is_the_same_array(w: World) -> None:
    @w.compiled
    def f(x, y):
        return (x is y, x.T is x, x[:] is x, (x + y) + 1 if x is not y else x)

    x, y = floats(3), floats(3)
    for a, b in ((x, y), (x, x), (y, x), (y, y), (x, x[:]), (x, y)):
        w(f, a, b)


@case
def asked_whether_memory_is_shared(w: World) -> None:
    @w.compiled
    def f(x, y):
        if np.shares_memory(x, y):
            return x + 1
        return x + 2

    x, y = floats(3), floats(3)
    for a, b in ((x, y), (x, x), (x, x[1:]), (x[:1], x[1:]), (floats(5), floats(5)), (x, y)):
        w(f, a, b)


@case
def may_share_memory_of_interleaved_views(w: World) -> None:
    @w.compiled
    def f(x, y):
        return np.may_share_memory(x, y), x + y

    x = floats(8)
    for a, b in ((x[::2], x[1::2]), (x[:4], x[4:]), (x[::2], x[1::2]), (x[::2], x[::2])):
        w(f, a, b)


@case
def an_argument_kept_in_a_list_is_the_same_array(w: World) -> None:
    kept = w.watch([])

    @w.compiled
    def f(x):
        kept.append(x)
        return x + 1

    x = floats(3)
    for a in (x, x, floats(3), floats(2, 2), x):
        w(f, a)
        a += 1


@case
def results_kept_by_the_caller_are_left_alone(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        z = y + 1
        return z

    # World.finish describes all of them once more: a buffer used again would show.
    for n in (3, 3, 3, 64, 64, 3, 1000, 1000, 3):
        w(f, floats(n) + n)


@case
def the_base_of_an_argument_is_read(w: World) -> None:
    @w.compiled
    def f(x):
        return x.base is None, x.base

    x = floats(6)
    for a in (x, x[1:], x[1:], x, floats(3), floats(3)[:2]):
        w(f, a)


@case
def copies_are_no_views(w: World) -> None:
    @w.compiled
    def f(x):
        return x.copy(), np.array(x), np.asarray(x), np.array(x, copy=None), x.astype(x.dtype)

    for x in (floats(3), floats(3), floats(3, 2).T, floats(6)[::2], ints(3), floats(0)):
        for one in w(f, x):
            one[...] = 5
        w.note(x)


@case
def arrays_that_are_copied_only_when_they_must(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            np.ascontiguousarray(x),
            np.asfortranarray(x),
            x.astype(np.float64, copy=False),
            x.ravel(),
            x.flatten(),
        )

    for x in (floats(2, 3), floats(2, 3), floats(3, 2).T, ints(2, 3), floats(4)[::2], floats(1, 1)):
        w(f, x)


@case
def one_object_in_two_parameters_and_a_global(w: World) -> None:
    global SHARED
    SHARED = floats(3)

    @w.compiled
    def f(x, y):
        SHARED[0] += 1
        return x + y

    for x, y in (
        (floats(3), floats(3)),
        (SHARED, floats(3)),
        (SHARED, SHARED),
        (floats(3), SHARED[1:2]),
        (floats(3), floats(3)),
    ):
        w(f, x, y)
        w.note(SHARED)


SHARED = floats(3)


@case
def equal_views_are_two_objects(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return x[1:], x[1:], x.T, x.T, x.reshape(-1), x.reshape(-1), y[:1], y[:1], y.T, y.T, x[:]

    for shape in ((3,), (3,), (2, 3), (1,)):
        w(f, floats(*shape))


@case
def equal_methods_and_scalars_are_two_objects(w: World) -> None:
    class Model:
        def go(self):
            return 1

    @w.compiled
    def f(m, x):
        return m.go, m.go, x[0], x[0], x.max(), x.max(), x.sum, x.copy

    for n in (3, 3, 2):
        w(f, Model(), floats(n))


@case
def an_array_written_while_it_is_iterated(w: World) -> None:
    @w.compiled
    def f(x, y):
        for v in x:
            np.maximum(y, v, out=x)
        for i, v in enumerate(x):
            x[-1 - i] += v
        for a, b in zip(x, y):
            y += a
            x[0] = b
        return x, y

    for n in (3, 3, 2):
        w(f, ints(n), ints(n)[::-1].copy())
        w(f, floats(n), floats(n))

    @w.compiled
    def g(x):
        rows = []
        for row in x:
            x += 1
            rows.append(row.sum())
        return rows, x

    for n in (3, 3, 2):
        w(g, floats(n, 2))
