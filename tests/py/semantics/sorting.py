"""sorted() and list.sort() of known values, computed numbers, and both in pairs."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def items_of_a_dict(w: World) -> None:
    @w.compiled
    def f(d):
        out = []
        for name, x in sorted(d.items()):
            out.append((name, x * 2))
        return out, sorted(d), sorted(d.items(), reverse=True), sorted(d.keys())

    w(f, {"b": floats(3), "a": floats(2)})
    w(f, {"b": floats(2), "a": floats(2)})
    w(f, {"a": floats(3), "b": floats(2)})
    w(f, {"c": 1, "b": [2], "a": None})
    w(f, {2: floats(1), 1: floats(3), 0: floats(2)})
    w(f, {})
    w(f, {"b": 1, 2: 3})


@case
def computed_numbers(w: World) -> None:
    @w.compiled
    def f(x, y):
        sums = [float(x.sum()), float(y.sum()), 1.0]
        low, middle, high = sorted(sums)
        return low, middle, high, sorted(sums, reverse=True), sorted([len(x), len(y), 3]), sums

    for n, m in ((3, 4), (4, 3), (5, 5), (9, 1), (0, 7)):
        w(f, floats(n), floats(m))
        w(f, -floats(n), floats(m))


@case
def numbers_beside_names(w: World) -> None:
    @w.compiled
    def f(d):
        ranks = sorted([(float(x.max()), name) for name, x in d.items()], reverse=True)
        best = ranks[0][1]
        return ranks, best, [name for _, name in sorted((x.size, name) for name, x in d.items())]

    for a, b, c in ((3, 5, 1), (3, 5, 1), (5, 3, 1), (3, 3, 3), (1, 2, 9), (3, 3, 5)):
        w(f, {"a": floats(a), "b": floats(b), "c": floats(c)})


@case
def sorted_in_place(w: World) -> None:
    @w.compiled
    def f(x, given):
        found = [float(v) for v in (x.sum(), x.max(), x.min())]
        answer = found.sort()
        names = ["c", "a", "b"]
        names.sort()
        given.sort()
        return found, answer, names, given

    for n in (3, 5, 9, 3):
        w(f, floats(n), [3, 1, 2])
        w(f, floats(n), [2.5, n, -1])
        w(f, floats(n), ["b", "a"])


@case
def sets_tuples_and_text(w: World) -> None:
    @w.compiled
    def f(x, words):
        seen = set()
        for word in words:
            if x.size > 3:
                seen.add(word)
        return (
            sorted(seen),
            sorted(words),
            sorted("hello"),
            sorted((3, 1, 2)),
            sorted({2, 1, x.ndim}),
        )

    for n in (3, 5):
        w(f, floats(n), ("b", "a", "c"))
        w(f, floats(n), ["b", "a", "b"])


@case
def arrays_and_scalars(w: World) -> None:
    @w.compiled
    def f(x):
        a, *rest = sorted(x)
        return a, rest, sorted([x.max(), x.min()]), sorted(x.tolist()), sorted(x, reverse=True)

    for x in (floats(3), floats(5), ints(4), ints(4, dtype=np.int8), floats(3)[::-1]):
        w(f, x)


@case
def what_cannot_be_ordered(w: World) -> None:
    @w.compiled
    def f(x, parts):
        return sorted(parts), x + 1

    for parts in (
        [1, "a"],
        [(1, floats(2)), (1, floats(2))],
        [None, None],
        [float("nan"), 1.0, 0.5],
    ):
        w(f, floats(2), parts)
        w(f, floats(2), parts)


@case
def equal_elements_keep_their_place(w: World) -> None:
    @w.compiled
    def f(x):
        one, other = (len(x), "b"), (x.size, "a")
        pairs = [(1, one), (1.0, other), (True, one), (0, other)]
        return (
            sorted(pairs),
            sorted([1, True, 1.0, 0, False]),
            sorted([one, other, one])[0] is other,
        )

    for n in (3, 5, 3):
        w(f, floats(n))
