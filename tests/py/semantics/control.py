"""Branches, loops, try, with, recursion and re-entrancy."""

from __future__ import annotations

import contextlib

import numpy as np

from semantics.world import World, case, floats, ints


@case
def a_branch_on_a_value(w: World) -> None:
    @w.compiled
    def f(x):
        if x.sum() > 0:
            return x + 1
        return x - 1

    for v in (1, 1, -1, 1, -1, 0, np.nan):
        w(f, np.full(3, float(v)))
        w(f, np.full((2, 2), float(v)))


@case
def a_branch_after_an_effect(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        log.append("start")
        x += 1
        if x.sum() > 0:
            log.append("positive")
            return x * 2
        log.append("negative")
        x[...] = 0
        return x

    for v in (1, 1, -5, 1, -5, 1):
        w(f, np.full(3, float(v)))


@case
def many_branches_on_scalars(w: World) -> None:
    @w.compiled
    def f(x, k):
        if k < 0:
            return -x
        elif k == 0:
            return x * 0
        elif k > 10 and x.shape[0] > 2:
            return x + k
        return x * k

    for k in (1, 1, 2, -1, 0, 11, 12, -2, 0.0, -0.0, 1):
        w(f, floats(3), k)
        w(f, floats(2), k)


@case
def loops_with_data_dependent_ends(w: World) -> None:
    @w.compiled
    def f(x, limit):
        n = 0
        while x.sum() < limit and n < 20:
            x = x * 2
            n += 1
        else:
            n += 100
        return x, n

    for limit in (5, 5, 50, -1, 500, 5):
        w(f, np.ones(3), limit)
        w(f, np.ones(2), limit)


@case
def loops_over_sizes(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.zeros(x.shape[1])
        for i in range(x.shape[0]):
            if i == 3:
                break
            y += x[i] * i
        else:
            y -= 1
        return y

    for n, m in ((2, 3), (2, 3), (3, 3), (4, 3), (0, 2), (2, 5), (1, 0)):
        w(f, floats(n, m))


@case
def loops_over_rows_that_are_written(w: World) -> None:
    @w.compiled
    def f(x):
        for row in x:
            row += 1
            row[0] = 9
        for i, row in enumerate(x[::-1]):
            row *= i
        return x.sum()

    for n, m in ((2, 3), (2, 3), (3, 1), (0, 2), (4, 2)):
        w(f, floats(n, m))
    w(f, floats(3, 2).T)
    w(f, floats(3))


@case
def continue_and_nested_loops(w: World) -> None:
    @w.compiled
    def f(x, n):
        out = []
        for i in range(n):
            if i % 2:
                continue
            for j in range(i):
                if j == 2:
                    break
                out.append(x[i] + j)
        return out

    for n in (3, 3, 5, 0, 4):
        w(f, floats(6), n)


@case
def try_that_is_taken_and_not(w: World) -> None:
    @w.compiled
    def f(d, x):
        try:
            y = x * d["k"]
        except KeyError:
            y = x
        except (TypeError, ValueError) as error:
            return type(error).__name__
        else:
            y = y + 1
        finally:
            x[0] = 8
        return y

    for d in ({"k": 2}, {"k": 2}, {}, {"k": "a"}, {"k": floats(5)}, {"k": 2}, None):
        w(f, d, floats(3))


@case
def return_in_finally(w: World) -> None:
    @w.compiled
    def f(x, y):
        try:
            return x + y
        finally:
            if len(y) == 2:
                return "finally"  # noqa: B012

    for n in (3, 3, 2, 4, 1):
        w(f, floats(3), floats(n))


@case
def context_managers_of_a_class(w: World) -> None:
    log = w.watch([])

    class Manager:
        def __init__(self, swallow):
            self.swallow = swallow

        def __enter__(self):
            log.append("enter")
            return self

        def __exit__(self, kind, error, trace):
            log.append(("exit", kind))
            return self.swallow

    @w.compiled
    def f(x, y, swallow):
        with Manager(swallow) as m:
            x[0] = 1
            z = x + y
            return z, m.swallow
        return "swallowed"

    for n, swallow in ((3, False), (3, False), (2, True), (2, False), (3, True), (1, True)):
        w(f, floats(3), floats(n), swallow)


@case
def context_managers_by_generator(w: World) -> None:
    log = w.watch([])

    @contextlib.contextmanager
    def scaled(x, k):
        log.append("in")
        x *= k
        try:
            yield x
        finally:
            x /= k
            log.append("out")

    @w.compiled
    def f(x, y):
        with scaled(x, 2) as z, contextlib.suppress(KeyError):
            return z + y

    for n in (3, 3, 2, 1):
        w(f, floats(3), floats(n))


@case
def recursion_into_the_compiled_function(w: World) -> None:
    @w.compiled
    def f(x, n):
        if n == 0:
            return x
        return f(x * 2, n - 1) + 1

    for n in (0, 1, 1, 3, 3, 2, 0):
        w(f, floats(3), n)
    w(f, floats(0, 2), 2)


@case
def recursion_on_halves(w: World) -> None:
    @w.compiled
    def f(x):
        if len(x) <= 1:
            return x * 2
        h = len(x) // 2
        return np.concatenate([f(x[:h]), f(x[h:])])

    for n in (1, 2, 2, 4, 5, 8, 0):
        w(f, floats(n))


@case
def mutual_recursion(w: World) -> None:
    @w.compiled
    def even(x, n):
        return x + 1 if n == 0 else odd(x * 2, n - 1)

    @w.compiled
    def odd(x, n):
        return x - 1 if n == 0 else even(x * 3, n - 1)

    for n in (0, 1, 2, 3, 3, 2):
        w(even, floats(3), n)
        w(odd, floats(3), n)


@case
def recursion_without_end(w: World) -> None:
    calls = w.watch([0])

    @w.compiled
    def f(x, n):
        if n == 0:
            return x
        calls[0] += 1
        if calls[0] > 50:
            raise RecursionError("enough")
        return f(x, n)

    w(f, floats(3), 0)
    w(f, floats(3), 0)
    w(f, floats(3), 1)
    calls[0] = 0
    w(f, floats(3), 1)
    w(f, floats(3), 0)


@case
def a_callback_calls_the_compiled_function(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, callback):
        y = x * 2
        if callback is not None:
            log.append(callback(y))
        y += 1
        return y

    def back(y):
        return f(y + 1, None)

    def twice(y):
        return f(y, back)

    for callback in (None, None, back, twice, back, None):
        w(f, floats(3), callback)
    w(f, floats(2, 2), twice)


@case
def compiled_calls_compiled(w: World) -> None:
    @w.compiled
    def inner(x):
        x += 1
        return x * 2

    @w.compiled
    def outer(x):
        y = inner(x)
        return inner(y) + x

    for n in (3, 3, 5, 0):
        w(outer, floats(n))
        w(inner, floats(n))
    w(outer, ints(3))


@case
def sorting_with_a_key_that_computes(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(items):
        def key(a):
            log.append(a.shape)
            return float(a.sum())

        ordered = sorted(items, key=key)
        return ordered[0], max(items, key=key), list(map(len, items)), [*filter(len, items)]

    for order in ((1, 2, 3), (1, 2, 3), (3, 2, 1), (2,), (2, 2), (0, 3)):
        w(f, [floats(n) + n for n in order])


@case
def convergence(w: World) -> None:
    @w.compiled
    def f(x, tol):
        steps = 0
        while True:
            new = (x + 2 / x) / 2
            steps += 1
            if abs(new - x).max() < tol:
                return new, steps
            x = new

    for tol in (0.1, 0.1, 0.001, 1.0, 0.1):
        w(f, np.array([1.0, 2.0]), tol)
        w(f, np.array([8.0]), tol)


@case
def match_statements(w: World) -> None:
    @w.compiled
    def f(command, x):
        match command:
            case ["scale", k]:
                return x * k
            case {"shift": s, **rest}:
                return x + s, rest
            case int() | float() as n if n > 2:
                return x - n
            case None:
                return x
            case _:
                return "what"

    for command in (
        ["scale", 2],
        ["scale", 2],
        ["scale", 3],
        {"shift": 1, "q": 2},
        3,
        1,
        None,
        "a",
    ):
        w(f, command, floats(2))
