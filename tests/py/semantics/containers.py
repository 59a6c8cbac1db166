"""Lists, tuples, dicts and sets that hold arrays: order, keys, identity, self-reference."""

from __future__ import annotations

import collections
import types

import numpy as np

from semantics.world import World, case, floats

Point = collections.namedtuple("Point", "x y")


@case
def a_dict_in_another_order(w: World) -> None:
    @w.compiled
    def f(d):
        return {k: v * 2 for k, v in d.items()}, list(d), next(iter(d.values()))

    a, b = floats(2), floats(3)
    for d in ({"a": a, "b": b}, {"a": a, "b": b}, {"b": b, "a": a}, {"a": a}, {1: b, "a": 2}, {}):
        w(f, d)


@case
def keys_that_are_equal_but_not_the_same(w: World) -> None:
    @w.compiled
    def f(d, x):
        return x * d[1], list(d)

    for d in ({1: 2}, {1: 2}, {True: 3}, {1.0: 4}, {np.int64(1): 5}, {"1": 2, 1: 6}, {"1": 2}):
        w(f, d, floats(3))


@case
def a_missing_key(w: World) -> None:
    @w.compiled
    def f(d, x):
        if "k" in d:
            x = x * d["k"]
        return x + d.get("m", 1), d.get("z")

    for d in ({"k": 2}, {"k": 2}, {}, {"m": 3}, {"k": 2, "m": 3}, {"m": None}, {"k": floats(3)}):
        w(f, d, floats(3))


@case
def dict_subclasses(w: World) -> None:
    log = w.watch([])

    class Missing(dict):
        def __missing__(self, key):
            log.append(key)
            return 5

    @w.compiled
    def f(d, x):
        return x * d["k"], d.get("q"), len(d)

    default = collections.defaultdict(lambda: 7)
    for d in (
        {"k": 2},
        {"k": 2},
        Missing(),
        default,
        default,
        collections.OrderedDict(k=3),
        {"k": 2},
    ):
        w(f, d, floats(3))


@case
def a_list_that_contains_itself(w: World) -> None:
    @w.compiled
    def f(items):
        items[0] = items[0] + 1
        return items, items[1][0] * 2

    for _ in range(2):
        a = [floats(3)]
        a.append(a)
        for _ in range(2):
            w(f, a)
    w(f, [floats(3), [floats(2)]])
    w(f, [floats(3), floats(2)])


@case
def a_dict_that_contains_itself(w: World) -> None:
    @w.compiled
    def f(d, x):
        d["me"] = d
        d["x"] = x + 1
        return d["me"]["me"]["x"] * 2

    d = {}
    for n in (3, 3, 4):
        w(f, d, floats(n))
    w(f, {"me": None}, floats(3))


@case
def unhashable_keys_are_errors(w: World) -> None:
    @w.compiled
    def f(d, key, x):
        y = x + 1
        d[key] = y
        return y

    for key in ("a", (1, 2), [1], {}, floats(2), (1, [2]), "a", None, float("nan")):
        w(f, {}, key, floats(3))


@case
def sets_of_numbers(w: World) -> None:
    @w.compiled
    def f(s, x):
        s.add(len(x))
        return x * len(s), 3 in s, s | {100}, sorted(s)

    s = set()
    for n in (3, 3, 5, 2):
        w(f, s, floats(n))
    w(f, {True, 3.0}, floats(3))
    w(f, frozenset({1}), floats(3))
    w(f, [1], floats(3))


@case
def tuples_of_other_lengths(w: World) -> None:
    @w.compiled
    def f(t):
        first, *rest = t
        return first * 2, rest, (*t, 1), t[::-1], t * 2

    a, b = floats(2), floats(3)
    for t in ((a, b), (a, b), (a,), (a, b, a), (b, 1, None), [a, b], ()):
        w(f, t)


@case
def named_tuples(w: World) -> None:
    @w.compiled
    def f(p):
        q = p._replace(x=p.x + 1)
        return q, q.x * p.y, Point(*q), p == q if isinstance(p.x, int) else None

    for p in (Point(floats(2), 2), Point(floats(2), 2), Point(1, 2), Point(floats(3), floats(3))):
        w(f, p)
    w(f, (1, 2))


@case
def a_list_of_arrays_changes_length(w: World) -> None:
    @w.compiled
    def f(items):
        y = items[0]
        for item in items[1:]:
            y = y + item
        return y, np.stack(items), len(items)

    for n in (2, 2, 3, 1, 5, 0):
        w(f, [floats(3) + i for i in range(n)])
    w(f, [floats(3), floats(2)])
    w(f, (floats(3), floats(3)))


@case
def the_same_array_many_times_in_a_list(w: World) -> None:
    @w.compiled
    def f(items):
        for item in items:
            item += 1
        return items[0] * 2

    x, y = floats(3), floats(3)
    for items in ([x, y], [x, y], [x, x], [y, y[::-1]], [x, y], [x] * 3):
        w(f, items)


@case
def nested_containers(w: World) -> None:
    @w.compiled
    def f(tree):
        left, (middle, right) = tree["pair"]
        tree["out"].append([left + middle, {"r": right * 2}])
        return tree["out"][-1][1]["r"]

    a = floats(2)
    tree = {"pair": (a, (a + 1, a + 2)), "out": []}
    for _ in range(3):
        w(f, tree)
    w(f, {"pair": [1, [2, floats(3)]], "out": tree["out"]})
    w(f, {"pair": (a, a), "out": []})
    w(f, {"pair": (a, (a, a, a)), "out": []})


@case
def membership_of_arrays_in_lists(w: World) -> None:
    @w.compiled
    def f(x, items):
        return x in items, x + 1

    x = floats(3)
    for items in ([x], [x], [1], [floats(1)], [floats(3)], [], [None, x], (x,)):
        w(f, x, items)


@case
def list_methods(w: World) -> None:
    @w.compiled
    def f(items, x):
        items.append(x * 2)
        items.extend([1, x])
        last = items.pop()
        items.insert(0, last)
        items += [3]
        items[1:2] = [7, 8]
        del items[-1]
        return items.index(7), items.count(1) if len(x) == 1 else 0, items[:]

    for n in (1, 1, 3, 1):
        w(f, [], floats(n))
        w(f, [5, 6], floats(n))


@case
def slices_that_own_methods_are_given(w: World) -> None:
    class Layers:
        def __init__(self, parts):
            self.parts = list(parts)

        def __getitem__(self, key):
            return Layers(self.parts[key]) if isinstance(key, slice) else self.parts[key]

        def __setitem__(self, key, value):
            self.parts[key] = value

    @w.compiled
    def f(x, layers, n):
        for each in layers[:n].parts:
            x = x * each
        layers[1:2] = [x.sum(), 2.0]
        return x, layers[-1], layers[1:][0]

    for n in (1, 1, 2, 2, 3):
        layers = w.watch(Layers([2.0, 3.0, 4.0]))
        w(f, floats(3), layers, n)


@case
def slices_of_lists_are_new(w: World) -> None:
    @w.compiled
    def f(items, x):
        head = items[:2]
        head[0] = x + 1
        copy = list(items)
        copy.append(x)
        return head, copy, items, items is copy

    for n in (2, 2, 3):
        w(f, [floats(n), 2, 3], floats(n))
    w(f, [], floats(2))


@case
def a_container_returned_is_new_each_time(w: World) -> None:
    @w.compiled
    def f(x):
        return [x + 1], {"y": x}, (1, 2), [], {1, 2}

    for n in (2, 2, 3):
        a, b, _, d, e = w(f, floats(n))
        a.append(1)
        b["z"] = 2
        d.append(3)
        e.add(9)
    w(f, floats(2))


@case
def iterators_advance(w: World) -> None:
    @w.compiled
    def f(it, x):
        return x * next(it), next(it, None)

    it = iter([2, 3, 4, 5, 6])
    for n in (2, 2, 3, 2):
        w(f, it, floats(n))
    w(f, iter(floats(2, 3)), floats(3))
    w(f, zip([1], [2], strict=True), floats(2))


@case
def deques_and_arrays_of_lists(w: World) -> None:
    @w.compiled
    def f(queue, x):
        queue.append(x)
        mean = sum(queue) / len(queue)
        return mean, queue[0]

    queue = collections.deque(maxlen=2)
    for n in (2, 2, 2, 2, 1):
        w(f, queue, floats(n) + n)
    w(f, [], floats(2))


@case
def mapping_proxies_show_a_dict(w: World) -> None:
    table = {"scale": 2.0, "weights": floats(3)}
    shown = types.MappingProxyType(table)

    @w.compiled
    def f(x, key):
        table["last"] = x.sum()
        found = shown["last"], shown.get(key, 3), key in shown, len(shown)
        return x * shown["scale"] + shown["weights"], found, list(shown), {**shown}, dict(shown)

    @w.compiled
    def written(x):
        try:
            shown["scale"] = x
        except TypeError:
            x = x + 1
        return x * shown["scale"], shown == table, type(shown).__name__, isinstance(shown, dict)

    for n in range(3):
        table.clear()
        table.update(scale=2.0 + n, weights=floats(3) + n)
        w(f, floats(3), "scale")
        w(f, floats(3), "none")
        w(written, floats(3))
    shown = types.MappingProxyType({"scale": 1.5, "weights": floats(1)})
    w(f, floats(3), "scale")
