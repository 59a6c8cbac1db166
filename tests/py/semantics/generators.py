"""Generators that the program makes: expressions, functions, methods, in every consumer."""

from __future__ import annotations

import contextlib
import functools
import itertools

import numpy as np

from semantics.world import World, case, floats


def halves(x, times):
    for _ in range(times):
        x = x / 2
        yield x


def rows_of(x, *, step=1):
    i = 0
    while i < len(x):
        yield x[i]
        i += step


@case
def expressions_in_every_consumer(w: World) -> None:
    @w.compiled
    def f(parts, names):
        return (
            sum(x * 2 for x in parts),
            any(x.size > 3 for x in parts),
            all(x.size > 3 for x in parts),
            tuple(x + 1 for x in parts),
            list(x - 1 for x in parts if x.ndim),  # noqa: C400
            max((x.size for x in parts), default=0),
            {name: x - 2 for name, x in zip(names, (x * 3 for x in parts), strict=False)},
            dict((name, len(name)) for name in names),  # noqa: C402
            set(len(name) for name in names),  # noqa: C401
            sorted(-x.size for x in parts),
            ",".join(name.upper() for name in names),
            [*(x.sum() for x in parts)],
        )

    for n in (3, 4, 3):
        w(f, [floats(n), floats(2)], ["a", "bb"])
        w(f, [], [])
        w(f, [floats(n)], ("c", "d"))


@case
def arrays_of_expressions(w: World) -> None:
    @w.compiled
    def f(x, weights):
        total = sum(weight * row for weight, row in zip(weights, x, strict=False))
        norms = np.array([float(v) for v in (row.sum() for row in x)])
        return total, norms, np.stack([row * 2 for row in (r + 1 for r in x)])

    for shape in ((2, 3), (2, 4), (3, 2)):
        w(f, floats(*shape), [1.0, 2.0, 3.0])
    w.captured(f, 2)


@case
def functions_and_their_arguments(w: World) -> None:
    @w.compiled
    def f(x, times):
        made = [part.sum() for part in halves(x, times)]
        last = x
        for part in halves(x, times=2):
            last = part
        every = list(rows_of(x, step=2))
        return made, last, every, sum(functools.partial(halves, times=2)(x))

    for n, times in ((3, 2), (4, 2), (3, 0), (1, 3)):
        w(f, floats(n), times)


@case
def methods_and_iterables(w: World) -> None:
    class Batches:
        def __init__(self, x, size):
            self.x, self.size = x, size

        def __iter__(self):
            for start in range(0, len(self.x), self.size):
                yield self.x[start : start + self.size]

        def scaled(self, by):
            return (part * by for part in self)

        @staticmethod
        def pairs(parts):
            before = None
            for part in parts:
                if before is not None:
                    yield before, part
                before = part

    given = w.watch(Batches(floats(5), 2))

    @w.compiled
    def f(x, size):
        batches = Batches(x, size)
        sums = [part.sum() for part in batches]
        more = [part - 1 for part in batches.scaled(2)]
        pairs = [a.sum() - b.sum() for a, b in Batches.pairs(batches)]
        return sums, more, pairs, [part + 1 for part in given]

    for n, size in ((4, 2), (6, 3), (4, 2), (5, 2), (0, 1)):
        w(f, floats(n), size)
    given.size = 3
    w(f, floats(4), 2)


@case
def effects_between_items(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        def noted():
            log.append("begins")
            for i in range(3):
                log.append(i)
                yield x * i
            log.append("ends")

        items = noted()
        log.append("made")
        first = next(items)
        log.append("between")
        return first, [item + 1 for item in items], list(items)

    for n in (3, 1, 0):
        w(f, floats(n))


@case
def arrays_written_between_items(w: World) -> None:
    @w.compiled
    def f(x):
        made = []
        for row in rows_of(x):
            made.append(row * 1)
            x += 1
        seen = [part.sum() for part in (x[i] for i in range(len(x)))]
        doubled = (x * 2 for _ in range(2))
        first = next(doubled)
        x[0] = 0
        return made, seen, first, next(doubled)

    for shape in ((2, 3), (3, 2), (2, 1)):
        w(f, floats(*shape))


@case
def names_bound_late(w: World) -> None:
    @w.compiled
    def f(x):
        scale = 2
        scaled = (part * scale for part in (x, x + 1))
        scale = 3
        first = next(scaled)
        scale = x.sum()
        return first, next(scaled), [f(x) for f in [lambda y, i=i: y * i for i in (1, 2)]]

    for n in (3, 2):
        w(f, floats(n))


@case
def branches_within(w: World) -> None:
    def positive(parts):
        for part in parts:
            if part.sum() > 0:
                yield part
            elif part.size > 3:
                return

    @w.compiled
    def f(parts):
        return list(positive(parts)), sum(1 for _ in positive(parts))

    a, b, c = floats(3) + 5, floats(3) - 5, floats(4) - 5
    for parts in ([a, b], [b, a], [a, b], [a, c, a], [c], [a, a]):
        w(f, parts)


@case
def left_waiting(w: World) -> None:
    @w.compiled
    def f(x):
        for part in halves(x, 5):
            if part.size < 10:
                break
        unused = halves(x, 3)
        first, second = next(unused), next(unused, None)
        return part, first, second, next(halves(x, 0), "nothing")

    for n in (3, 4, 12):
        w(f, floats(n))


@case
def left_waiting_with_something_to_finish(w: World) -> None:
    log = w.watch([])

    def careful(x):
        try:
            yield x
            yield x + 1
        finally:
            log.append("closed")

    @w.compiled
    def f(x):
        for part in careful(x):
            break
        return part, list(careful(x))

    for n in (3, 4):
        w(f, floats(n))


@case
def exceptions_within(w: World) -> None:
    def checked(parts):
        for part in parts:
            if part < 0:
                raise ValueError(f"{part} is negative")
            yield part

    @w.compiled
    def f(x, parts):
        try:
            return x + sum(checked(parts))
        except ValueError as error:
            made = [x]
            try:
                made.extend(x * part for part in checked(parts))
            except ValueError:
                pass
            return made, str(error)

    for parts in ([1, 2], [1, -2, 3], [3], [-1]):
        w(f, floats(3), parts)


@case
def exceptions_that_leave(w: World) -> None:
    @w.compiled
    def f(x, parts):
        x += 1
        return sum(1 / part for part in parts) + x

    for parts in ([1, 2], [1, 0], [1, 2]):
        w(f, floats(3), parts)


@case
def at_their_end(w: World) -> None:
    @w.compiled
    def f(x):
        items = halves(x, 1)
        made = [next(items)]
        try:
            made.append(next(items))
        except StopIteration:
            made.append("ended")
        return made, list(items), next(items, None)

    for n in (3, 4):
        w(f, floats(n))


@case
def from_outside_and_to_outside(w: World) -> None:
    @w.compiled
    def f(items, x):
        return sum(items) + x

    @w.compiled
    def g(x):
        return (x * i for i in range(3))

    for n in (3, 4):
        w(f, (floats(n) for _ in range(2)), floats(n))
        made = w(g, floats(n))
        w.note(list(made))


@case
def in_turns(w: World) -> None:
    @w.compiled
    def f(x, y):
        pairs = list(zip(halves(x, 3), halves(y, 2), strict=False))
        a, b = halves(x, 3), halves(y, 3)
        turns = [next(a), next(b), next(b), next(a)]
        return pairs, turns, list(a), list(enumerate(b))

    for n in (3, 4):
        w(f, floats(n), floats(n) + 1)


@case
def one_within_another(w: World) -> None:
    def walk(tree):
        if isinstance(tree, list):
            for part in tree:
                for leaf in walk(part):  # noqa: UP028
                    yield leaf
        else:
            yield tree

    @w.compiled
    def f(x, tree):
        total = sum(x * leaf for leaf in walk(tree))
        table = [[i * j for j in range(2)] for i in range(2)]
        grid = list(tuple(x + cell for cell in row) for row in table)  # noqa: C400
        flat = [v + 1 for v in (cell for row in table for cell in row)]
        return total, grid, flat, sum(sum(row) for row in table)

    for tree in ([1, [2, [3]]], 5, [1, [2, [3]]], []):
        w(f, floats(3), tree)


@case
def that_yield_from_others(w: World) -> None:
    def both(x):
        yield from halves(x, 1)
        yield from (x, x + 1)

    @w.compiled
    def f(x):
        return list(both(x)), x * 2

    for n in (3, 4):
        w(f, floats(n))

    def counted(x, n):
        for i in range(n):
            yield x + i
        return x * n

    def tree(node):
        if isinstance(node, list):
            for part in node:
                yield from tree(part)
        else:
            yield node
        return 1

    def joined(x, n):
        total = yield from counted(x, n)
        none = yield from [total]
        again = yield from counted(total, n // 2)
        yield none, again

    @w.compiled
    def g(x, n, parts):
        first = [v for v in joined(x, n)]  # noqa: C416
        few = []
        for v in joined(x, n):
            few.append(v)
            if len(few) == 2:
                break
        walk = tree(parts)
        one = next(walk, None)
        return first, few, one, sum(x * leaf for leaf in walk), dict(enumerate(joined(x, 1)))

    for n, parts in ((3, [1, [2, [3]]]), (0, 5), (1, []), (3, [1, [2, [3]]]), (4, [[4]])):
        w(g, floats(3), n, parts)

    class Ends:
        def __init__(self, value):
            self.value = value

        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration(self.value)

    def ends(x, value):
        yield x
        got = yield from Ends(value)
        yield got

    @w.compiled
    def h(x, value):
        return list(ends(x, value))

    for value in (None, None, 3):
        w(h, floats(2), value)


@case
def that_are_sent_values(w: World) -> None:
    def running():
        total = 0
        while True:
            total = total + (yield total)

    @w.compiled
    def f(x):
        sums = running()
        next(sums)
        return sums.send(x), sums.send(x)

    for n in (3, 4):
        w(f, floats(n))


@case
def unpacked_and_spread(w: World) -> None:
    def three(a, b, c=0):
        return a + b + c

    @w.compiled
    def f(x, n):
        a, b = (x * i for i in (1, 2))
        first, *rest = (x + i for i in range(n))
        return a, b, first, rest, three(*(x for _ in range(n)))

    for n in (2, 3, 2):
        w(f, floats(3), n)
        w(f, floats(2), n)


@case
def through_c_iterators(w: World) -> None:
    @w.compiled
    def f(x):
        parts = (x + i for i in itertools.count())
        some = list(itertools.islice(parts, 3))
        doubled = map(lambda part: part * 2, (part for part in some))  # noqa: C417
        kept = filter(lambda part: part.sum() > 1, (part for part in some))
        total = functools.reduce(lambda a, b: a + b, (part for part in some))
        best = max((part for part in some), key=lambda part: float(part.sum()))
        return some, list(doubled), list(kept), total, best, next(parts)

    for n in (3, 4, 1):
        w(f, floats(n))


@case
def context_managers(w: World) -> None:
    log = w.watch([])

    @contextlib.contextmanager
    def scaled(x, by):
        log.append("enters")
        yield x * by
        log.append("exits")

    @contextlib.contextmanager
    def careful(x):
        try:
            yield x
        except ValueError:
            log.append("caught")
        finally:
            log.append("closed")

    @w.compiled
    def f(x, fails):
        with scaled(x, 2) as y, careful(y) as z:
            total = z.sum()
            if fails:
                raise ValueError("inside")
        return y, total

    for n in (3, 4):
        w(f, floats(n), False)
    w(f, floats(3), True)


@case
def values_sent_into_them(w: World) -> None:
    def mean(total):
        count = 1
        while True:
            got = yield total / count
            if got is None:
                total, count = total * 0, 0
            total, count = total + (0 if got is None else got), count + 1

    @w.compiled
    def f(x, value):
        means = mean(x)
        first = next(means)
        sent = [means.send(each) for each in (x * 2, value, None, 3.0)]
        send = means.send
        return first, sent, next(means), send(x)

    for n, value in ((2, 1.5), (2, 2.5), (3, 1.5), (3, None), (4, None)):
        w(f, floats(n), value)
    w.captured(f, 2)


@case
def values_sent_through_others(w: World) -> None:
    def inner(x):
        got = 0
        for i in range(3):
            got = got + (yield x * i + got)
        return got

    def outer(x):
        result = yield from inner(x)
        yield result

    @w.compiled
    def f(x):
        made = outer(x)
        out = [next(made)]
        out.extend(made.send(value) for value in (1, x, 2.5))
        try:
            made.send(4)
        except StopIteration:
            out.append("over")
        return out

    for n in (2, 2, 3):
        w(f, floats(n))
    w.replayed(f)


@case
def what_cannot_be_sent(w: World) -> None:
    def one(x):
        yield x

    @w.compiled
    def f(x):
        made = one(x)
        try:
            made.send(1)
        except TypeError as error:
            return str(error), next(made)

    @w.compiled
    def g(x):
        made = one(x)
        next(made)
        made.send(3)
        return x

    for n in (2, 2, 3):
        w(f, floats(n))
        w(g, floats(n))
