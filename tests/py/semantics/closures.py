"""Generators, closures, nonlocal variables and default arguments."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def a_generator_function(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        for i in range(len(x)):
            log.append(i)
            yield x * i
        return "end"

    for n in (2, 2, 3, 0):
        g = w(f, floats(n))
        w.note(list(g))
    g = w(f, floats(3))
    w.note(next(g), len(log))
    g.close()
    w.note(list(g))


@case
def a_generator_is_consumed(w: World) -> None:
    @w.compiled
    def f(items):
        total = 0
        for item in items:
            total = total + item
            if len(total) > 3:
                break
        return total

    for n in (2, 2, 3, 5, 0):
        g = (floats(n) + i for i in range(3))
        w(f, g)
        w.note(list(g))


@case
def a_generator_expression_within(w: World) -> None:
    @w.compiled
    def f(xs):
        return sum(x * 2 for x in xs), max(len(x) for x in xs), [x[0] for x in xs if len(x) > 1]

    for ns in ((2, 2), (2, 2), (3, 3, 3), (1,), (2, 2), (3, 4), ()):
        w(f, [floats(n) for n in ns])


@case
def a_closure_variable_changes(w: World) -> None:
    k = 2

    @w.compiled
    def f(x):
        return x * k  # noqa: F821

    for k in (2, 2, 3, 2.5, np.float32(2), floats(3), 2):
        w(f, floats(3))
    del k
    w(f, floats(3))


@case
def nonlocal_is_written(w: World) -> None:
    n, last = 0, None

    @w.compiled
    def f(x):
        nonlocal n, last
        n += 1
        last = x * n
        return last + 1

    for size in (3, 3, 3, 5, 0):
        w(f, floats(size))
        w.note(n, last)
    n = 10
    w(f, floats(3))
    w.note(n, last)


@case
def a_nonlocal_array_is_updated(w: World) -> None:
    state = np.zeros(3)

    @w.compiled
    def f(x):
        nonlocal state
        state += x
        old = state
        state = state * 2
        return old

    for size in (3, 3, 3, 1, 2):
        w(f, floats(size))
        w.note(state)
    state = np.zeros((2, 3))
    w(f, floats(3))
    w.note(state)


@case
def functions_made_within_and_returned(w: World) -> None:
    @w.compiled
    def f(x, k):
        y = x * k

        def later(z):
            return y + z

        return later, later(1)

    for k in (2, 2, 3):
        later = w(f, floats(3), k)[0]
        w.note(later(5), later(floats(3)))
        w.note(later.__closure__[0].cell_contents)


@case
def lambdas_see_the_last_value(w: World) -> None:
    @w.compiled
    def f(x, n):
        functions = [lambda: x * i for i in range(n)]  # noqa: B023
        return [g() for g in functions], [g() for g in [lambda i=i: x + i for i in range(n)]]

    for n in (2, 2, 3, 0, 1):
        w(f, floats(2), n)


@case
def a_default_array_is_kept_between_calls(w: World) -> None:
    @w.compiled
    def f(x, memory=np.zeros(3)):
        memory += x
        return memory * 2

    for n in (3, 3, 1, 2, 3):
        w(f, floats(n))
    mine = np.zeros(3)
    w(f, floats(3), mine)
    w(f, floats(3))


@case
def a_default_list_is_kept_between_calls(w: World) -> None:
    @w.compiled
    def f(x, seen=[]):
        seen.append(len(x))
        return x + len(seen), seen

    for n in (3, 3, 5, 3):
        w(f, floats(n))
    w(f, floats(3), [])
    w(f, floats(3))


@case
def defaults_are_replaced(w: World) -> None:
    def f(x, k=2, *, m=1):
        return x * k + m

    c = w.compiled(f)
    w(c, floats(3))
    w(c, floats(3))
    f.__defaults__ = (5,)
    w(c, floats(3))
    f.__kwdefaults__ = {"m": 7}
    w(c, floats(3))
    f.__kwdefaults__["m"] = 8
    w(c, floats(3))
    f.__defaults__ = None
    w(c, floats(3))
    w(c, floats(3), 2, m=3)


@case
def the_code_is_replaced(w: World) -> None:
    def f(x):
        return x + 1

    def g(x):
        return x + 2

    c = w.compiled(f)
    w(c, floats(3))
    w(c, floats(3))
    f.__code__ = g.__code__
    w(c, floats(3))
    w(c, floats(3))


@case
def two_closures_of_one_code(w: World) -> None:
    def make(k, box):
        @w.compiled
        def f(x):
            box.append(k)
            return x * k

        return f

    one, two = [], []
    f, g = make(2, one), make(3, two)
    for h in (f, g, f, g, f):
        w(h, floats(3))
        w.note(one, two)


@case
def a_cell_without_a_value(w: World) -> None:
    @w.compiled
    def f(x):
        return x * scale

    w(f, floats(3))
    scale = 2
    for _ in range(3):
        w(f, floats(3))
    del scale
    w(f, floats(3))
    scale = 3
    w(f, floats(3))


@case
def a_closure_over_a_growing_list(w: World) -> None:
    params = [floats(3)]

    @w.compiled
    def f(x):
        for p in params:
            x = x * p
        return x

    w(f, floats(3))
    w(f, floats(3))
    params.append(2.0)
    w(f, floats(3))
    params[0] = 3
    w(f, floats(3))
    params[:] = []
    w(f, floats(3))


@case
def a_recursive_inner_function(w: World) -> None:
    @w.compiled
    def f(x, n):
        def power(y, k):
            return y if k <= 1 else y * power(y, k - 1)

        return power(x, n)

    for n in (1, 2, 2, 3, 0, 2):
        w(f, floats(3), n)
    w(f, ints(2, 2), 2)


@case
def locals_and_globals_are_looked_at(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        names = sorted(locals())
        return y, names, "World" in globals()

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def an_unbound_local(w: World) -> None:
    @w.compiled
    def f(x):
        if x.shape[0] > 2:
            y = x * 2
        return y

    for n in (3, 3, 2, 5, 1):
        w(f, floats(n))


@case
def the_function_is_an_attribute_of_itself(w: World) -> None:
    def f(x):
        f.calls += 1
        return x * f.calls

    f.calls = 0
    c = w.compiled(f)
    for n in (3, 3, 2):
        w(c, floats(n))
        w.note(f.calls)


@case
def a_closure_that_outlives_the_call(w: World) -> None:
    kept = w.watch([])

    @w.compiled
    def f(x):
        n = 0

        def count(k):
            nonlocal n
            n += k
            return x + n

        kept.append(count)
        return count(1), count(1)

    for size in (2, 2, 3):
        w(f, floats(size))
    w.note([g(10) for g in kept], [g(10) for g in kept])


@case
def a_callback_made_within(w: World) -> None:
    @w.compiled
    def f(x, items, run):
        total = []

        def visit(item):
            total.append(x * item)
            return -item

        return run(visit, items), total

    def later(visit, items):
        return [visit(i) for i in items]

    for run in (later, later, lambda g, s: sorted(s, key=g), lambda g, s: list(map(g, s)), later):
        w(f, floats(2), [1, 2], run)
        w(f, floats(3), [3, 1, 2], run)


@case
def a_class_made_within(w: World) -> None:
    @w.compiled
    def f(x, k):
        class Scale:
            factor = k

            def go(self, y):
                return y * self.factor + x

        s = Scale()
        return s.go(x), s

    for k in (2, 2, 3):
        one, scale = w(f, floats(2), k)
        w.note(scale.go(one), type(scale).factor)
