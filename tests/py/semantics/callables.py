"""The compiled function as a callable: signatures, methods, decorators, wrong arguments."""

from __future__ import annotations

import functools
import inspect

import numpy as np

from semantics.world import World, case, floats, ints


@case
def wrong_arguments(w: World) -> None:
    @w.compiled
    def f(x, y, k=1, *, m=2):
        return x + y * k - m

    x = floats(3)
    w(f, x, x)
    w(f, x, x)
    w(f, x)
    w(f)
    w(f, x, x, 1, 2)
    w(f, x, x, z=1)
    w(f, x, x, x=1)
    w(f, x, y=x)
    w(f, y=x, x=x, m=5, k=2)
    w(f, m=1)
    w(f, x, x, k=3)


@case
def positional_only_and_keyword_only(w: World) -> None:
    @w.compiled
    def f(x, /, y, *, k):
        return x * k + y

    x = floats(3)
    w(f, x, x, k=2)
    w(f, x, x, k=2)
    w(f, x, y=x, k=3)
    w(f, x=x, y=x, k=3)
    w(f, x, x, 2)
    w(f, x, x)
    w(f, x, x, k=floats(3))


@case
def star_arguments(w: World) -> None:
    @w.compiled
    def f(*args, **kwargs):
        total = 0
        for a in args:
            total = total + a
        return total, args, kwargs, kwargs.pop("k", None), len(kwargs)

    x = floats(3)
    w(f, x)
    w(f, x, x)
    w(f, x, x)
    w(f, x, k=2, j=x)
    w(f, x, j=x, k=2)
    w(f)
    d = {"k": 1}
    w(f, x, **d)
    w.note(d)


@case
def star_after_named_parameters(w: World) -> None:
    @w.compiled
    def f(x, *rest, k=1, **more):
        return x * k + sum(rest), rest, sorted(more)

    x = floats(3)
    for _ in range(2):
        w(f, x, 1, 2, k=3, z=4)
    w(f, x)
    w(f, *[x, x, x])
    w(f, k=2, x=x)
    w(f, **{"x": x, "k": 5, "a b": 6})
    w(f, 1, x=x)


@case
def unpacking_calls_within(w: World) -> None:
    def g(a, b=1, *c, **d):
        return a * b, c, d

    @w.compiled
    def f(args, kwargs):
        return g(*args, **kwargs), g(*args), max(*args) if len(args) > 1 else None

    x = floats(1)
    for args, kwargs in (
        ((x, 2), {"k": 1}),
        ((x, 2), {"k": 1}),
        ([x], {"b": 3}),
        ((x, 2, 3), {}),
        ((), {"a": x}),
        ((x,), {"a": x}),
    ):
        w(f, args, kwargs)


@case
def methods_compiled_in_the_class(w: World) -> None:
    class Model:
        def __init__(self, k):
            self.k = k

        @w.compiled
        def forward(self, x):
            return x * self.k

        @staticmethod
        @w.compiled
        def twice(x):
            return x * 2

        @classmethod
        @w.compiled
        def named(cls, x):
            return cls.__name__, x + 1

    class Child(Model):
        pass

    m = Model(2)
    for n in (3, 3, 4):
        w(m.forward, floats(n))
        w(m.twice, floats(n))
        w(Child.named, floats(n))
        w(Model.named, floats(n))
    w(Child(floats(3)).forward, floats(3))
    w(Model.forward, m, floats(3))
    m.k = 5
    w(m.forward, floats(3))
    w(m.forward)


@case
def a_property_over_a_compiled_function(w: World) -> None:
    class Model:
        def __init__(self, x):
            self.x = x

        def _norm(self):
            self.x = self.x + 1
            return self.x * 2

        norm = property(w.compiled(_norm))

    m = w.watch(Model(floats(3)))
    for _ in range(3):
        w(lambda: m.norm)
    m.x = floats(2, 2)
    w(lambda: m.norm)


@case
def partials_of_the_compiled_function(w: World) -> None:
    @w.compiled
    def f(x, k, *, m=1):
        return x * k + m

    double = functools.partial(f, k=2)
    first = functools.partial(f, floats(3), m=floats(3))
    for n in (3, 3, 4):
        w(double, floats(n))
        w(double, floats(n), k=3)
        w(first, n)
    w(first, 1, m=2)
    w(first, 1, 2)


@case
def partials_within_the_program(w: World) -> None:
    def scale(x, k, b=0):
        return x * k + b

    @w.compiled
    def f(x, k):
        p = functools.partial(scale, k=k)
        return p(x), functools.reduce(lambda a, b: a + b, [x, x, x]), p.keywords

    for k in (2, 2, 3, 2.5):
        w(f, floats(3), k)


@case
def wrapped_by_decorators(w: World) -> None:
    log = w.watch([])

    def logged(g):
        @functools.wraps(g)
        def wrapper(*args, **kwargs):
            log.append((g.__name__, len(args)))
            return g(*args, **kwargs)

        return wrapper

    @logged
    @w.compiled
    @logged
    def f(x, k=2):
        return x * k

    for n in (3, 3, 5):
        w(f, floats(n))
        w(f, floats(n), k=3)
    w(f)


@case
def cached_results_are_the_same_object(w: World) -> None:
    @functools.lru_cache
    @w.compiled
    def f(n):
        return np.arange(n) * 2

    @w.compiled
    def g(n, x):
        return f(n) + x

    for n in (3, 3, 4, 3):
        one = w(f, n)
        one += 1
        w(g, n, ints(n))


@case
def a_cache_within_the_program(w: World) -> None:
    calls = w.watch([])

    @functools.cache
    def table(n):
        calls.append(n)
        return np.arange(n) * 1.0

    @w.compiled
    def f(x):
        return x + table(len(x))

    for n in (3, 3, 4, 3, 5):
        w(f, floats(n))
    table.cache_clear()
    w(f, floats(3))
    table(3)[0] = 50
    w(f, floats(3))


@case
def name_doc_and_signature(w: World) -> None:
    @w.compiled
    def f(x: int, k: float = 2, *args: str, m=3, **kw) -> float:
        """Say something."""
        return x * k

    w(f, 2)
    w.note(f.__name__, f.__doc__, f.__module__, f.__qualname__, str(inspect.signature(f)))
    w.note(f.__annotations__, callable(f), inspect.unwrap(f).__name__, inspect.isbuiltin(f))
    w(f, 2)
    w(f, floats(3))
    w(f, floats(3))


@case
def hash_equality_and_attributes(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1

    @w.compiled
    def g(x):
        return x + 1

    table = {f: 1, g: 2}
    f.note = "mine"
    w.note(table[f], table[g], f == f, f == g, f.note, len({f, g, f}), hasattr(g, "note"))
    for n in (3, 3):
        w(f, floats(n))
    del f.note
    w.note(hasattr(f, "note"))


@case
def passed_to_map_sorted_and_reduce(w: World) -> None:
    @w.compiled
    def f(x):
        return x * 2

    @w.compiled
    def add(a, b):
        return a + b

    for ns in ((2, 2), (2, 3), (1,), ()):
        xs = [floats(n) for n in ns]
        w(lambda xs=xs: list(map(f, xs)))
        w(lambda ns=ns: sorted(ns, key=f))
        w(lambda ns=ns: functools.reduce(add, ns))
    w(np.vectorize(f), ints(3))
    w(np.apply_along_axis, f, 0, floats(2, 3))


@case
def an_argument_named_self_or_args(w: World) -> None:
    @w.compiled
    def f(self, args, kwargs=None, *, function=1, name=2):
        return self * args, kwargs, function, name

    for n in (2, 2, 3):
        w(f, floats(n), 2)
        w(f, self=floats(n), args=3, name=4)
        w(f, floats(n), 2, function=floats(n))


@case
def many_parameters(w: World) -> None:
    @w.compiled
    def f(a, b, c, d, e, f, g, h, i, j=1, k=2, *, m=3, n=4):
        return a + b * c - d + e + f + g + h + i + j + k + m + n

    x = floats(2)
    for _ in range(2):
        w(f, *[x] * 9)
        w(f, *range(9), k=x, n=x)
        w(f, *[x] * 9, m=5)
    w(f, *[x] * 12)


@case
def a_method_bound_to_another_object(w: World) -> None:
    class Holder:
        def __init__(self, v):
            self.v = v

    @w.compiled
    def f(self, x):
        self.v = self.v + x
        return self.v

    one, two = w.watch(Holder(floats(3))), w.watch(Holder(ints(3)))
    bound = [f.__get__(h) for h in (one, two)]
    for b in (*bound, *bound, *bound):
        w(b, floats(3))
    two.v = 1
    w(bound[1], floats(3))


@case
def no_result_and_early_results(w: World) -> None:
    @w.compiled
    def f(x, how):
        if how == "none":
            return
        if how == "pass":
            x + 1
        elif how == "const":
            return 5
        elif how == "tuple":
            return ()
        else:
            return x

    for how in ("none", "none", "pass", "const", "tuple", "x", "pass", "none"):
        w(f, floats(3), how)
