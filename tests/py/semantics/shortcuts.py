"""What a compiler may not take for granted: each case is true of a first call alone."""

# ruff: noqa: ARG005

from __future__ import annotations

import functools
import numbers
import operator
import sys

import numpy as np

from semantics.world import World, case, floats, ints

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
def a_list_changed_while_it_is_enumerated(w: World) -> None:
    @w.compiled
    def f(items):
        out = []
        for i, item in enumerate(items):
            out.append(item + 1)
            if i + 1 < len(items):
                items[i + 1] = items[i + 1] * 2
        return out

    for n in (3, 3, 2):
        w(f, [floats(2) + i for i in range(n)])


@case
def a_list_changed_while_it_is_zipped(w: World) -> None:
    @w.compiled
    def f(items, others):
        out = []
        for a, b in zip(items, others, strict=False):
            out.append(a + b)
            others[-1] = others[-1] * 2
            items[-1] = a
        return out

    for n in (3, 3, 2):
        w(f, [floats(2) + i for i in range(n)], [floats(2) * i for i in range(n)])
    same = [floats(2), floats(2) + 1]
    w(f, same, same)


@case
def a_list_changed_while_it_is_reversed(w: World) -> None:
    @w.compiled
    def f(items, x):
        out = []
        for item in reversed(items):
            items[0] = x
            out.append(item * 2)
        return out

    for n in (3, 3, 1):
        w(f, [floats(2) + i for i in range(n)], floats(2))


@case
def views_of_a_dict_follow_it(w: World) -> None:
    @w.compiled
    def f(d, x):
        keys, values, items = d.keys(), d.values(), d.items()
        before = len(keys)
        d["new"] = x + 1
        d["a"] = x * 2
        return before, len(keys), [v[0] for v in values], list(items)[-1][0], "new" in keys

    for n in (2, 2, 3):
        w(f, {"a": floats(n), "b": ints(n)}, floats(n))


@case
def views_of_a_dict_are_returned(w: World) -> None:
    @w.compiled
    def f(d, x):
        return (
            type(d.keys()).__name__,
            type(d.items()),
            list(d),
            isinstance(d.values(), list),
            x * 2,
        )

    for n in (2, 2, 3):
        w(f, {"a": 1}, floats(n))


@case
def iterators_of_one_list(w: World) -> None:
    @w.compiled
    def f(items):
        it = iter(items)
        first = next(it)
        items.append(first * 2)
        rest = list(it)
        return first, rest, next(it, "end")

    for n in (2, 2, 1):
        w(f, [floats(2) + i for i in range(n)])


@case
def two_equal_lists_or_one(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        a.append(x)
        b[0] = x * 2
        return len(b), a[0]

    for same in (False, False, True, False, True):
        one = [floats(2)]
        w(f, one, one if same else [floats(2)], floats(2))


@case
def two_equal_dicts_or_one(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        a["k"] = x + 1
        y = b["k"] * 2
        b["z"] = 1
        return y, len(a), len(b)

    for same in (False, False, True, False, True):
        one = {"k": floats(2)}
        w(f, one, one if same else {"k": floats(2)}, floats(2))


@case
def two_equal_sets_or_one(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        a.add(5)
        return x + len(b), 5 in b

    for same in (False, False, True, False):
        one = {1}
        w(f, one, one if same else {1}, floats(2))


@case
def two_equal_objects_or_one(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        a.v = x
        b.v = b.v * 2
        return a.v + 1, b.v

    for same in (False, False, True, False, True):
        one = Bag(v=floats(2))
        w(f, one, one if same else Bag(v=floats(2)), floats(2))


@case
def equal_objects_deep_inside(w: World) -> None:
    @w.compiled
    def f(tree, x):
        tree["a"][0].items.append(x)
        tree["b"].v = len(tree["c"].items)
        return tree["b"].v + x, len(tree["a"][0].items)

    def make(shared):
        first = Bag(items=[1], v=0)
        return {
            "a": [first],
            "b": Bag(items=[1], v=0),
            "c": first if shared else Bag(items=[1], v=0),
        }

    for shared in (False, False, True, False, True):
        w(f, make(shared), floats(2))


@case
def an_object_in_a_global_is_the_argument(w: World) -> None:
    global STATE
    STATE = Bag(n=0, v=floats(2))

    @w.compiled
    def f(m, x):
        m.n += 1
        STATE.v = STATE.v + m.n
        return m.v * STATE.n, x

    other = Bag(n=0, v=floats(2))
    for m in (other, other, STATE, other, STATE):
        w(f, m, floats(2))
        w.note(STATE, other)


STATE = Bag()


@case
def scalars_that_are_one_object(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        return a is b, x + a

    one, two = np.float64(2), np.float64(2)
    for a, b in ((one, two), (one, two), (one, one), (two, one), (two, two)):
        w(f, a, b, floats(2))
    big = 10**20
    for a, b in ((big, 10**20 + 0), (big, big), (2.5, float("2.5")), (1, 1), ("a", "a")):
        w(f, a, b, floats(2)) if not isinstance(a, str) else w(f, a, b, "x")


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
def generators_that_write_into_arrays(w: World) -> None:
    @w.compiled
    def f(rng, x, how):
        before = x * 1
        if how == "shuffle":
            rng.shuffle(x)
        elif how == "permuted":
            rng.permuted(x, out=x)
        elif how == "random":
            rng.random(out=x)
        elif how == "normal":
            rng.standard_normal(None, np.float64, x)
        return before, x * 1

    for how in ("shuffle", "permuted", "random", "normal"):
        rng = np.random.default_rng(3)
        for _ in range(3):
            w(f, rng, floats(6), how)


@case
def generators_that_are_spawned(w: World) -> None:
    @w.compiled
    def f(rng, x):
        child = rng.spawn(1)[0]
        if x.sum() > 0:
            return x + child.integers(100)
        return x - rng.spawn(1)[0].integers(100)

    rng = np.random.default_rng(5)
    for sign in (1, 1, -1, 1, -1):
        w(f, rng, np.full(2, float(sign)))
    w.note(rng.spawn(1)[0].integers(1000))


@case
def a_function_that_may_return_its_argument(w: World) -> None:
    @w.compiled
    def f(x, n):
        y = np.linalg.matrix_power(x, n)
        y += 1
        return y, x, y is x

    for n in (2, 2, 1, 0, 3, 1):
        w(f, floats(2, 2), n)


@case
def a_function_that_may_return_a_view(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.trim_zeros(x)
        y += 10
        return y, x

    for v in ([0, 1, 2, 0], [0, 1, 2, 0], [1, 2], [0, 0], [3]):
        w(f, np.array(v, float))


@case
def membership_after_a_write(w: World) -> None:
    @w.compiled
    def f(x, items):
        x += 0
        return x in items, items.index(x), items.count(x)

    nan = np.array([np.nan])
    for _ in range(3):
        w(f, nan, [nan])
        w(f, nan, [np.array([1.0])])
        one = floats(1)
        w(f, one, [one])


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
def a_list_that_grows_for_long(w: World) -> None:
    log, table, m = [], {}, w.watch(Bag(n=0))

    @w.compiled
    def f(x):
        m.n += 1
        log.append(len(x))
        table[m.n] = len(x)
        return x + 1

    for _ in range(70):
        w(f, floats(2))
    w.note(log, table)


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
def the_type_of_an_argument_by_its_class(w: World) -> None:
    class A:
        pass

    class B(A):
        pass

    @w.compiled
    def f(m, x):
        return x + (type(m) is A), isinstance(m, A), type(m).__name__, issubclass(type(m), B)

    for m in (A(), A(), B(), A(), 5):
        w(f, m, floats(2))
    B.__name__ = "Renamed"
    w(f, B(), floats(2))
    B.__bases__ = (Bag,)
    w(f, B(), floats(2))


@case
def an_item_got_by_operator_is_a_view(w: World) -> None:
    @w.compiled
    def f(x, items):
        v = operator.getitem(x, slice(0, 2))
        v += 1
        operator.concat(items, [x])[0][0] = 9
        operator.itemgetter(0)(items)[1] = 8
        return x, v, items

    for n in (3, 3, 4):
        w(f, floats(n), [floats(2)])


@case
def a_dict_is_iterated_by_the_caller(w: World) -> None:
    @w.compiled
    def f(d, key):
        d[key] = d[key] * 2
        return d[key] + 1

    def each(d):
        out = []
        for key in d:
            out.append(key)
            f(d, key)
        return out, list(d.values())

    for holes in ("", "", "a", "ab", "d", "abc"):
        d = {k: floats(2) for k in "abcdef"}
        for key in holes:
            del d[key]
        w(each, d)
        w(each, d)


@case
def a_set_is_iterated_by_the_caller(w: World) -> None:
    @w.compiled
    def f(s, key, x):
        s.add(key)
        s.discard("none")
        return x + key

    def each(s):
        return [float(f(s, key, floats(2))[0]) for key in s]

    for n in (3, 3, 3, 12):
        s = set(range(0, 1000, 1000 // n))
        w(each, s)
        w(each, s)


@case
def a_list_is_iterated_by_the_caller(w: World) -> None:
    @w.compiled
    def f(items, i):
        items[i] = items[i] * 2
        if i == 1:
            items.append(items[i] + 1)
        return items[i]

    def each(items):
        return [f(items, i) for i, _ in enumerate(items)]

    for n in (3, 3, 2, 1):
        w(each, [floats(2) + i for i in range(n)])


@case
def attributes_deleted_and_made_again(w: World) -> None:
    @w.compiled
    def f(m, x):
        del m.a
        m.z = x
        m.a = x * 2
        del m.z
        m.y = m.a + 1
        return list(vars(m)), m.y

    for n in (2, 2, 3):
        w(f, w.watch(Bag(a=1, b=2)), floats(n))
        w(f, w.watch(Bag(b=1, a=2, z=3)), floats(n))


@case
def keys_deleted_and_made_again(w: World) -> None:
    @w.compiled
    def f(d, x):
        del d["a"]
        d["z"] = x
        d["a"] = x * 2
        d.pop("z")
        d.update(b=d.pop("b"))
        return list(d), d["a"]

    for n in (2, 2, 3):
        w(f, {"a": 1, "b": 2, "c": 3}, floats(n))
        w(f, {"c": 1, "a": 2, "b": 3, "z": 4}, floats(n))


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
