"""Python functions that C code calls back: map, filter, reduce, and callbacks within callbacks."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np

from semantics.world import World, case, floats


def double(x):
    return x * 2


def norm(x):
    return float(np.abs(x).sum())


# ---- map and filter


@case
def maps_in_every_consumer(w: World) -> None:
    @w.compiled
    def f(x, y):
        parts = [x, y]
        a, b = map(double, parts)
        (c,), *rest = map(lambda part: [part, part][:1], parts)  # noqa: C417
        first = next(map(double, parts))
        total = 0
        for part in map(double, parts):
            total = total + part.sum()
        spread = [*map(double, parts), x]
        return (
            list(map(double, parts)),
            tuple(map(double, (y, x))),
            (a, b, c, rest, first, total),
            spread,
            np.stack([part.sum() for part in map(double, parts)]),
            sum(map(norm, parts)),
            dict(zip("ab", map(double, parts), strict=True)),
            max(map(norm, parts)),
        )

    for n, m in ((3, 4), (3, 4), (1, 2), (0, 2)):
        w(f, floats(n), floats(m))
    w.captured(f, 1)


@case
def maps_of_several_and_of_maps(w: World) -> None:
    @w.compiled
    def f(x, weights):
        scaled = map(lambda part, weight: part * weight, [x, x + 1, x + 2], weights)
        shifted = map(lambda part: part + 1, scaled)  # noqa: C417
        return list(shifted), list(scaled), list(map(operator.mul, weights, weights))

    for n in (3, 2, 3):
        w(f, floats(n), [1.0, 2.0])
        w(f, floats(n), (1.0, 2.0, 3.0, 4.0))


@case
def maps_given_as_arguments(w: World) -> None:
    def three(a, b, c=0, *rest):
        return a + b + c, len(rest)

    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    @w.compiled
    def f(x, n):
        made = Pair(*map(double, (x, x + 1)))
        return three(*map(double, [x] * n)), made, three(x, *map(double, [x]))

    for n in (2, 3, 2, 5):
        w(f, floats(3), n)
    w(f, floats(3), 1)


@case
def maps_of_types_and_methods(w: World) -> None:
    class Point:
        def __init__(self, x, y=1):
            self.x, self.y = x, y

        def moved(self, by):
            return Point(self.x + by, self.y)

    @w.compiled
    def f(x, y):
        points = list(map(Point, (x, y), (y, x)))
        alone = [*map(Point, [x])]
        moved = list(map(points[0].moved, (1, 2)))
        return points, alone, moved, [p.x for p in moved]

    for n in (3, 4, 0):
        w(f, floats(n), floats(n) + 1)
    w.captured(f, 1)


@case
def maps_over_rows(w: World) -> None:
    @w.compiled
    def f(x):
        sums = list(map(lambda row: row.sum(), x))  # noqa: C417
        x[0] = 0
        first = map(lambda row: row * 1, x)  # noqa: C417
        x[1] = 7
        return sums, list(first)

    for shape in ((2, 3), (2, 4), (3, 2), (2, 0)):
        w(f, floats(*shape))


@case
def filters(w: World) -> None:
    @w.compiled
    def f(parts):
        kept = list(filter(lambda part: part.sum() > 1, parts))
        some = list(filter(None, [0, 1, "", "a", [], [0]]))
        first = next(filter(lambda part: part.max() > 1, parts), None)
        left = list(itertools.filterfalse(lambda part: part.size > 2, parts))
        return kept, some, first, left

    a, b = floats(3), floats(3) + 1
    for parts in ([a, b], [b, a], [a, b], [a, a], [b, floats(2), b]):
        w(f, parts)


@case
def callbacks_that_write_into_what_they_get(w: World) -> None:
    def grow(x):
        x += 1
        return x

    @w.compiled
    def f(x):
        parts = [x, x, x]
        total = sum(map(grow, parts))
        same = list(map(grow, parts))
        return total, same, same[0] is x

    for n in (3, 1, 0):
        w(f, floats(n))


@case
def callbacks_that_count(w: World) -> None:
    calls = w.watch([])
    count = 0

    @w.compiled
    def f(x, parts):
        nonlocal count
        seen = 0

        def key(part):
            nonlocal seen, count
            seen += 1
            count += 1
            calls.append(part)
            return -part

        ranked = sorted(parts, key=key)
        doubled = list(map(key, ranked))
        return ranked, doubled, seen, count, x + count

    for n in (3, 4, 3):
        w(f, floats(n), [n, 1, 2])
        w.note(count)


@case
def callbacks_that_set_attributes(w: World) -> None:
    class Log:
        def __init__(self):
            self.total, self.last = 0.0, None

        def add(self, x):
            self.total += float(x.sum())
            self.last = x
            return self.total

    log = w.watch(Log())

    @w.compiled
    def f(parts):
        return list(map(log.add, parts)), log.total, log.last is parts[-1]

    for n in (3, 1, 3):
        w(f, [floats(n), floats(2)])


# ---- reduce and what looks for truth


@case
def reduced_by_functions(w: World) -> None:
    @w.compiled
    def f(x, layers):
        forward = functools.reduce(lambda y, layer: layer(y), layers, x)
        total = functools.reduce(lambda a, b: a + 2 * b, [x, x, x])
        widest = functools.reduce(lambda a, b: a if a > b else b, [len(x), 2, 3])
        return forward, total, widest, functools.reduce(double, [x]) is x

    for n in (3, 1, 3, 5):
        w(f, floats(n), [double, np.tanh, lambda y: y - 1])
        w(f, floats(n), [])


@case
def any_and_all(w: World) -> None:
    looked = w.watch([])

    @w.compiled
    def f(parts):
        def positive(part):
            looked.append(part.size)
            return part.sum() > 0

        return any(map(positive, parts)), all(map(positive, parts)), len(looked)

    a, b = floats(3) - 5, floats(4) + 5
    for parts in ([a, b], [b, a], [a, b], [a, a], [b], []):
        w(f, parts)


# ---- exceptions


@case
def callbacks_that_raise(w: World) -> None:
    @w.compiled
    def f(x, parts):
        def inverse(part):
            if part == 0:
                raise ZeroDivisionError(f"no inverse of {part}")
            return 1 / part

        try:
            return x + sum(map(inverse, parts))
        except ZeroDivisionError as error:
            return x, str(error)

    for parts in ([1, 2], [1, 0, 2], [4, 2], [0]):
        w(f, floats(3), parts)


@case
def callbacks_that_raise_out_of_the_function(w: World) -> None:
    done = w.watch([])

    @w.compiled
    def f(x, parts):
        def key(part):
            done.append(part)
            return parts[part]

        x += 1
        return sorted([0, 1, 2], key=key), x

    w(f, floats(3), [3, 1, 2])
    w(f, floats(3), [3, 1])
    w(f, floats(3), [3, 1, 2])
    w(f, floats(3), [3, "a", 2])


@case
def a_sort_that_a_key_ends(w: World) -> None:
    @w.compiled
    def f(x, parts):
        def key(part):
            if part < 0:
                raise ValueError("negative")
            return -part

        try:
            parts.sort(key=key)
        except ValueError:
            return x - 1, parts
        return x, parts

    for parts in ([1, 3, 2], [3, 1, -1, 2], [2, 1, 3]):
        w(f, floats(3), w.watch(list(parts)))


@case
def a_list_that_was_extended_halfway(w: World) -> None:
    @w.compiled
    def f(x):
        def checked(part):
            if part > 2:
                raise ValueError(part)
            return x * part

        made = [x]
        try:
            made.extend(map(checked, [1, 2, 3]))
        except ValueError:
            pass
        return made

    for n in (3, 0, 4):
        w(f, floats(n))


@case
def a_map_that_goes_on_after_an_exception(w: World) -> None:
    @w.compiled
    def f(x):
        def checked(part):
            if part == 2:
                raise ValueError(part)
            return x * part

        items = map(checked, [1, 2, 3])
        made = []
        for _ in range(3):
            try:
                made.append(next(items))
            except ValueError:
                made.append(None)
        return made

    w(f, floats(3))
    w(f, floats(4))


@case
def callbacks_that_stop_an_iteration(w: World) -> None:
    def until_two(part):
        if part == 2:
            raise StopIteration
        return part

    @w.compiled
    def f(x):
        return list(map(until_two, [1, 2, 3])), x + 1

    w(f, floats(3))
    w(f, floats(3))


# ---- callbacks within callbacks


@case
def callbacks_within_callbacks(w: World) -> None:
    @w.compiled
    def f(rows):
        def some(row):
            return len(list(filter(None, map(norm, row))))

        def best(row):
            return max(row, key=lambda x: float(x.sum()))

        ranked = sorted(rows, key=lambda row: sum(map(norm, row)))
        return list(map(best, ranked)), functools.reduce(lambda a, b: a + b, map(some, rows))

    a, b, c = floats(3), floats(2), floats(4)
    for rows in ([[a, b], [c]], [[c], [a, b]], [[a, b], [c]], [[a], [b, c]], []):
        w(f, rows)
        w(f, [*rows, [a]])


@case
def recursion_through_map(w: World) -> None:
    @w.compiled
    def f(tree, x):
        def total(node):
            if isinstance(node, list):
                return sum(map(total, node))
            return x * node

        return total(tree)

    for tree in ([1, [2, 3], [[4]]], 5, [1, [2, 3], [[4]]], [[], [1]]):
        w(f, tree, floats(3))


@case
def closures_with_defaults(w: World) -> None:
    @w.compiled
    def f(x):
        scale = x.sum()
        makers = [lambda y, by=by, scale=scale: y * by + scale for by in (1, 2)]
        direct = [maker(x) for maker in makers]
        return direct, list(map(makers[1], [x, x + 1])), list(map(makers[0], [x], [3]))

    for n in (3, 4, 1):
        w(f, floats(n))


@case
def a_function_that_changes_between_calls(w: World) -> None:
    key = norm

    @w.compiled
    def f(parts):
        return sorted(parts, key=key), list(map(key, parts))

    parts = [floats(3), floats(2), floats(4) - 2]
    w(f, parts)
    key = np.max
    w(f, parts)
    key = len
    w(f, parts)
    key = norm
    w(f, parts)


@case
def arguments_collected_by_callbacks(w: World) -> None:
    def total(*parts, **named):
        return sum(parts), named

    def chosen(part, /, by=2, *, shift=1):
        return part * by + shift

    @w.compiled
    def f(x):
        return (
            list(map(total, [x, x], [1, 2])),
            list(map(functools.partial(total, x, k=3), [x])),
            list(map(functools.partial(chosen, shift=x.sum()), [x], [5])),
            list(map(chosen, [x])),
        )

    for n in (3, 4, 0):
        w(f, floats(n))
    w.captured(f, 1)


@case
def after_a_call_of_the_function_itself(w: World) -> None:
    def size(x):
        return x.size

    def same(x):
        return x

    @w.compiled
    def f(x, y):
        first = same(x)
        ranked = sorted([x, y, x], key=lambda part: part.size)
        total = size(y)
        return first is x, ranked, max([x, y], key=size), total

    for n, m in ((3, 0), (3, 4), (1, 1)):
        w(f, floats(n), floats(m))
