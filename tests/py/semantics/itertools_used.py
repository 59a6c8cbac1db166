"""Iterators of itertools, and dicts made of iterators."""

from __future__ import annotations

import itertools
import operator

from semantics.callbacks import double
from semantics.world import World, case, floats, ints

# ---- itertools


@case
def chained_and_sliced(w: World) -> None:
    @w.compiled
    def f(x, parts):
        both = list(itertools.chain(parts, [x], map(double, parts)))
        flat = sum(itertools.chain.from_iterable([parts, [x]]))
        some = list(itertools.islice(map(double, itertools.count(1)), 1, 4))
        padded = list(itertools.zip_longest(parts, "ab", fillvalue=x))
        return both, flat, some, padded, list(itertools.pairwise(parts))

    for n in (3, 2, 3):
        w(f, floats(n), [floats(n)])
        w(f, floats(n), (floats(n), floats(n) + 1, floats(n)))


@case
def products_and_combinations(w: World) -> None:
    @w.compiled
    def f(parts):
        return (
            [a * b for a, b in itertools.product(parts, (1, 2))],
            [a + b for a, b in itertools.combinations(parts, 2)],
            list(itertools.permutations(range(3), 2)),
            list(itertools.combinations_with_replacement("ab", 2)),
            list(itertools.product()),
            [i + j for i, j in itertools.product(range(2), repeat=2)],
        )

    for n in (3, 2, 3):
        w(f, [floats(n), floats(n) + 1, floats(n)])
        w(f, [floats(n)])


@case
def accumulated(w: World) -> None:
    @w.compiled
    def f(x, parts):
        return (
            list(itertools.accumulate(parts)),
            list(itertools.accumulate(parts, lambda a, b: a * 2 + b)),
            list(itertools.accumulate([x, x], lambda a, b: a * b, initial=x + 1)),
            list(itertools.accumulate([3, 1, 2], max)),
            list(itertools.accumulate([x, x], operator.mul)),
        )

    for n in (3, 1, 3, 0):
        w(f, floats(n), [floats(n), floats(n) + 1])
        w(f, floats(n), [])


@case
def whiles_and_stars(w: World) -> None:
    @w.compiled
    def f(x, parts):
        return (
            list(itertools.takewhile(lambda part: part.sum() > 0, parts)),
            list(itertools.dropwhile(lambda part: part.sum() > 0, parts)),
            list(itertools.starmap(lambda a, b: a - b, [(x, 1), (2, x)])),
            list(itertools.compress(parts, [1, 0, x.size])),
            list(itertools.islice(itertools.cycle([x, 1]), 3)),
            list(zip(itertools.repeat(x, 2), itertools.repeat(1), strict=False)),
        )

    a, b = floats(3) + 5, floats(3) - 5
    for parts in ([a, b, a], [b, a], [a, b, a], [a, a, b], []):
        w(f, ints(3), parts)


@case
def iterators_consumed_in_turns(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        def noted(part):
            log.append(part)
            return part

        evens = filter(lambda part: noted(part) % 2 == 0, range(8))
        pairs = zip(evens, map(noted, "ab"), strict=False)
        first = next(pairs)
        log.append("between")
        return first, list(pairs), list(evens), x * first[0]

    for n in (3, 1):
        w(f, floats(n))


@case
def iterators_that_leave(w: World) -> None:
    @w.compiled
    def f(x):
        return map(double, [x]), x + 1

    for n in (3, 4):
        result = w(f, floats(n))
        w.note(*(result[0] if result else ()))


@case
def dicts_from_keys_and_pairs(w: World) -> None:
    @w.compiled
    def f(x, names):
        empty = dict.fromkeys(names, x)
        sizes = dict(map(lambda name: (name, x * len(name)), names))  # noqa: C417
        unique = set(map(len, names))
        return empty, sizes, unique, dict.fromkeys("ab")

    for names in (["a", "bb"], ("a", "bb"), ["c", "dd", "ee"], []):
        w(f, floats(3), names)
