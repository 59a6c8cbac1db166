"""Objects that are one on the first call and two equal ones on the next, or the other way."""

from __future__ import annotations

import operator

import numpy as np

from semantics.world import World, case, floats


class Bag:
    """Something with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


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
