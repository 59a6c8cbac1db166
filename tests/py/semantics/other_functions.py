"""Another function where one was: replaced, passed, held in containers, closed over, made anew."""

from __future__ import annotations

import functools
import types

import numpy as np

from semantics.world import World, case, floats

KIND = types.FunctionType


def make_scaled(by):
    return lambda v: v * by


def applied(fn, x):
    return fn(x) + 1


def either(w: World):
    """Two compiled functions, and two that lead to them in other ways."""
    relu = w.compiled(lambda v: np.maximum(v, 0))
    flip = w.compiled(lambda v: -v)
    return relu, flip, functools.partial(relu), functools.partial(flip)


@case
def compiled_functions_as_arguments(w: World) -> None:
    f = w.compiled(applied)
    functions = either(w)
    for fn in functions * 2:
        w(f, fn, floats(3))
    w.captured(f, 4)


@case
def a_compiled_global_made_again(w: World) -> None:
    scope = {"compiled": w.compiled, "np": np}
    exec("def used(x):\n    return helper(x) + 1", scope)
    f = w.compiled(scope["used"])
    for k in (2, 2, 3, 3, 2):
        exec(f"@compiled\ndef helper(v):\n    return v * {k}", scope)
        w(f, floats(3))
        w(f, floats(3))


@case
def compiled_functions_in_attributes_and_containers(w: World) -> None:
    class Model:
        pass

    @w.compiled
    def f(model, table, row, x):
        return model.act(x) + table["act"](x), row[0](x), row[1][0](x)

    model = Model()
    functions = either(w)
    for a in functions:
        for b in functions:
            model.act = a
            w(f, model, {"act": b}, [a, (b,)], floats(3))
            w(f, model, {"act": b}, [a, (b,)], floats(3))


@case
def compiled_functions_in_closures(w: World) -> None:
    def make(act):
        return w.compiled(lambda x: act(x) + 1)

    for fn in either(w):
        w(make(fn), floats(3))

    act = None

    @w.compiled
    def f(x):
        return act(x)

    for fn in either(w) * 2:
        act = fn
        w(f, floats(3))


@case
def partials_with_other_parts(w: World) -> None:
    def add(v, *more, k=1, **named):
        return v * k + len(more) + sum(more) + 10 * sum(named.values())

    def sub(v, *more, k=1, **named):
        return v - k - len(more) - sum(more) - 10 * sum(named.values())

    f = w.compiled(lambda fn, x: fn(x, 2))
    made = [
        functools.partial(function, *given, **named)
        for function in (add, sub)
        for given in ((), (1,), (1, 2))
        for named in ({}, {"k": 2}, {"j": 2}, {"j": 2, "k": 3})
    ]
    for fn in made:
        w(f, fn, floats(3))
    for fn in made:
        w(f, functools.partial(fn, 4), floats(3))


@case
def partials_changed_in_place(w: World) -> None:
    def add(v, k=1):
        return v + k

    fn = functools.partial(add, k=2)
    f = w.compiled(applied)
    for _ in range(2):
        w(f, fn, floats(3))
    fn.keywords["k"] = 5
    w(f, fn, floats(3))
    del fn.keywords["k"]
    w(f, fn, floats(3))
    fn.__setstate__((lambda v: v * 3, (), {}, {}))
    w(f, fn, floats(3))


@case
def functions_made_for_each_call(w: World) -> None:
    f, g, h, p = (w.compiled(applied) for _ in range(4))
    for k in range(70):
        w(f, lambda v: v * 2, floats(3))
        w(g, make_scaled(k * 0.5), floats(3))
        w(h, lambda v, k=k * 0.5, *, j=k: v * k + j, floats(3))
        w(p, functools.partial(lambda v, k: v * k, k=k * 0.5), floats(3))
    for each in (f, g, h, p):
        w.captured(each, 1)


@case
def closures_over_arrays_and_functions(w: World) -> None:
    f = w.compiled(applied)
    for n in range(5):
        inner = make_scaled(floats(n + 1))
        w(f, lambda v, inner=inner: inner(v), floats(n + 1))
        w(f, functools.partial(inner), floats(n + 1))
    w.captured(f, 2)


@case
def a_global_function_that_closes_over_something(w: World) -> None:
    scope = {}
    exec("def used(x):\n    return helper(x) + helper(x * 2)", scope)
    f = w.compiled(scope["used"])
    for k in range(70):
        scope["helper"] = make_scaled(k * 0.5)
        w(f, floats(3))
    w.captured(f, 1)


@case
def one_cell_or_two(w: World) -> None:
    def pair(start):
        value = start

        def step(v):
            nonlocal value
            value = value + 1
            return v * value

        def look(v):
            return v - value

        return step, look

    @w.compiled
    def f(a, b, x):
        return a(x) + b(x) + a(x)

    one, other = pair(1), pair(5)
    for a, b in ((one[0], one[1]), (one[0], other[1]), (other[0], one[1]), (one[0], other[0])):
        for _ in range(2):
            w(f, a, b, floats(3))
            w.note(one[1](0), other[1](0))
    for _ in range(2):
        w(f, one[0], one[0], floats(3))
        w.note(one[1](0), other[1](0))


@case
def the_same_function_by_name_and_as_an_argument(w: World) -> None:
    def make(k):
        def helper(v, d=k * 10):
            return v * k + d

        return helper

    scope = {"helper": make(2)}
    exec("def used(fn, x):\n    return fn(x) + helper(x), fn is helper", scope)
    f = w.compiled(scope["used"])
    for fn in (scope["helper"], make(3), make(4), scope["helper"]):
        for _ in range(2):
            w(f, fn, floats(3))
    scope["helper"] = make(5)
    for fn in (scope["helper"], make(3), make(4), scope["helper"]):
        w(f, fn, floats(3))


@case
def functions_looked_at(w: World) -> None:
    @w.compiled
    def f(fn, other, x):
        if fn is other:
            return x
        named = fn.__name__ == "one"
        return (
            (fn(x) if callable(fn) else x),
            named,
            fn == other,
            isinstance(fn, types.FunctionType),
        )

    def one(v):
        return v + 1

    def two(v):
        return v + 2

    one.mark = 1
    for fn in (one, two, one, make_scaled(2), make_scaled(3)):
        w(f, fn, one, floats(3))
        w(f, fn, fn, floats(3))


@case
def functions_handed_back_and_stored(w: World) -> None:
    class Holder:
        pass

    @w.compiled
    def f(fn, holder, row, x):
        holder.fn = fn
        row.append(fn)
        return fn, [fn, fn(x)], {"fn": fn}, functools.partial(fn, x)()

    for k in (2, 3, 4):
        holder, row = Holder(), []
        made = make_scaled(k)
        w(f, made, holder, row, floats(3))
        w.note(holder.fn is made, row[0] is made, w.results[-1][0] is made)
        w.note(holder.fn(2), row[0](2))


@case
def other_globals_and_builtins(w: World) -> None:
    def made(scope):
        exec("def fn(v):\n    return v * K + len('ab')", scope)
        return scope["fn"]

    one = made({"K": 2})
    f = w.compiled(applied)
    functions = [
        one,
        types.FunctionType(one.__code__, {"K": 3, "__builtins__": one.__builtins__}),
        types.FunctionType(one.__code__, {"K": 3, "__builtins__": {"len": lambda _: 7}}),
        types.FunctionType(one.__code__, {"K": 3, "len": lambda _: 9}),
    ]
    for fn in functions * 2:
        w(f, fn, floats(3))
    functions[1].__globals__["K"] = 9
    w(f, functions[1], floats(3))


@case
def changed_code_and_defaults(w: World) -> None:
    def one(v, k=2, *, j=1):
        return v * k + j

    def two(v, k=2, *, j=1):
        return v - k - j

    f = w.compiled(applied)
    g = w.compiled(lambda x: one(x) + 1)
    for _ in range(2):
        w(f, one, floats(3))
        w(g, floats(3))
    for change in (
        lambda: setattr(one, "__defaults__", (5,)),
        lambda: setattr(one, "__kwdefaults__", {"j": 3}),
        lambda: one.__kwdefaults__.update(j=4),
        lambda: setattr(one, "__code__", two.__code__),
        lambda: setattr(one, "__defaults__", None),
    ):
        change()
        for _ in range(2):
            w(f, one, floats(3))
            w(g, floats(3))


@case
def methods_calling_compiled_methods(w: World) -> None:
    class Model:
        def __init__(self, k):
            self.k = k

        @w.compiled
        def inner(self, x):
            return x * self.k

        @staticmethod
        @w.compiled
        def plus(x):
            return x + 1

        @classmethod
        @w.compiled
        def named(cls, x):
            return x * cls.scale

        scale = 3

        @w.compiled
        def forward(self, x):
            return self.named(self.plus(self.inner(x))) + Model.plus(x)

        def __call__(self, x):
            return self.inner(x)

    f = w.compiled(applied)
    models = [Model(2), Model(3.5), Model(floats(3))]
    for model in models * 2:
        w(model.forward, floats(3))
        for fn in (model, model.inner, model.forward, model.__call__):
            w(f, fn, floats(3))
    Model.inner = w.compiled(lambda self, x: x - self.k)
    Model.scale = 4
    for model in models:
        w(model.forward, floats(3))
        for fn in (model, model.inner):
            w(f, fn, floats(3))


@case
def special_methods_replaced(w: World) -> None:
    class Meta(type):
        def __call__(cls, *args):
            made = super().__call__(*args)
            made.tag = 1
            return made

    class Thing(metaclass=Meta):
        def __init__(self, x):
            self.x = x

        def __len__(self):
            return 2

        def __getitem__(self, i):
            return self.x * i

        def __float__(self):
            return 2.5

        def __contains__(self, v):
            return v == 1

        def __bool__(self):
            return True

    @w.compiled
    def made(x):
        thing = Thing(x)
        return thing.x + thing.tag

    @w.compiled
    def looked(thing, x):
        return x * len(thing) + thing[2], 1 in thing, bool(thing)

    thing = Thing(floats(3))

    def run():
        for _ in range(2):
            w(made, floats(3))
            w(looked, thing, floats(3))

    run()
    Thing.__len__ = lambda self: 5
    run()
    Thing.__getitem__ = lambda self, i: self.x - i
    run()
    Thing.__contains__ = lambda self, v: v == 2
    Thing.__bool__ = lambda self: False
    run()
    Thing.__init__ = lambda self, x: setattr(self, "x", x * 3)
    run()
    Meta.__call__ = lambda cls, *args: setattr(thing, "tag", 7) or thing
    run()
