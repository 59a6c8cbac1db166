"""What is iterated over, and changes meanwhile or is iterated by others too."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


class Bag:
    """Something with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


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
def ranges_that_are_left_early(w: World) -> None:
    @w.compiled
    def first_large(x, n):
        for i in range(n):
            x = x * 2
            if i == 2:
                break
        else:
            x = x - 1
        return x

    for n in (5, 6, 100, 3, 2, 0, 4):
        w(first_large, floats(3), n)
    w.captured(first_large, 2)  # broken off; rolled, for any other count of turns

    @w.compiled
    def downwards(x, n, step):
        total = 0
        for i in range(10, n, step):
            for j in range(i, x.shape[0]):
                total = total + x[j] * i
                if j > i:
                    break
            if total > 1e3 or i < 4:
                return total, i
        return total

    for n, step in ((0, -2), (-5, -2), (2, -2), (4, -2), (0, -3), (3, -2)):
        w(downwards, floats(20), n, step)
        w(downwards, floats(12), n, step)

    @w.compiled
    def found(x):
        return any(v for v in (x[i] > 1 for i in range(len(x))) if v), [
            i for i in range(len(x)) if next(iter(range(i, len(x)))) > 1
        ]

    for n in (3, 4, 4, 1, 5):
        w(found, floats(n))
