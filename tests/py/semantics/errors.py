"""Exceptions: the program's own, from its own line, with what it had done by then."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def shapes_that_do_not_broadcast(w: World) -> None:
    @w.compiled
    def f(x, y):
        z = x * 2
        return z + y

    w(f, floats(3), floats(3))
    w(f, floats(3), floats(3))
    w(f, floats(3), floats(4))
    w(f, floats(2, 3), floats(3, 2))
    w(f, floats(3), floats(1))


@case
def partial_effects_before_an_error(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, y):
        log.append("before")
        x += 1
        log.append(x.copy())
        z = x + y
        log.append("after")
        return z

    for m in (3, 3, 4, 3, 4, 1):
        w(f, floats(3), floats(m))


@case
def first_write_stays_when_the_second_fails(w: World) -> None:
    @w.compiled
    def f(x, y, v):
        x[...] = v
        y[...] = v
        return x + 1

    for shape in ((3,), (3,), (4,), (1,), (2, 3)):
        w(f, floats(*shape), floats(3), floats(shape[-1]))


@case
def division_of_python_numbers_by_zero(w: World) -> None:
    @w.compiled
    def f(x, n, d):
        x += 1
        return x * (n / d)

    for d in (2, 4, 0, 0.0, 2):
        w(f, floats(3), 1, d)


@case
def raised_by_the_program(w: World) -> None:
    @w.compiled
    def f(x, limit):
        y = x.sum()
        if y > limit:
            raise ValueError(f"{y} is over {limit}", x.shape)
        return x / 2

    for limit in (100, 100, -100, 100, -100):
        w(f, floats(4), limit)


@case
def raised_in_a_function_it_calls(w: World) -> None:
    def check(x, n):
        if len(x) < n:
            raise IndexError(n)
        return x[n - 1]

    @w.compiled
    def f(x, n):
        return check(x, n) + check(x, n + 1)

    for size, n in ((3, 1), (3, 1), (3, 2), (3, 3), (2, 2), (5, 3), (0, 0)):
        w(f, floats(size), n)


@case
def raised_from_another(w: World) -> None:
    @w.compiled
    def f(table, key, x):
        try:
            return table[key] * x
        except KeyError as error:
            raise LookupError("no such thing") from error

    for key in ("a", "a", "b", "a"):
        w(f, {"a": 2}, key, floats(3))


@case
def raised_while_another_was_handled(w: World) -> None:
    @w.compiled
    def f(x, y):
        try:
            return x @ y
        except ValueError:
            return x + undefined  # noqa: F821

    for m in (3, 3, 2, 3):
        w(f, floats(3, 3), floats(m, 3))


@case
def index_out_of_bounds(w: World) -> None:
    @w.compiled
    def f(x, i):
        x[0] = 5
        return x[i] + 1

    for n, i in ((4, 2), (4, 2), (4, -1), (4, 4), (2, 2), (3, -4), (6, 2)):
        w(f, floats(n), i)


@case
def a_constant_index_out_of_bounds(w: World) -> None:
    @w.compiled
    def f(x):
        return x[2] * 2, x[-3]

    for x in (floats(4), floats(4), floats(3), floats(2), floats(0), floats(2, 2), floats(5, 1)):
        w(f, x)


@case
def an_axis_that_is_not_there(w: World) -> None:
    @w.compiled
    def f(x, axis):
        return x.sum(axis=axis) + 1

    for x, axis in (
        (floats(2, 3), 1),
        (floats(2, 3), 1),
        (floats(3), 1),
        (floats(2, 3), 2),
        (floats(2, 3), -3),
        (floats(2, 3), 0),
    ):
        w(f, x, axis)


@case
def reductions_of_nothing(w: World) -> None:
    @w.compiled
    def f(x):
        a = x.sum()
        return a, x.max()

    for n in (3, 3, 0, 1, 0):
        w(f, floats(n))


@case
def a_reshape_that_does_not_fit(w: World) -> None:
    @w.compiled
    def f(x, n):
        return x.reshape(n, -1) + 1

    for size, n in ((6, 2), (6, 2), (6, 4), (8, 4), (0, 2), (0, 0), (6, -1), (7, 1)):
        w(f, floats(size), n)


@case
def unpacking_the_wrong_number(w: World) -> None:
    @w.compiled
    def f(x):
        a, b = x
        return a + b

    for x in (floats(2), floats(2), floats(3), floats(2, 3), [1, 2], (1,), floats(1), floats()):
        w(f, x)


@case
def wrong_attribute_and_wrong_type(w: World) -> None:
    @w.compiled
    def f(x):
        return x.sizes if isinstance(x, np.ndarray) and x.ndim == 2 else x + "a"

    for x in (floats(2), floats(2), floats(2, 2), "b", 3, "c", None, [1]):
        w(f, x)


@case
def in_place_casts_that_are_refused(w: World) -> None:
    @w.compiled
    def f(x, y):
        x += y
        return x

    for x, y in (
        (floats(3), ints(3)),
        (floats(3), ints(3)),
        (ints(3), floats(3)),
        (ints(3), ints(3)),
        (ints(3, dtype="i1"), ints(3)),
        (ints(3, dtype="u1"), -1),
        (ints(3), 0.5),
        (floats(3, dtype="f4"), floats(3)),
        (ints(3) > 0, True),
    ):
        w(f, x, y)


@case
def an_in_place_operation_that_would_grow(w: World) -> None:
    @w.compiled
    def f(x, y):
        x *= y
        return x

    for x, y in (
        (floats(3), floats(3)),
        (floats(3), floats(1)),
        (floats(1), floats(3)),
        (floats(3), floats(2, 3)),
        (floats(2, 3), floats(3)),
        (floats(), floats(3)),
    ):
        w(f, x, y)


@case
def asserts_of_the_program(w: World) -> None:
    @w.compiled
    def f(x):
        assert x.ndim == 2, f"ndim {x.ndim}"
        assert (x >= -1).all()
        return x - 1

    for x in (floats(2, 2), floats(2, 2), floats(4), floats(3, 3), floats(2, 2) - 9, floats(1, 4)):
        w(f, x)


@case
def truth_of_an_array_is_ambiguous(w: World) -> None:
    @w.compiled
    def f(x):
        if x:
            return x + 1
        return x - 1

    for x in (floats(1) + 4, floats(1), floats(1) * 0, floats(2), floats(0), floats(1, 1), 0.0, []):
        w(f, x)


@case
def finally_runs_whether_or_not(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, y):
        try:
            x[0] = 1
            z = x + y
        finally:
            log.append(x[0])
            x[0] = 2
        return z

    for m in (3, 3, 4, 3, 5):
        w(f, floats(3), floats(m))


@case
def a_reduction_into_an_array_of_another_rank(w: World) -> None:
    @w.compiled
    def f(x, out):
        try:
            np.add.reduce(x, axis=0, out=out)
        except ValueError as error:
            return str(error)
        return out

    for shape in ((4,), (1, 4), (4,), (), (5,), (1,)):
        w(f, floats(3, 4), np.zeros(shape))
