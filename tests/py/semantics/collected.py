"""collections, operator's getters, cached functions, heaps, objects that C code orders and adds."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator
from dataclasses import dataclass

import numpy as np

from semantics.world import World, case, floats


@dataclass(order=True)
class Task:
    size: int
    name: str = ""


class Money:
    def __init__(self, amount):
        self.amount = amount

    def __lt__(self, other):
        return self.amount < other.amount

    def __add__(self, other):
        return Money(self.amount + other.amount) if isinstance(other, Money) else NotImplemented

    def __radd__(self, other):
        return self if type(other) is int and other == 0 else NotImplemented


@case
def getters(w: World) -> None:
    last = operator.itemgetter(-1)

    @w.compiled
    def f(x, rows):
        ranked = sorted(rows, key=last)
        best = max(rows, key=operator.itemgetter(1, 0))
        sums = list(map(operator.methodcaller("sum", 0), [x, x * 2]))
        tasks = [Task(3, "a"), Task(len(x), "b"), Task(1, "c")]
        tasks.sort(key=operator.attrgetter("size"))
        both = operator.itemgetter(0, 1)(rows)
        return ranked, best, sums, tasks, both, list(map(last, rows)), operator.itemgetter(0)(x)

    for n in (3, 1, 5):
        w(f, floats(n), [(n, 2.0), (1, 3.0), (n, 1.0)])


@case
def attributes_of_objects_from_outside(w: World) -> None:
    @w.compiled
    def f(tasks, x):
        ranked = sorted(tasks, key=operator.attrgetter("size"))
        ranked[0].name = "least"
        return [task.name for task in ranked], max(tasks, key=operator.attrgetter("size")), x + 1

    @w.compiled
    def g(tasks):
        least = min(tasks, key=operator.attrgetter("size"))
        least.size = 10
        return least, min(tasks, key=lambda task: task.size)

    for sizes in ((1, 2), (2, 1), (1, 2), (3, 3)):
        tasks = w.watch([Task(size) for size in sizes])
        w(f, tasks, floats(3))
        w(g, tasks)


@case
def default_dicts(w: World) -> None:
    made = w.watch([])

    def fresh():
        made.append(1)
        return np.zeros(2)

    @w.compiled
    def f(x, keys):
        groups = collections.defaultdict(list)
        counts = collections.defaultdict(int, a=5)
        sums = collections.defaultdict(fresh)
        for i, key in enumerate(keys):
            groups[key].append(x * i)
            counts[key] += 1
            sums[key] += x[:2]
        has = "z" in counts, counts.get("z"), len(counts)
        return groups, counts, dict(sums), has, sorted(groups), counts.copy()

    for keys in ("ab", "aba", "ab", "", "ccc"):
        w(f, floats(3), keys)


@case
def a_key_that_nothing_makes_up(w: World) -> None:
    @w.compiled
    def f(x, key):
        table = collections.defaultdict(None, a=x)
        try:
            return table[key] + 1
        except KeyError as error:
            return error.args, x

    for key in ("a", "b", "a"):
        w(f, floats(3), key)


@case
def deques(w: World) -> None:
    @w.compiled
    def f(x, n):
        recent = collections.deque(maxlen=3)
        for i in range(n):
            recent.append(x * i)
        queue = collections.deque([x, x + 1])
        first = queue.popleft()
        queue.appendleft(first * 2)
        queue.extend([1, 2])
        queue.rotate(1)
        kept = queue.copy()
        kept.reverse()
        mean = sum(recent) / max(len(recent), 1)
        return recent, queue, kept, mean, queue[0], queue[-1], bool(recent), np.array(recent).shape

    for n in (2, 5, 0, 2):
        w(f, floats(3), n)


@case
def deques_from_outside(w: World) -> None:
    class Average:
        def __init__(self, size):
            self.recent = collections.deque(maxlen=size)
            self.log = collections.deque()

        def add(self, x):
            self.recent.append(x)
            self.log.append(len(x))
            return sum(self.recent) / len(self.recent)

    average = w.watch(Average(2))
    log = w.watch(collections.deque([1]))

    @w.compiled
    def f(x):
        log.append(x.size)
        return average.add(x)

    @w.compiled
    def g(items, x):
        while items and items[0] < 3:
            items.popleft()
        items.append(x[0])
        return list(items), items.maxlen

    for n in range(6):
        w(f, floats(3) + n)
    items = w.watch(collections.deque([1, 2, 3, 4], maxlen=4))
    for n in range(4):
        w(g, items, floats(3) + n)
        items.appendleft(n)


@case
def counters(w: World) -> None:
    @w.compiled
    def f(words, x):
        counts = collections.Counter(words)
        for word in words:
            counts[word] += len(word)
        counts.update(["a", "b"], c=2)
        counts.subtract({"a": 1})
        letters = collections.Counter("abca")
        letters["z"] += x.size
        return (
            counts,
            counts.most_common(2),
            counts["missing"],
            len(counts),
            letters.most_common(),
            letters.total(),
            dict(letters),
            max(letters, key=letters.get),
        )

    for words in (["a", "bb", "a"], ["a", "bb", "a"], [], ["bb", "bb", "a"]):
        w(f, words, floats(3))
        w(f, words, floats(2))


@case
def cached_functions(w: World) -> None:
    calls = w.watch([])

    @functools.lru_cache
    def window(n, scale=1.0):
        calls.append(n)
        return np.arange(n) * scale

    @functools.cache
    def factor(name):
        calls.append(name)
        return len(name) * 2.0

    @w.compiled
    def f(x, name):
        return x * window(x.shape[0]) + window(x.shape[0], 2.0) * factor(name), window(len(x))

    for n in (3, 3, 4, 3, 4, 5):
        w(f, floats(n), "ab")
        w(f, floats(n), "abc")
    w.note(window.cache_info(), factor.cache_info())
    window.cache_clear()
    w(f, floats(3), "ab")
    w(f, floats(3), "ab")
    w.note(window.cache_info()[2:])


@case
def cached_results_that_are_changed(w: World) -> None:
    @functools.lru_cache(maxsize=2)
    def table(n):
        return np.zeros(n)

    @w.compiled
    def f(x):
        known = table(len(x))
        known += x
        return known, known is table(len(x))

    for n in (3, 3, 2, 4, 3, 3):
        w(f, floats(n))
    w.note(table(3), table(4))


@case
def cached_by_objects(w: World) -> None:
    @functools.lru_cache
    def named(task_type, *, size=1):
        return task_type(size)

    @w.compiled
    def f(x):
        return named(Task, size=2), named(Task), x + 1

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def heaps(w: World) -> None:
    @w.compiled
    def f(x, weights):
        heap = []
        for place, weight in enumerate(weights):
            heapq.heappush(heap, (weight, place, x * place))
        order = [heapq.heappop(heap)[1] for _ in range(len(heap))]
        numbers = [float(x.sum()), 3.0, 1.0, 2.0]
        heapq.heapify(numbers)
        least = heapq.heapreplace(numbers, 9.0)
        return order, numbers, least, heapq.heappushpop(numbers, 0.5)

    for weights in ([3, 1, 2], [3, 1, 2], [1.5, 0.5], []):
        w(f, floats(3), weights)
        w(f, floats(3) + 1, weights)


@case
def places_found_by_halving(w: World) -> None:
    @w.compiled
    def f(x, edges):
        low = float(x.sum())
        found = bisect.bisect(edges, low), bisect.bisect_left(edges, 1.0)
        bisect.insort(edges, low)
        return found, edges

    for n in (1, 3, 5, 3):
        w(f, floats(n), [0.0, 1.0, 2.0])


@case
def compared_by_a_function(w: World) -> None:
    @w.compiled
    def f(parts):
        def by_sum(a, b):
            return float(a.sum()) - float(b.sum())

        ranked = sorted(parts, key=functools.cmp_to_key(by_sum))
        turned = sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))
        return ranked, turned, max(parts, key=functools.cmp_to_key(by_sum)) is ranked[-1]

    a, b, c = floats(3), floats(3) + 1, floats(2)
    for parts in ([a, b, c], [c, b, a], [a, b, c], [a, a]):
        w(f, parts)


@case
def objects_in_order(w: World) -> None:
    @w.compiled
    def f(x, tasks):
        money = [Money(float(x.sum())), Money(1.0), Money(2.0)]
        ranked = sorted(money)
        money.sort(reverse=True)
        return (
            [each.amount for each in ranked],
            [each.amount for each in money],
            sorted(tasks),
            max(tasks),
            min([Task(len(x)), Task(3)]).size,
        )

    for n in (1, 3, 5, 3):
        w(f, floats(n), w.watch([Task(2, "b"), Task(n, "a"), Task(2, "a")]))


@case
def objects_added_up(w: World) -> None:
    @w.compiled
    def f(x):
        parts = [Money(x), Money(x * 2), Money(1.0)]
        running = list(itertools.accumulate(parts, operator.add))
        return sum(parts).amount, functools.reduce(operator.add, parts).amount, running[1].amount

    for n in (3, 4):
        w(f, floats(n))


@case
def groups_and_tees(w: World) -> None:
    @w.compiled
    def f(x, rows):
        groups = [
            (key, [row[1] for row in group])
            for key, group in itertools.groupby(rows, key=lambda row: row[0])
        ]
        skipped = [key for key, _ in itertools.groupby(rows, key=operator.itemgetter(0))]
        signs = [(key, len(list(group))) for key, group in itertools.groupby(x, lambda v: v > 0)]
        first, second = itertools.tee(x * i for i in range(3))
        next(second)
        return groups, skipped, signs, list(zip(first, second, strict=False))

    rows = [("a", 1), ("a", 2), ("b", 3), ("a", 4)]
    for n in (3, 5, 3):
        w(f, floats(n), rows[:n])
        w(f, -floats(n), rows)


@case
def asked_until(w: World) -> None:
    @w.compiled
    def f(x, stop):
        numbers = itertools.count()
        return [x * i for i in iter(lambda: next(numbers), stop)]

    for stop in (2, 3, 2, 0):
        w(f, floats(3), stop)


@case
def along_an_axis(w: World) -> None:
    def spread(row, scale=1.0):
        return (row.max() - row.min()) * scale

    @w.compiled
    def f(x):
        return (
            np.apply_along_axis(spread, 0, x),
            np.apply_along_axis(spread, 1, x, scale=2.0),
            np.apply_along_axis(lambda row: row[::-1] * 2, -1, x),
            [x[place] for place in np.ndindex(x.shape)],
        )

    for shape in ((2, 3), (3, 2), (2, 3), (1, 1)):
        w(f, floats(*shape))


@case
def over_a_grid(w: World) -> None:
    @w.compiled
    def f(x):
        grid = np.fromfunction(lambda i, j: i * 2 + j, (2, 3))
        parts = np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * 2])
        return grid + x, parts

    for n in (3, 1, 3):
        w(f, floats(n))


@case
def functions_made_for_elements(w: World) -> None:
    def clipped(a, b):
        return a if a < b else b

    @w.compiled
    def f(x):
        return np.vectorize(clipped)(x, 1.0), np.frompyfunc(clipped, 2, 1)(x, 0.5)

    for n in (3, 1, 4):
        w(f, floats(n))


@case
def values_taken_apart(w: World) -> None:
    class Model:
        kind = "linear"
        __match_args__ = ("weight", "bias")

        def __init__(self, weight, bias):
            self.weight, self.bias = weight, bias

    @w.compiled
    def f(x, item):
        match item:
            case []:
                return "nothing"
            case [a, b]:
                return x * a + b
            case [first, *rest, last] if len(rest) > 1:
                return first, rest, last
            case {"scale": scale, **others}:
                return x * scale, others
            case Model(weight, bias=bias):
                return x * weight + bias, item.kind
            case Task(size=3):
                return "three"
            case Task(size, name) | (size, name, None):
                return size, name
            case float(number) | (int() as number):
                return x + number
            case (str(), *_):
                return item
            case None | np.ndarray():
                return item
        return x

    w(f, floats(3), [])
    w(f, floats(3), [1, 2.0])
    w(f, floats(4), (floats(4), 2.0))
    w(f, floats(3), [1, 2, 3, 4])
    w(f, floats(3), {"scale": 2.0, "more": floats(2)})
    w(f, floats(3), {"other": 1})
    w(f, floats(3), Model(2.0, floats(3)))
    w(f, floats(3), Task(3, "a"))
    w(f, floats(3), Task(4, "a"))
    w(f, floats(3), (4, "b", None))
    w(f, floats(3), 2.5)
    w(f, floats(3), 2)
    w(f, floats(3), ["a", "b", "c"])
    w(f, floats(3), None)
    w(f, floats(3), floats(2))
    w(f, floats(3), "text")
    for n in (1, 2, 3):
        w(f, floats(n), Model(2.0, n))
        w(f, floats(n), {"scale": n})
