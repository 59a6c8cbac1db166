"""What a compiler may not take for granted: each case is true of a first call alone."""

from __future__ import annotations

import functools
import numbers
import operator
import sys

import numpy as np

from semantics.world import World, case, floats

LOG: list = []
COUNT = 0


class Bag:
    """Something with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


def loud(v):
    LOG.append(float(np.sum(v)))
    return -v


@case
def keyword_defaults_of_a_helper(w: World) -> None:
    def helper(x, k=2, *, m=3):
        return x * k + m

    @w.compiled
    def f(x):
        return helper(x)

    w(f, floats(2))
    w(f, floats(2))
    helper.__kwdefaults__["m"] = 5
    w(f, floats(2))
    helper.__kwdefaults__ = {"m": 6}
    w(f, floats(2))
    helper.__defaults__ = (7,)
    w(f, floats(2))


@case
def attributes_of_functions(w: World) -> None:
    def helper(x):
        return x * helper.scale

    helper.scale = 2

    @w.compiled
    def f(x):
        return helper(x) + helper.scale, hasattr(helper, "extra")

    w(f, floats(2))
    w(f, floats(2))
    helper.scale = 3
    w(f, floats(2))
    helper.scale = floats(2)
    w(f, floats(2))
    helper.extra = 1
    w(f, floats(2))


@case
def a_method_between_super_and_its_target(w: World) -> None:
    class A:
        def go(self, x):
            return x + 1

    class B(A):
        pass

    class C(B):
        def go(self, x):
            return super().go(x) * 2

    @w.compiled
    def f(m, x):
        return m.go(x)

    w(f, C(), floats(2))
    w(f, C(), floats(2))
    B.go = lambda self, x: x - 1
    w(f, C(), floats(2))
    del B.go
    w(f, C(), floats(2))
    A.go = lambda self, x: x
    w(f, C(), floats(2))


@case
def a_metaclass_gets_a_call(w: World) -> None:
    class Meta(type):
        pass

    class Model(metaclass=Meta):
        def __init__(self, x):
            self.x = x

    @w.compiled
    def f(x):
        return Model(x + 1).x * 2

    w(f, floats(2))
    w(f, floats(2))
    Meta.__call__ = lambda cls, x: Bag(x=x)
    w(f, floats(2))
    del Meta.__call__
    w(f, floats(2))


@case
def a_class_is_registered_as_a_number(w: World) -> None:
    class Amount:
        v = 2

    @w.compiled
    def f(m, x):
        return x * m.v if isinstance(m, numbers.Number) else x

    w(f, Amount(), floats(2))
    w(f, Amount(), floats(2))
    numbers.Number.register(Amount)
    w(f, Amount(), floats(2))


@case
def a_global_written_and_read_through_its_module(w: World) -> None:
    global COUNT
    COUNT = 0
    me = sys.modules[__name__]

    @w.compiled
    def f(x):
        global COUNT
        COUNT += 1
        me.COUNT = me.COUNT + 1 if len(x) == 3 else me.COUNT
        return x * me.COUNT, COUNT

    for n in (2, 2, 3, 2):
        w(f, floats(n))
        w.note(COUNT)


@case
def a_class_attribute_written_through_the_class(w: World) -> None:
    class Model:
        n = 0

        def step(self, x):
            type(self).n += 1
            Model.last = x
            return self.n * x + self.last

    class Child(Model):
        pass

    @w.compiled
    def f(m, x):
        y = m.step(x)
        return y, Model.n, m.n

    for m in (Model(), Model(), Child(), Child(), Model()):
        w(f, m, floats(2))
        w.note(Model.n, Child.n)


@case
def callbacks_with_effects(w: World) -> None:
    LOG.clear()
    w.watch(LOG)
    m = w.watch(Bag(n=0))

    def key(v):
        LOG.append((m.n, float(np.sum(v))))
        return -float(np.sum(v))

    @w.compiled
    def f(x):
        m.n += 1
        order = sorted(x.tolist(), key=key)
        m.n += 10
        if x.sum() > 0:
            return order, x + 1
        return order, sorted([1, 2], key=key)

    for sign in (1, 1, -1, 1, -1):
        w(f, sign * np.array([3.0, 1.0, 2.0]))


@case
def numpy_functions_that_call_back(w: World) -> None:
    LOG.clear()
    w.watch(LOG)

    @w.compiled
    def f(x):
        x += 1
        a = np.apply_along_axis(loud, 0, x)
        b = np.fromfunction(lambda i: i * 2, (2,))
        c = np.piecewise(x, [x > 0], [loud, 0])
        if x.sum() > 0:
            return a, b, c
        return a, np.apply_along_axis(loud, 0, x)

    for sign in (1, 1, -1, 1, -1):
        w(f, np.full(2, sign * 3.0))


@case
def operators_that_write(w: World) -> None:
    @w.compiled
    def f(items, x, table):
        operator.setitem(items, 0, x + 1)
        operator.setitem(x, 0, 50)
        operator.setitem(table, "k", 2)
        operator.delitem(items, 1)
        return items[0] * 2, x * 1, len(items), table["k"]

    for n in (2, 2, 3):
        w(f, [1, 2, 3], floats(n), {})


@case
def operator_call_runs_anything(w: World) -> None:
    LOG.clear()
    w.watch(LOG)

    @w.compiled
    def f(x):
        y = operator.call(loud, x)
        if x.sum() > 0:
            return y
        return operator.call(loud, y)

    for sign in (1, 1, -1, 1, -1):
        w(f, np.full(2, float(sign)))


@case
def results_written_into_an_argument_by_position(w: World) -> None:
    @w.compiled
    def f(x, out):
        before = out + 1
        np.sum(x, 0, None, out)
        a = out * 2
        np.dot(x, x, x)
        x.mean(0, None, out)
        np.cumsum(x, 0, None, x)
        np.clip(x, 0, 2, x)
        np.round(x, 1, x)
        return before, a, out + 1, x + 0

    for n in (2, 2, 3):
        w(f, floats(n, n), np.zeros(n))


@case
def more_results_written_by_position(w: World) -> None:
    @w.compiled
    def f(x, y, out):
        np.take(x, [1, 0], 0, out)
        a = out + 0
        np.maximum(x, y, out)
        b = out + 0
        np.std(x, 0, None, y[0])
        np.any(x, 0, out[0])
        np.concatenate([x[:1], y[:1]], 0, out)
        np.median(x, 0, y[1])
        return a, b, out * 2, y * 1

    for _ in range(3):
        w(f, floats(2, 3) + 1, floats(2, 3), np.zeros((2, 3)))


@case
def methods_that_write_quietly(w: World) -> None:
    @w.compiled
    def f(x, how):
        before = x * 1
        if how == "swap":
            x.byteswap(True)
        elif how == "sort":
            x.sort()
        elif how == "partition":
            x.partition(1)
        elif how == "put":
            x.put([0], 5)
        elif how == "nan":
            np.nan_to_num(x, copy=False, nan=7)
        elif how == "mask":
            np.putmask(x, x > 0, 3)
            np.place(x, x < 0, [4])
        elif how == "lock":
            x.setflags(write=False)
        elif how == "index":
            x.__setitem__(0, 9)
        elif how == "iadd":
            x.__iadd__(1)
        elif how == "copyto":
            np.copyto(x, 2, where=x > 0)
        return before, x * 1

    for how in (
        "swap",
        "sort",
        "partition",
        "put",
        "nan",
        "mask",
        "lock",
        "index",
        "iadd",
        "copyto",
    ):
        for _ in range(3):
            w(f, floats(5)[::-1].copy(), how)


@case
def a_text_that_compares_loudly(w: World) -> None:
    LOG.clear()
    w.watch(LOG)

    class Key(str):
        __slots__ = ()

        def __eq__(self, other):
            LOG.append("eq")
            return str.__eq__(self, other)

        def __hash__(self):
            LOG.append("hash")
            return str.__hash__(self)

    @w.compiled
    def f(d, key, x):
        return d[key] * x, key == "k"

    for key in ("k", "k", Key("k"), Key("k"), "k", Key("j")):
        w(f, {"k": 2}, key, floats(2))


@case
def errstate_as_a_decorator(w: World) -> None:
    @np.errstate(divide="ignore")
    def inverse(x):
        return 1 / x

    shared = np.errstate(divide="ignore")

    @w.compiled
    def f(x):
        a = inverse(x)
        with shared:
            b = 1 / x
        return a, b

    for v in (1, 1, 0, 1):
        w(f, np.full(2, float(v)))
    w(lambda: 1 / np.zeros(1))


@case
def a_stdout_that_looks(w: World) -> None:
    m, x = Bag(n=0), floats(2)
    seen = w.watch([])

    class Stream:
        def write(self, text):
            seen.append((text, m.n, x.copy()))

        def flush(self):
            pass

    @w.compiled
    def f(x):
        m.n += 1
        print("one")
        x += 1
        print("two")
        m.n += 1
        return x * 2

    def call():
        old, sys.stdout = sys.stdout, Stream()
        try:
            return f(x)
        finally:
            sys.stdout = old

    for _ in range(3):
        w(call)


@case
def partials_and_their_arguments_change(w: World) -> None:
    def scale(x, k, b=0):
        return x * k + b

    box = [2]
    p = functools.partial(scale, b=box[0], k=3)

    @w.compiled
    def f(x):
        return p(x)

    w(f, floats(2))
    w(f, floats(2))
    p.keywords["b"] = 5
    w(f, floats(2))
    p.__setstate__((scale, (), {"k": 10}, None))
    w(f, floats(2))


@case
def printing_to_a_real_stream(w: World) -> None:
    import io

    m = w.watch(Bag(n=0))

    @w.compiled
    def f(x, y):
        m.n += 1
        print("one", m.n, x.sum())
        x += 1
        z = x + y
        print("two", z[0])
        return z

    def call(x, y):
        raw = io.BytesIO()
        old, sys.stdout = sys.stdout, io.TextIOWrapper(raw, write_through=True)
        try:
            return f(x, y), raw.getvalue()
        except ValueError as error:
            return str(error), raw.getvalue()
        finally:
            sys.stdout = old

    for n in (2, 2, 3, 2, 1):
        w(call, floats(2), floats(n))


@case
def tuples_and_strings_are_truth(w: World) -> None:
    @w.compiled
    def f(v, x):
        a = 1 if v else 2
        b = "empty" if not v else "full"
        n = 0
        while v and n < 2:
            n += 1
            x = x + 1
        return a, b, x, v or 5, v and 6

    for v in ([], [1], (), (1,), "", "a", {}, {1: 2}, set(), {3}, None, 0, 2, range(0), range(2)):
        w(f, v, floats(2))
    for v in ([], [1], [], (1,), {}, {1: 2}, {}, set(), {3}, "a", ""):
        w(f, v, floats(2))
