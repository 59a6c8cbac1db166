"""Attributes of functions: read, asked for, set and counted in."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats


@case
def a_counter_in_a_function(w: World) -> None:
    def step(x):
        return x + 1

    step.n = 0

    @w.compiled
    def f(x):
        step.n += 1
        y = step(x) * step.n
        step.last = y
        return y

    for n in (2, 2, 3):
        w(f, floats(n))
        w.note(step.n, step.last)
    w.replayed(f)
    step.n = 2.5
    for n in (2, 2):
        w(f, floats(n))
        w.note(step.n)
    del step.n
    w(f, floats(2))


@case
def a_counter_in_the_function_itself(w: World) -> None:
    @w.compiled
    def f(x):
        f.calls += 1
        if f.calls > 100:
            f.calls = 0
        return x * f.calls

    f.calls = 0
    for n in (2, 2, 3, 3):
        w(f, floats(n))
        w.note(f.calls)
    w.replayed(f)


@case
def a_cache_that_is_made_at_first(w: World) -> None:
    def table(n):
        if not hasattr(table, "made"):
            table.made = {}
        if n not in table.made:
            table.made[n] = np.arange(n) * 2.0
        return table.made[n]

    @w.compiled
    def f(x):
        return x + table(len(x))

    for n in (2, 2, 3, 3, 2):
        w(f, floats(n))
        w.note(table.made)


@case
def two_functions_or_one(w: World) -> None:
    def one(x):
        return x + one.k

    def other(x):
        return x * 2

    one.k, other.k = 1.0, 2.0

    @w.compiled
    def f(a, b, x):
        a.k = a.k + 1
        return x * b.k + a.k

    for a, b in ((one, other), (one, other), (one, one), (other, one), (one, one)):
        w.note(f(a, b, floats(2)), one.k, other.k)


@case
def closures_with_attributes(w: World) -> None:
    def made(k):
        def inner(x):
            return x * k

        inner.k = k
        inner.calls = 0
        return inner

    @w.compiled
    def f(inner, x):
        y = inner(x) + inner.k
        return y if hasattr(inner, "extra") else y + 1

    @w.compiled
    def counted(inner, x):
        inner.calls += 1
        return inner(x) + inner.calls

    for k in (1, 2, 3):
        inner = made(k)
        for n in (2, 2):
            w.note(f(inner, floats(n)), counted(inner, floats(n)), inner.calls)
    inner.extra = None
    w.note(f(inner, floats(2)))


@case
def what_functions_say_of_themselves(w: World) -> None:
    def documented(x):
        """Say what it does."""
        return x + 1

    @w.compiled
    def f(x, function):
        def own():
            """Say as well."""

        texts = [getattr(each, "__doc__", None) for each in (function, documented, own)]
        return function(x), texts, documented.__name__, own.__qualname__

    for function in (documented, lambda x: x * 2, documented):
        for n in (2, 3):
            w(f, floats(n), function)


@case
def what_cannot_be_set(w: World) -> None:
    def step(x):
        return x + 1

    @w.compiled
    def f(x, name):
        setattr(step, name, 1) if name == "n" else None
        step.__doc__ = "another"
        return step(x), step.__doc__

    for name in ("n", "n", "other"):
        w(f, floats(2), name)
        w.note(step.__doc__)


@case
def names_that_numpy_has_or_lacks(w: World) -> None:
    @w.compiled
    def f(x):
        new = hasattr(np, "concat"), hasattr(np, "nothing_of_the_kind"), hasattr(np, "float_")
        root = getattr(np, "cbrt_of_another_kind", np.sqrt)
        return root(x * x), new, getattr(np.linalg, "nothing", None)

    for n in (2, 2, 3):
        w(f, floats(n))
    w.replayed(f)
    np.nothing_of_the_kind = 1
    try:
        w(f, floats(2))
    finally:
        del np.nothing_of_the_kind
    w(f, floats(2))
