"""functools.partial made by the program, map() of functions of C code, methods with keywords."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from semantics.world import World, case, close, floats, ints


def scaled(x, by=2, *, shift=0):
    return x * by + shift


@case
def partials_of_functions(w: World) -> None:
    @w.compiled
    def f(x, by):
        double = functools.partial(scaled, by=by)
        both = functools.partial(double, shift=x.sum())
        return double(x), both(x), both(x, by=3), double.keywords, double.func is scaled

    for n in (3, 3, 4, 0):
        w(f, floats(n), 2.0)
        w(f, floats(n), 3)


@case
def partials_of_methods_and_numpy(w: World) -> None:
    class Scale:
        def __init__(self, by):
            self.by = by

        def apply(self, x, y):
            return x * self.by + y

    @w.compiled
    def f(x):
        rows = functools.partial(np.sum, axis=0)
        apply = functools.partial(Scale(2.5).apply, x)
        clip = functools.partial(np.clip, a_min=0)
        return rows(x), apply(1), apply(y=x), clip(x, a_max=1)

    for shape in ((3, 2), (3, 2), (1, 4), (2, 2)):
        w(f, floats(*shape))


@case
def partials_of_closures(w: World) -> None:
    @w.compiled
    def f(x, steps):
        def step(rate, y):
            return y - rate * x

        run = functools.partial(step, 0.5)
        y = x
        for _ in range(steps):
            y = run(y)
        return y, run.args

    for steps in (1, 1, 2, 0):
        w(f, floats(3), steps)


@case
def a_partial_that_leaves(w: World) -> None:
    @w.compiled
    def f(x):
        return functools.partial(scaled, x).args, x + 1

    for n in (3, 3, 4):
        w(f, floats(n))


@case
@close
def maps_of_builtins(w: World) -> None:
    @w.compiled
    def f(x, y):
        sums = [float(x.sum()), float(y.sum())]
        rounded = list(map(round, sums))
        low, high = map(abs, sums)
        roots = sum(map(math.sqrt, map(abs, sums)))
        names = list(map(str, rounded))
        return (
            rounded,
            low,
            high,
            roots,
            names,
            list(map(len, (x, y))),
            tuple(map(pow, (2, 3), (3, 2))),
        )

    for n, m in ((3, 4), (3, 4), (5, 1), (0, 2)):
        w(f, floats(n), floats(m))


@case
def maps_of_python_functions(w: World) -> None:
    @w.compiled
    def f(x):
        parts = list(map(lambda part: part * 2, (x, x + 1)))  # noqa: C417
        return parts, list(map(scaled, parts))

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def dicts_updated_by_keywords(w: World) -> None:
    @w.compiled
    def f(d, x):
        d.update(total=x.sum(), size=len(x))
        own = {"a": x}
        own.update(a=1, b=x * 2)
        own.update([("c", 3)])
        return own, d["size"]

    for n in (3, 3, 4):
        d = w.watch({"size": 0, "other": None})
        w(f, d, floats(n))
        w(f, d, floats(n))


@case
def lists_sorted_by_keywords(w: World) -> None:
    @w.compiled
    def f(x, names):
        found = [float(x.sum()), 1.5, float(x.max(initial=0))]
        found.sort(reverse=True)
        names.sort(reverse=True)
        pairs = [(len(x), "b"), (len(x), "a")]
        pairs.sort()
        return found, names, pairs, names.sort(key=None)

    for n in (3, 3, 4, 0):
        w(f, floats(n), ["b", "c", "a"])


@case
def partials_and_methods_from_outside(w: World) -> None:
    class Scale:
        def __init__(self, by):
            self.by = by

        def apply(self, x, shift=0):
            return x * self.by + shift

    scale = w.watch(Scale(2.0))
    method = scale.apply
    table = {"by": functools.partial(scaled, by=3), "total": functools.partial(np.sum, axis=0)}

    @w.compiled
    def f(x, function):
        made = function(x), method(x, shift=1), table["by"](x, shift=x.sum()), table["total"](x)
        return made, function is method, method.__self__ is scale

    for n in (3, 3, 4, 0):
        w(f, floats(n), functools.partial(scale.apply, shift=n))
        w(f, floats(n), method)
    scale.by = 5.0
    w(f, floats(3), method)
    table["by"] = functools.partial(scaled, by=7)
    table["total"] = functools.partial(np.max, axis=0)
    w(f, floats(3), method)
    method = Scale(9.0).apply
    w(f, floats(3), scale.apply)


@case
def compiled_partials_methods_and_objects(w: World) -> None:
    class Layer:
        def __init__(self, by):
            self.by, self.calls = by, 0

        def __call__(self, x, shift=0):
            self.calls += 1
            return x * self.by + shift

        def double(self, x):
            return self(self(x))

    layer = w.watch(Layer(2.0))
    by = {"by": floats(1)}
    for given in (layer, layer.double, functools.partial(scaled, **by), functools.partial(layer)):
        f = w.compiled(given)
        for n in (3, 3, 4, 0):
            w(f, floats(n))
        w.captured(f, 1)
        w(f)
        layer.by = 3.0
        w(f, floats(2))


@case
def reduced_by_operators_and_ufuncs(w: World) -> None:
    @w.compiled
    def f(x, k):
        count = functools.reduce(operator.mul, x.shape, 1)
        total = functools.reduce(np.add, [x, x * 2, k])
        most = functools.reduce(np.maximum, (x, x * x, x[0]))
        both = functools.reduce(operator.and_, [x > 0, x < 5])
        one = functools.reduce(operator.add, [x])
        return count, total, most, both, one is x, functools.reduce(operator.add, [k, 2, 3], 4)

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1), (2, 0)):
        w(f, floats(*shape), 2)
    w.captured(f, 1)
    w(f, floats(2, 2), 2**63)
    w(f, floats(2, 2), 2.5)
    w(f, ints(2, 2), 3)
    w(f, floats(2, 2)[0], True)

    @w.compiled
    def g(x, parts, function):
        return functools.reduce(function, parts), functools.reduce(function, x)

    for function in (operator.add, operator.add, np.multiply, operator.matmul, lambda a, b: a - b):
        w(g, floats(3), [floats(3), floats(3), 2.0], function)
        w(g, floats(3), [[1], [2]], function)
        w(g, ints(3), [ints(3)[0], ints(3)[1]], function)
        w(g, ints(3), [], function)
