"""Keys of sorted, list.sort, min and max: functions that C code calls back."""

from __future__ import annotations

import functools

import numpy as np

from semantics.callbacks import double, norm
from semantics.world import World, case, floats

# ---- sorted and list.sort


@case
def keys_that_are_known(w: World) -> None:
    @w.compiled
    def f(x, names):
        pairs = [(2, "b"), (1, "c"), (2, "a"), (1, "a")]
        by_first = sorted(pairs, key=lambda pair: pair[0])
        by_last = sorted(pairs, key=lambda pair: pair[-1], reverse=True)
        return by_first, by_last, sorted(names, key=lambda name: (len(name), name)), x + 1

    for n in (3, 4, 0):
        w(f, floats(n), ["bb", "a", "ccc", "aa"])
        w(f, floats(n), ("z", "yy", "x"))
    w.captured(f, 2)


@case
def ties_keep_their_order(w: World) -> None:
    @w.compiled
    def f(x):
        parts = [x, x * 2, x * 3, x * 4]
        same = sorted(parts, key=lambda part: 0)
        turned = sorted(parts, key=lambda part: 0, reverse=True)
        return same, turned, same[0] is parts[0], turned[-1] is parts[-1]

    for n in (3, 1, 0, 5):
        w(f, floats(n))
    w.captured(f, 1)


@case
def keys_that_are_computed(w: World) -> None:
    @w.compiled
    def f(parts):
        ranked = sorted(parts, key=norm)
        first = sorted(parts, key=lambda x: -x.sum())[0]
        return ranked, first, [part is parts[0] for part in ranked]

    a, b, c = floats(3), floats(4), floats(5)
    for parts in ([a, b, c], [c, b, a], [a, b, c], [b, a, b], [a, a, a], [c, a, b], []):
        w(f, parts)
    w.captured(f, 4)


@case
def keys_of_which_some_are_nan(w: World) -> None:
    @w.compiled
    def f(parts):
        ranked = sorted(parts, key=lambda x: float(x.sum()))
        return ranked, max(parts, key=np.sum), min(parts, key=lambda x: x.sum())

    nan = np.full(2, np.nan)
    a, b = floats(2), floats(2) + 1
    for parts in ([a, nan, b], [nan, b, a], [b, nan, a], [a, nan, b], [nan, nan, a], [b, a, nan]):
        w(f, parts)


@case
def tuples_as_keys(w: World) -> None:
    @w.compiled
    def f(parts):
        return sorted(parts, key=lambda x: (x.size, float(x.max()))), max(
            parts, key=lambda x: (x.ndim, x.size)
        )

    a, b, c = floats(3), floats(3) + 1, floats(2)
    for parts in ([a, b, c], [b, a, c], [c, c, a], [a, b, c], [floats(2, 2), a, b]):
        w(f, parts)


@case
def sorted_in_place_by_a_key(w: World) -> None:
    @w.compiled
    def f(parts, x):
        own = [x * 3, x, x * 2]
        own.sort(key=lambda part: float(part.sum()))
        answer = parts.sort(key=len, reverse=True)
        return own, answer, parts

    for n in (1, 2, 3):
        parts = w.watch([floats(n), floats(2), floats(3)])
        w(f, parts, floats(n) + 1)
        w(f, parts, floats(n))


@case
def a_list_that_its_key_looks_at(w: World) -> None:
    @w.compiled
    def f(x):
        parts = [3, 1, 2]
        lengths = []

        def key(part):
            lengths.append(len(parts))
            return part

        parts.sort(key=key)
        return parts, lengths, x + len(parts)

    w(f, floats(3))
    w(f, floats(4))


@case
def a_list_that_its_key_changes(w: World) -> None:
    @w.compiled
    def f(x):
        parts = [3, 1, 2]

        def key(part):
            parts.append(part)
            return part

        try:
            parts.sort(key=key)
        except ValueError as error:
            return str(error), len(parts), x + 1

    w(f, floats(3))
    w(f, floats(3))


@case
def keys_of_many_kinds(w: World) -> None:
    class Ranks:
        def __init__(self, sign):
            self.sign = sign

        def rank(self, x):
            return self.sign * float(x.sum())

        def __call__(self, x):
            return -self.rank(x)

    def rank(x, by, *, of=np.sum):
        return float(of(x)) * by

    ranks = w.watch(Ranks(1.0))

    @w.compiled
    def f(parts):
        own = Ranks(-1.0)
        return (
            sorted(parts, key=ranks.rank),
            sorted(parts, key=ranks),
            sorted(parts, key=own.rank),
            sorted(parts, key=functools.partial(rank, by=-1)),
            sorted(parts, key=functools.partial(rank, by=1, of=np.max)),
            sorted(parts, key=len),
            sorted([2, -3, 1], key=abs),
            sorted(["b", "A", "C"], key=str.lower),
        )

    for n in (3, 3, 1):
        w(f, [floats(3), floats(2), floats(n)])
    ranks.sign = -1.0
    w(f, [floats(3), floats(2), floats(3)])


@case
def keys_of_numpy(w: World) -> None:
    @w.compiled
    def f(parts):
        return sorted(parts, key=np.linalg.norm), sorted(parts, key=np.max), max(parts, key=np.sum)

    a, b = floats(3), floats(3) + 1
    for parts in ([a, b], [b, a], [a, b], [a, a]):
        w(f, parts)


@case
def an_array_that_changes_after_its_key(w: World) -> None:
    @w.compiled
    def f(a, b):
        ranked = sorted([a, b], key=np.sum)
        a += 10
        return ranked, ranked[0] is a, max([a, b], key=np.sum) is a

    for n in (1, 3, 1):
        w(f, floats(n), floats(2))
        w(f, floats(n) + 1, floats(n))


@case
def looked_up_in_a_table(w: World) -> None:
    @w.compiled
    def f(x, table):
        names = sorted(table, key=table.get)
        best = max(table, key=table.get)
        total = x
        for name in names:
            total = total + table[name]
        return names, best, total

    for n in (3, 4):
        w(f, floats(n), {"a": 2, "b": 1, "c": 3})
        w(f, floats(n), {"a": 2, "b": 5})


@case
def places_sorted_by_what_is_there(w: World) -> None:
    @w.compiled
    def f(scores, x):
        order = sorted(range(len(scores)), key=lambda i: scores[i])
        back = sorted(range(len(scores)), key=scores.__getitem__)
        return order, back, [x * i for i in order]

    for scores in ([3, 1, 2], [3, 1, 2], [1, 2, 3], [1, 1], []):
        w(f, scores, floats(2))


@case
def objects_sorted_by_their_attributes(w: World) -> None:
    class Item:
        def __init__(self, name, x):
            self.name, self.x = name, x

        @property
        def weight(self):
            return float(self.x.sum())

    @w.compiled
    def f(items):
        by_name = sorted(items, key=lambda item: item.name)
        heaviest = max(items, key=lambda item: item.weight)
        heaviest.x *= 2
        return by_name, heaviest, [item.x for item in by_name]

    for order in ("abc", "cab", "abc", "bca"):
        items = w.watch([Item(name, floats(place + 1)) for place, name in enumerate(order)])
        w(f, items)


# ---- min and max


@case
def the_extreme_by_a_key(w: World) -> None:
    @w.compiled
    def f(parts, x):
        near = min(parts, key=lambda part: abs(float(part) - float(x)))
        far = max(*parts, 100.0, key=lambda part: abs(part - x))
        none = max([], key=double, default=x), min((), default=3, key=None)
        return near, far, none, max(parts, key=lambda part: 0) is parts[0]

    for x in (0.5, 3.5, 0.5, 9.0):
        w(f, [1.0, 2.0, 4.0], np.float64(x))
        w(f, [7.0, 1.0], np.float64(x))


@case
def the_extreme_of_nothing_by_a_key(w: World) -> None:
    @w.compiled
    def f(parts):
        return max(parts, key=norm)

    w(f, [floats(2), floats(3)])
    w(f, [])
    w(f, [floats(2), floats(3)])
