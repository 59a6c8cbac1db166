"""What a path was captured under changes by a side door; the path must notice."""

from __future__ import annotations

import builtins
import types

import numpy as np

from semantics.world import World, case, floats, ints


class Bag:
    """Something with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


def function_with_globals(w, source, names):
    """Return the function `f` that source defines, in globals of its own."""
    exec(source, names)
    return w.compiled(names["f"])


@case
def a_property_appears_over_an_instance_attribute(w: World) -> None:
    class Model:
        pass

    @w.compiled
    def f(m, x):
        return x * m.k

    m = Model()
    m.k = 2
    w(f, m, floats(3))
    w(f, m, floats(3))
    Model.k = 7
    w(f, m, floats(3))
    Model.k = property(lambda self: 5)
    w(f, m, floats(3))
    del Model.k
    w(f, m, floats(3))


@case
def getattribute_appears_later(w: World) -> None:
    class Base:
        pass

    class Model(Base):
        pass

    @w.compiled
    def f(m, x):
        return x * m.k

    m = Model()
    m.k = 2
    w(f, m, floats(3))
    w(f, m, floats(3))
    Base.__getattribute__ = lambda self, name: 9
    w(f, m, floats(3))
    del Base.__getattribute__
    w(f, m, floats(3))
    Base.__getattr__ = lambda self, name: 4
    w(f, m, floats(3))
    del m.k
    w(f, m, floats(3))


@case
def a_method_appears_in_a_class_between(w: World) -> None:
    class A:
        def go(self, x):
            return x + 1

    class B(A):
        pass

    class C(B):
        pass

    @w.compiled
    def f(m, x):
        return m.go(x)

    m = C()
    w(f, m, floats(3))
    w(f, m, floats(3))
    B.go = lambda self, x: x + 2
    w(f, m, floats(3))
    C.go = lambda self, x: x + 3
    w(f, m, floats(3))
    del C.go
    w(f, m, floats(3))
    C.__bases__ = (A,)
    w(f, m, floats(3))


@case
def an_operator_appears_in_a_class(w: World) -> None:
    class Number:
        def __init__(self, v):
            self.v = v

        def __mul__(self, other):
            return self.v * other

    @w.compiled
    def f(n, x):
        y = n * x
        n += 1
        return y, n

    Number.__add__ = lambda self, o: ("add", o)
    w(f, Number(2), floats(3))
    w(f, Number(2), floats(3))
    Number.__iadd__ = lambda self, o: ("iadd", o)
    w(f, Number(2), floats(3))
    Number.__mul__ = lambda self, o: "mul"
    w(f, Number(2), floats(3))
    del Number.__iadd__
    w(f, Number(2), floats(3))


@case
def init_and_new_are_replaced(w: World) -> None:
    class Model:
        def __init__(self, x):
            self.x = x

    @w.compiled
    def f(x):
        return Model(x + 1).x * 2

    old = Model.__init__
    w(f, floats(3))
    w(f, floats(3))
    Model.__init__ = lambda self, x: setattr(self, "x", x * 5)
    w(f, floats(3))
    Model.__init__ = old
    Model.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 3)
    w(f, floats(3))
    del Model.__setattr__
    Model.__new__ = lambda cls, x: Bag(x=x)
    w(f, floats(3))


@case
def truth_and_length_of_a_class_change(w: World) -> None:
    class Thing:
        pass

    @w.compiled
    def f(t, x):
        return x + 1 if t else x - 1

    t = Thing()
    w(f, t, floats(3))
    w(f, t, floats(3))
    Thing.__len__ = lambda self: 0
    w(f, t, floats(3))
    Thing.__bool__ = lambda self: True
    w(f, t, floats(3))
    del Thing.__len__, Thing.__bool__
    w(f, t, floats(3))


@case
def one_object_under_two_parameters(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        a.v = x
        b.v = b.v + 1
        return a.v * 2, a is b

    one, two = w.watch(Bag(v=floats(3))), w.watch(Bag(v=floats(3)))
    for a, b in ((one, two), (one, two), (one, one), (two, one), (two, two), (one, two)):
        w(f, a, b, floats(3))


@case
def one_object_by_two_ways(w: World) -> None:
    @w.compiled
    def f(root, x):
        root.left.n += 1
        root.right.v = root.right.v + root.left.n
        return root.left.v * 2

    shared = Bag(n=0, v=floats(3))
    apart = w.watch(Bag(left=Bag(n=0, v=floats(3)), right=Bag(n=0, v=floats(3))))
    together = w.watch(Bag(left=shared, right=shared))
    for root in (apart, apart, together, together, apart):
        w(f, root, floats(3))
    apart.right = apart.left
    w(f, apart, floats(3))
    together.left = together
    w(f, together, floats(3))


@case
def one_list_in_two_attributes(w: World) -> None:
    @w.compiled
    def f(m, x):
        m.a.append(x)
        m.b[0] = m.b[0] + 1
        return len(m.a), m.a[0] * 2

    same = [floats(3)]
    apart, together = w.watch(Bag(a=[1], b=[floats(3)])), w.watch(Bag(a=same, b=same))
    for m in (apart, apart, together, apart, together):
        w(f, m, floats(3))
        del m.a[1:]


@case
def one_dict_as_two_parameters(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        a["k"] = x + 1
        y = b.get("k", 0) + x
        b["j"] = y
        return list(a), y

    one, two = w.watch({}), w.watch({"k": 1})
    for a, b in ((one, two), (one, two), (one, one), (two, two), (two, one)):
        w(f, a, b, floats(3))


@case
def an_array_argument_is_also_an_attribute(w: World) -> None:
    @w.compiled
    def f(m, x):
        m.w += 1
        return x * 2, m.w

    m = w.watch(Bag(w=floats(4)))
    x = floats(4)
    for argument in (x, x, m.w, m.w[::-1], m.w[1:], x, m.w[:0]):
        w(f, m, argument)


@case
def arrays_of_a_list_that_overlap(w: World) -> None:
    @w.compiled
    def f(items):
        items[0] += 1
        items[1] *= 2
        return items[0] - items[1]

    base = w.watch(floats(8))
    for items in (
        [base[:3], base[3:6]],
        [base[:3], base[3:6]],
        [base[:3], base[2:5]],
        [base[:3], base[:3]],
        [base[2::-1], base[:3]],
        [base[::2], base[1::2]],
    ):
        w(f, items)


@case
def an_array_overlaps_a_global(w: World) -> None:
    global BUFFER
    BUFFER = floats(6)

    @w.compiled
    def f(x):
        y = BUFFER * 2
        x += 1
        return y, BUFFER * 2

    for x in (floats(6), floats(6), BUFFER, BUFFER[:3], BUFFER[::-1], floats(6)):
        w(f, x)


BUFFER = floats(6)


@case
def a_stride_of_zero_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        x += 1
        return x.sum()

    def repeated(n):
        return np.lib.stride_tricks.as_strided(np.zeros(1), (n,), (0,))

    for x in (floats(3), floats(3), repeated(3), floats(3), repeated(3)):
        w(f, x)


@case
def builtins_of_the_function_are_its_own(w: World) -> None:
    source = "def f(x):\n    return abs(x) + len(x)\n"
    names = {"__builtins__": {"abs": lambda x: x * 10, "len": len}}
    f = function_with_globals(w, source, names)
    w(f, floats(3))
    w(f, floats(3))
    names["__builtins__"]["abs"] = abs
    w(f, floats(3))
    names["len"] = lambda x: 100
    w(f, floats(3))
    del names["__builtins__"]["len"]
    w(f, floats(3))
    del names["len"]
    w(f, floats(3))


@case
def globals_that_are_no_plain_dict(w: World) -> None:
    class Names(dict):
        def __missing__(self, name):
            return 3

    names = Names(scale=2)
    exec("def f(x):\n    return x * scale\n", names)
    f = w.compiled(types.FunctionType(names["f"].__code__, names))
    w(f, floats(3))
    w(f, floats(3))
    names["scale"] = 4
    w(f, floats(3))
    del names["scale"]
    w(f, floats(3))


@case
def a_global_is_deleted_and_put_back(w: World) -> None:
    names = {"k": 2, "np": np}
    f = function_with_globals(w, "def f(x):\n    return np.add(x, k) * k\n", names)
    w(f, floats(3))
    w(f, floats(3))
    k = names.pop("k")
    w(f, floats(3))
    names["k"] = k
    w(f, floats(3))
    names.clear()
    w(f, floats(3))
    names.update(k=3, np=np)
    w(f, floats(3))
    builtins.k = 7
    try:
        del names["k"]
        w(f, floats(3))
    finally:
        del builtins.k


@case
def a_key_is_found_by_another_object(w: World) -> None:
    log = w.watch([])

    class Key(str):
        __slots__ = ()

        def __eq__(self, other):
            log.append("eq")
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    @w.compiled
    def f(d, x):
        return x * d["k"]

    for d in ({"k": 2}, {"k": 2}, {Key("k"): 3}, {"k": 2}):
        w(f, d, floats(3))


@case
def attribute_names_in_other_orders(w: World) -> None:
    @w.compiled
    def f(m, x):
        m.y = m.a + x
        return list(vars(m)), m.b * m.y

    for m in (Bag(a=1, b=2), Bag(a=1, b=2), Bag(b=2, a=1), Bag(y=0, b=2, a=1), Bag(a=1, b=2, c=3)):
        w(f, m, floats(3))
    m = Bag(a=1, b=2)
    m.__dict__ = {"b": 3, "a": 4}
    w(f, m, floats(3))


@case
def the_dict_of_an_instance_is_replaced(w: World) -> None:
    @w.compiled
    def f(m, x):
        m.n = m.n + 1
        return x * m.n

    m = w.watch(Bag(n=1))
    kept = m.__dict__
    w(f, m, floats(3))
    w(f, m, floats(3))
    m.__dict__ = {"n": 10}
    w(f, m, floats(3))
    w.note(kept)
    kept["n"] = 50
    w(f, m, floats(3))
    m.__dict__["n"] = 2.5
    w(f, m, floats(3))


@case
def a_module_gets_a_function(w: World) -> None:
    module = types.ModuleType("tools")
    module.go = lambda x: x + 1

    @w.compiled
    def f(x):
        return module.go(x), hasattr(module, "extra")

    w(f, floats(3))
    w(f, floats(3))
    module.extra = 1
    w(f, floats(3))
    vars(module)["go"] = lambda x: x + 2
    w(f, floats(3))
    module.__class__ = type("Lazy", (types.ModuleType,), {"go": property(lambda self: len)})
    w(f, floats(3))


@case
def isinstance_tables_change(w: World) -> None:
    kinds = [int]

    @w.compiled
    def f(k, x):
        return x + 1 if isinstance(k, tuple(kinds)) else x - 1

    w(f, 2, floats(3))
    w(f, 2, floats(3))
    w(f, True, floats(3))
    w(f, 2.0, floats(3))
    kinds.append(float)
    w(f, 2.0, floats(3))
    w(f, np.float64(2), floats(3))
    kinds[:] = []
    w(f, 2, floats(3))


@case
def a_list_becomes_a_tuple_becomes_a_subclass(w: World) -> None:
    class Mine(list):
        def __getitem__(self, i):
            return 10

        def __len__(self):
            return 1

    @w.compiled
    def f(items, x):
        return x * items[0] + len(items), isinstance(items, list)

    for items in (
        [2, 3],
        [2, 3],
        (2, 3),
        Mine([2, 3]),
        [2, 3],
        Bag,
        np.array([2, 3]),
        {0: 5},
        "ab",
    ):
        w(f, items, floats(3))


@case
def the_code_of_a_method_is_swapped(w: World) -> None:
    class Model:
        def go(self, x, k=1):
            return x + k

    @w.compiled
    def f(m, x):
        return m.go(x), Model.go(m, x)

    m = Model()
    w(f, m, floats(3))
    w(f, m, floats(3))
    Model.go.__defaults__ = (4,)
    w(f, m, floats(3))
    Model.go.__code__ = (lambda self, x, k=1: x * k).__code__
    w(f, m, floats(3))


@case
def a_closure_cell_is_set_from_outside(w: World) -> None:
    k = 2

    def inner(x):
        return x * k

    @w.compiled
    def f(x):
        return inner(x) + 1

    w(f, floats(3))
    w(f, floats(3))
    inner.__closure__[0].cell_contents = floats(3)
    w(f, floats(3))
    k = 5
    w(f, floats(3))
    inner.__closure__[0].cell_contents = "a"
    w(f, floats(3))


@case
def an_item_of_a_nested_list_is_replaced(w: World) -> None:
    config = {"layers": [{"w": 2}, {"w": floats(3)}], "act": [abs]}

    @w.compiled
    def f(x):
        for layer in config["layers"]:
            x = x * layer["w"]
        return config["act"][0](x)

    w(f, floats(3))
    w(f, floats(3))
    config["layers"][0]["w"] = 3
    w(f, floats(3))
    config["layers"][1] = {"w": 1}
    w(f, floats(3))
    config["act"][0] = lambda x: -x
    w(f, floats(3))
    config["layers"].append({"w": ints(3)})
    w(f, floats(3))
    config["layers"][0] = config["layers"][1]
    w(f, floats(3))


@case
def the_same_number_by_another_type(w: World) -> None:
    m = Bag(k=2)

    @w.compiled
    def f(x):
        return x * m.k, m.k

    for k in (2, 2, 2.0, np.float32(2), np.int64(2), True, np.array(2), 2):
        m.k = k
        w(f, ints(3))
        w(f, floats(3, dtype="f4"))


@case
def arrays_become_numbers_become_none(w: World) -> None:
    m = Bag(bias=None)

    @w.compiled
    def f(x):
        return x if m.bias is None else x + m.bias

    for bias in (None, None, floats(3), floats(1), 2, None, [1, 2, 3], floats(3, dtype="f4"), None):
        m.bias = bias
        w(f, floats(3))


@case
def sizes_equal_at_capture_differ_later(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, np.concatenate([x, y]), x.shape == y.shape

    for n, m in ((3, 3), (3, 3), (3, 1), (1, 3), (3, 2), (1, 1), (0, 1), (0, 0), (3, 3)):
        w(f, floats(n), floats(m))
