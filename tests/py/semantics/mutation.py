"""The order in which a program changes things, and what it has changed when it looks again."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


class Bag:
    """Something with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


@case
def a_list_grows_between_computations(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        log.append("start")
        y = x * 2
        log.append(y)
        y += 1
        log.append(y.shape)
        return y

    for n in (3, 3, 5, 0, 3):
        w(f, floats(n))


@case
def a_counter_attribute(w: World) -> None:
    bag = w.watch(Bag(n=0))

    @w.compiled
    def f(x):
        bag.n += 1
        return x + bag.n

    for n in (3, 3, 3, 5, 0, 3):
        w(f, floats(n))
    bag.n = 100
    w(f, floats(3))
    bag.n = 2.5
    w(f, floats(3))


@case
def a_counter_in_a_dict(w: World) -> None:
    seen = w.watch({})

    @w.compiled
    def f(x, key):
        seen[key] = seen.get(key, 0) + 1
        return x * seen[key]

    for key in ("a", "a", "b", "a", "b", 3):
        w(f, floats(3), key)
    seen.clear()
    w(f, floats(3), "a")


@case
def running_mean_in_an_attribute(w: World) -> None:
    bag = w.watch(Bag(mean=np.zeros(3)))

    @w.compiled
    def f(x):
        bag.mean = bag.mean * 0.5 + x * 0.5
        return bag.mean

    for _ in range(4):
        w(f, floats(3))
    bag.mean = np.zeros((2, 3))
    w(f, floats(3))
    bag.mean = 0
    w(f, floats(3))
    w(f, floats(5))


@case
def running_sum_in_place_in_an_attribute(w: World) -> None:
    bag = w.watch(Bag(total=np.zeros(3)))
    first = w.watch(bag.total)

    @w.compiled
    def f(x):
        bag.total += x
        return bag.total

    for _ in range(3):
        w(f, floats(3))
    bag.total = np.zeros(3)
    w(f, floats(3))
    bag.total = 1.0
    w(f, floats(3))
    w(f, floats(3))
    w.note(first)


@case
def attribute_set_then_read_then_set(w: World) -> None:
    bag = w.watch(Bag())

    @w.compiled
    def f(x):
        bag.value = x + 1
        y = bag.value * 2
        bag.value = y
        bag.other = bag.value
        return bag.value - 1

    for n in (3, 3, 5, 0):
        w(f, floats(n))
    del bag.other
    w(f, floats(3))


@case
def list_elements_change_places(w: World) -> None:
    @w.compiled
    def f(items):
        items[0], items[-1] = items[-1], items[0]
        items[0] = items[0] + 1
        items.insert(1, items[0])
        return items[0] * 2

    items = [floats(3), floats(3) + 1, 5]
    for _ in range(4):
        w(f, items)
    w(f, [floats(2), floats(2, 2)])
    w(f, [])


@case
def a_list_of_arrays_is_changed_while_iterating(w: World) -> None:
    @w.compiled
    def f(items):
        total = 0
        for item in items:
            if len(items) < 5:
                items.append(item * 2)
            total = total + item
        return total

    for count in (1, 1, 2, 4, 7, 0, 1):
        w(f, [floats(3) + i for i in range(count)])


@case
def arrays_of_a_list_updated_in_place(w: World) -> None:
    @w.compiled
    def f(params, grads):
        for p, g in zip(params, grads, strict=False):
            p -= 0.5 * g
        return params

    shapes = [(3,), (2, 3), (1,)]
    params = [floats(*s) for s in shapes]
    for _ in range(3):
        w(f, params, [floats(*s) + 1 for s in shapes])
    same = floats(3)
    w(f, [same, same], [floats(3), floats(3) + 1])
    w(f, [same, same[::-1]], [floats(3), floats(3) + 1])
    w(f, [floats(2), floats(4)], [floats(2)])


@case
def a_dict_of_arrays_is_rebound(w: World) -> None:
    @w.compiled
    def f(state):
        for key in state:
            state[key] = state[key] + 1
        state["n"] = state.get("n", 0) + 1
        return state["a"]

    state = {"a": floats(3), "b": floats(2, 2)}
    w(f, state)
    for _ in range(3):
        w(f, state)
    w(f, {"b": 2, "a": floats(3), "n": 7})
    w(f, {"b": 2})


@case
def pop_and_setdefault_and_update(w: World) -> None:
    @w.compiled
    def f(d, x):
        old = d.pop("x", None)
        d.setdefault("first", x)
        d.update(x=x * 2, y=1)
        return old, d["first"]

    d = {}
    for n in (3, 3, 5, 3):
        w(f, d, floats(n))
    w(f, {"first": None, "x": 4}, floats(2))


@case
def an_array_is_written_between_two_reads(w: World) -> None:
    @w.compiled
    def f(x, y):
        a = x + y
        x[0] = 10
        b = x + y
        y[-1] = 20
        c = x + y
        return a, b, c

    for n in (3, 3, 6, 1):
        w(f, floats(n), floats(n))
    x = floats(3)
    w(f, x, x)
    w(f, floats(0), floats(0))


@case
def sort_and_reverse_of_a_list(w: World) -> None:
    @w.compiled
    def f(names, x):
        names.sort()
        names.reverse()
        return x * len(names), names[0]

    names = ["b", "a", "c"]
    for _ in range(2):
        w(f, names, floats(3))
    names.append("z")
    w(f, names, floats(3))
    w(f, ["q"], floats(2))
    w(f, [1, "q"], floats(2))


@case
def the_same_list_under_two_names(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        a.append(x)
        return len(b), b[-1] * 2 if b else None

    one, other = [], []
    for a, b in ((one, other), (one, one), (other, one), (one, one), (other, other)):
        w(f, a, b, floats(3))


@case
def deleting_items_and_attributes(w: World) -> None:
    @w.compiled
    def f(bag, items, table, x):
        del bag.gone
        del items[0]
        del table["k"]
        return x + len(items) + len(table)

    for n in (3, 3, 5):
        w(f, Bag(gone=1, stays=2), [1, 2], {"k": 1, "j": 2}, floats(n))
    w(f, Bag(gone=1), [1], {"j": 2}, floats(3))
    w(f, Bag(), [1], {"k": 2}, floats(3))


@case
def effects_in_the_order_of_the_program(w: World) -> None:
    log = w.watch([])

    class Recorder:
        def __setattr__(self, name, value):
            log.append(("set", name, value))
            object.__setattr__(self, name, value)

        def __setitem__(self, key, value):
            log.append(("item", key, value))

    r = w.watch(Recorder())

    @w.compiled
    def f(x):
        r.a = x
        r[0] = x + 1
        log.append("between")
        r.b = x * 2
        r[1] = r.a
        return r.b

    for n in (2, 2, 3, 0):
        w(f, ints(n))
