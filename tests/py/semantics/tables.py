"""Dicts and sets of the caller: keys that are equal, that come and go, and tables that grow.

A path looks at the keys it needs and no others, so the cases change the others, store under keys
that are only known when the call runs, and reach one table under two names.
"""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats


@case
def dict_keys_equal(w: World) -> None:
    @w.compiled
    def f(x, d):
        return x * d[1], list(d), d.get(1.0), True in d

    for d in ({1: 2}, {True: 2}, {1.0: 2}, {1: 3}, {True: 2.0}):
        w(f, floats(2), d)


@case
def nan_keys(w: World) -> None:
    nan = float("nan")

    @w.compiled
    def f(x, d, k):
        return x + d.get(k, 5), k in d, len(d)

    for k in (nan, float("nan"), 1.0, nan):
        w(f, floats(2), {nan: 1, 1.0: 2}, k)


@case
def default_dict_argument_as_cache(w: World) -> None:
    @w.compiled
    def f(x, k, cache={}):
        if k not in cache:
            cache[k] = x * k
        return cache[k] + x

    for k in (1, 2, 1, 1, True, 1.0, 2, 3):
        w(f, floats(2), k)


@case
def unhashable_and_sets(w: World) -> None:
    @w.compiled
    def f(x, s):
        s.add(len(x))
        return x * len(s), 3 in s, s

    for s in (set(), {1}, {3}, {3, 4}):
        w(f, floats(3), s)


@case
def a_table_that_gains_keys(w: World) -> None:
    table = w.watch({"w": 2.0})

    @w.compiled
    def f(x, k):
        table[k] = x.sum()
        return x * table["w"], "a" in table, table.get("b", 1)

    for i in range(8):
        w(f, floats(2), f"k{i % 5}")
    w(f, floats(2), "w")
    w(f, floats(2), "a")
    w(f, floats(2), "b")
    w(f, floats(2), "k9")
    w(f, floats(2), 3)
    w(f, floats(2), 3.0)
    w(f, floats(2), True)


@case
def a_table_written_then_read(w: World) -> None:
    table = w.watch({1: "one"})

    @w.compiled
    def f(x, k, v):
        table[k] = v
        y = x * len(table[1])
        table[2] = y
        return y, len(table), list(table), table[2] is y, table

    for k, v in ((5, "a"), (6, "b"), (1, "cc"), (True, "ddd"), (1.0, "e"), (2, "x"), (5, "yy")):
        w(f, floats(2), k, v)


@case
def a_table_deleted_from_and_emptied(w: World) -> None:
    @w.compiled
    def f(d, x, k):
        d["n"] = x
        v = d.pop(k, None)
        d.setdefault("m", 3)
        if "q" in d:
            del d["q"]
        return d.get("n") is x, v, len(d), d

    for d in ({}, {"k": 1}, {"k": 1, "q": 2}, {"q": 1, "m": 5}, {}):
        w(f, d, floats(2), "k")


@case
def two_names_of_one_table(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        a["k"] = x
        return b.get("k"), b is a, len(b)

    for _ in range(3):
        d = {}
        w(f, d, d, floats(2))
        w(f, {}, {}, floats(2))
        w(f, {}, {"k": 1}, floats(2))


@case
def truth_of_tables(w: World) -> None:
    @w.compiled
    def f(d, x):
        return (x if d else -x), not d, bool(d), d and 1

    for d in (
        {},
        {1: 2},
        {},
        [],
        [0],
        "",
        "a",
        (),
        set(),
        {0},
        range(0),
        range(2),
        None,
        0,
        0.0,
        np.zeros(1),
        np.ones(1),
    ):
        w(f, d, floats(2))


@case
def default_mutable_argument(w: World) -> None:
    @w.compiled
    def f(x, seen=[]):
        seen.append(len(x))
        return x * len(seen), seen

    for n in (2, 3, 2, 2):
        w(f, floats(n))
    w(f, floats(2), [])
    f2 = f


@case
def list_iterated_by_the_caller(w: World) -> None:
    l = w.watch([1, 2, 3])

    @w.compiled
    def f(l, x):
        l.append(len(l))
        return x * l[0]

    for i, v in enumerate(l):
        w(f, l, floats(2))
        if i > 3:
            break


@case
def iterators_are_consumed_once(w: World) -> None:
    @w.compiled
    def f(it, x):
        for a in it:
            x = x + a
            if a > 2:
                break
        return x, list(it)

    for mk in (
        lambda: iter([1, 2]),
        lambda: iter([1, 2, 3, 4]),
        lambda: map(float, [1, 5, 6]),
        lambda: (i for i in range(2)),
        lambda: zip([1], [2]),
        lambda: iter([]),
        lambda: iter({1: 2, 3: 4}),
        lambda: reversed([1, 2]),
        lambda: iter([1, 2]),
    ):
        w(f, mk(), floats(2))


@case
def a_generator_that_logs(w: World) -> None:
    log = w.watch([])

    def gen(n):
        for i in range(n):
            log.append(i)
            yield i * 1.0

    @w.compiled
    def f(g, x):
        a = next(g)
        x[0] = a
        b = next(g, -1)
        return x + b

    for n in (3, 3, 1, 2, 0):
        w(f, gen(n), floats(2))
