"""Sets, whole dicts compared, hashes, and what is printed."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats


@case
def operators_of_sets(w: World) -> None:
    @w.compiled
    def f(x, mine):
        s = {1, 2, 3}
        s -= {1}
        s |= {7} | mine
        s &= {2, 7, 9}
        s ^= {5}
        mine |= {x.shape[0]}
        return s, s < {2, 5, 7, 9, 11}, s == set(s), frozenset(s) | {1}, {1} | frozenset({2}), x + 1

    for mine in ({9}, {9}, {8, 9}, set()):
        w(f, floats(3), mine)


@case
def methods_of_sets(w: World) -> None:
    @w.compiled
    def f(x, mine):
        s = {1, 2, 3}
        made = s.union([4], mine), s.intersection({1}), s.difference([1]), s ^ {9}
        asked = s.issubset(range(9)), s.issuperset({1}), s.isdisjoint(mine)
        s.update([5, 6], mine)
        s.difference_update({1})
        mine.intersection_update({9, 1})
        return made, asked, s, sum(s), max(s), min(s), len(s), sorted(s), x * len(s)

    for mine in ({9}, {9}, {8, 9}):
        w(f, floats(3), mine)


@case
def keys_compared_with_sets(w: World) -> None:
    @w.compiled
    def f(x, table):
        return table.keys() == {"a", "b"}, table.keys() & {"a"}, {"a"} - table.keys(), x * 2

    w(f, floats(2), {"a": 1, "b": 2})
    w(f, floats(3), {"a": 1, "b": 2})
    w(f, floats(3), {"a": 1})


@case
def dicts_are_compared(w: World) -> None:
    @w.compiled
    def f(x):
        one = {"n": x.shape[0], "sum": float(x.sum()), "in": {"k": (1, 2)}}
        same = one == {"n": 3, "sum": -1.5, "in": {"k": (1, 2)}}
        return same, one != {"n": 3}, {} == {}, x + 1

    for x in (floats(3), floats(4), floats(3) * 2):
        w(f, x)

    @w.compiled
    def g(a, b):
        return "same" if a == b else "other"

    x = floats(3)
    w(g, {"x": 1}, {"x": 1.0})
    w(g, {"x": 1}, {"x": 2.0})
    w(g, {"x": x}, {"x": x})
    w(g, {"x": x}, {"x": floats(3)})


@case
def hashes_of_bytes_and_numbers(w: World) -> None:
    @w.compiled
    def f(x, seen):
        key = hash(x.tobytes())
        return key, hash(float(x.sum())), hash("a"), seen.get(x.shape[0])

    for x in (floats(3), floats(3) + 1, floats(2)):
        w(f, x, {3: "three"})


@case
def arrays_and_containers_are_printed(w: World) -> None:
    @w.compiled
    def f(x):
        print(x.shape, x, [x.sum(), 1], {"m": x.max()}, sep=" | ", end="!\n")
        print((1, 2), x.dtype, None, 2.5, True)
        x += 1
        print("after", x.sum(), f"{x.sum():.2f} {(1, x.shape)} {[1, 2.0]}")
        return str({"a": x[0]}), repr([x.sum(), (1,)])

    for x in (floats(3), floats(4), np.float32([1, 2])):
        w(f, x)
    before = np.get_printoptions()["precision"]
    np.set_printoptions(precision=1)
    try:
        w(f, floats(3) / 3)
    finally:
        np.set_printoptions(precision=before)


@case
def printing_to_a_file_or_flushed(w: World) -> None:
    @w.compiled
    def f(x):
        print("sum", x.sum(), flush=True)
        return x * 2

    w(f, floats(3))
    w(f, floats(3))
