"""The standard library within a compiled function."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import dataclasses
import decimal
import functools
import itertools
import json
import re
import typing
import weakref

import numpy as np

from semantics.world import World, case, floats, ints


@case
def tools_for_iteration(w: World) -> None:
    @w.compiled
    def f(xs, k):
        pairs = [a + b for a, b in itertools.pairwise(xs)]
        chained = list(itertools.chain(xs, [k]))
        total = list(itertools.accumulate(xs))
        return pairs, len(chained), total[-1:], [*itertools.islice(itertools.cycle([1, k]), 3)]

    for n, k in ((2, 2), (2, 2), (3, 1), (1, 5), (0, 2)):
        w(f, [floats(2) + i for i in range(n)], k)


@case
def zip_enumerate_reversed_map(w: World) -> None:
    @w.compiled
    def f(xs, ks):
        a = [x * k for x, k in zip(xs, ks, strict=False)]
        b = [(i, x[0]) for i, x in enumerate(xs, start=1)]
        return (
            a,
            b,
            [*map(lambda x, k: x + k, xs, ks)],
            list(reversed(ks)),
            dict(zip("ab", ks, strict=False)),
        )

    for n, m in ((2, 2), (2, 2), (3, 2), (1, 3), (0, 0)):
        w(f, [floats(2) + i for i in range(n)], list(range(m)))


@case
def strict_zip(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(xs, ks):
        for x, k in zip(xs, ks, strict=True):
            x += k
            log.append(k)
        return xs

    for n, m in ((2, 2), (2, 2), (3, 2), (2, 3), (2, 2)):
        w(f, [floats(2) for _ in range(n)], list(range(m)))


@case
def any_all_sum_over_generators(w: World) -> None:
    log = w.watch([])

    def check(x):
        log.append(len(x))
        return x[0] > 0

    @w.compiled
    def f(xs):
        if any(check(x) for x in xs):
            return sum(x.sum() for x in xs)
        return all(check(x) for x in xs), max((len(x) for x in xs), default=-1)

    for values in ((1, -1), (1, -1), (-1, 1), (-1, -1), (), (1, 1)):
        w(f, [np.full(2, float(v)) for v in values])


@case
def single_dispatch(w: World) -> None:
    @functools.singledispatch
    def scale(k, x):
        return "default"

    @scale.register
    def _(k: int, x):
        return x * k

    @w.compiled
    def f(k, x):
        return scale(k, x)

    for k in (2, 2, 2.5, True, "a"):
        w(f, k, floats(3))
    scale.register(float, lambda k, x: x - k)
    w(f, 2.5, floats(3))
    w(f, 2.5, floats(3))


@case
def copies_within(w: World) -> None:
    class Model:
        pass

    @w.compiled
    def f(m):
        shallow, deep = copy.copy(m), copy.deepcopy(m)
        shallow.w += 1
        deep.w *= 100
        return shallow, deep, m.w.sum(), copy.copy(m.w), copy.deepcopy(m.items)

    m = Model()
    m.w, m.items = floats(3), [floats(2)]
    for _ in range(3):
        w(f, m)
    m.w = floats(2, 2).T
    w(f, m)
    m.items.append(m.w)
    w(f, m)


@case
def dataclass_helpers(w: World) -> None:
    @dataclasses.dataclass(order=True)
    class P:
        n: int
        x: object = dataclasses.field(compare=False, default=None)

    @w.compiled
    def f(p, q):
        return (
            dataclasses.asdict(p),
            dataclasses.astuple(p),
            p < q,
            max(p, q),
            [g.name for g in dataclasses.fields(p)],
        )

    for a, b in ((1, 2), (1, 2), (2, 1), (1, 1)):
        w(f, P(a, floats(2)), P(b, floats(3)))


@case
def regular_expressions_and_json(w: World) -> None:
    @w.compiled
    def f(x, text):
        found = re.match(r"(\d+)x(\d+)", text)
        if found:
            return x.reshape(*map(int, found.groups())) + 1
        return x * json.loads(text)["k"]

    for text in ("2x3", "2x3", "3x2", '{"k": 2}', '{"k": [1]}', "{}", "2x2", "{"):
        w(f, floats(6), text)


@case
def counters_and_chains(w: World) -> None:
    @w.compiled
    def f(x, words):
        counts = collections.Counter(words)
        both = collections.ChainMap({"a": 5}, counts)
        return x * counts["a"] + both["a"], counts.most_common(1), sorted(counts.items())

    for words in ("aab", "aab", "abb", "", "ccc"):
        w(f, floats(2), words)


@case
def exit_stacks(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, y):
        with contextlib.ExitStack() as stack:
            stack.callback(log.append, "closed")
            x += 1
            stack.callback(x.fill, 0)
            z = x + y
            stack.pop_all() if len(x) == 4 else None
            return z

    for n, m in ((3, 3), (3, 3), (3, 2), (4, 4), (3, 3)):
        w(f, floats(n), floats(m))


@case
def context_variables(w: World) -> None:
    scale = contextvars.ContextVar("scale", default=2)

    @w.compiled
    def f(x):
        token = scale.set(scale.get() + 1)
        y = x * scale.get()
        if len(x) > 3:
            scale.reset(token)
        return y

    def run():
        for n in (3, 3, 4, 3, 4):
            w(f, floats(n))
            w.note(scale.get())

    contextvars.copy_context().run(run)
    w(f, floats(4))


@case
def decimals_and_their_context(w: World) -> None:
    @w.compiled
    def f(x, k):
        d = decimal.Decimal(k) / 3
        return str(d), x * float(d) > 0, float(d)

    w(f, floats(3), 1)
    w(f, floats(3), 1)
    with decimal.localcontext() as context:
        context.prec = 5
        w(f, floats(3), 1)
        w(f, floats(3), 2)
    w(f, floats(3), 1)


@case
def weak_references(w: World) -> None:
    class Node:
        def __init__(self, k):
            self.k = k

    node = Node(2)
    ref = weakref.ref(node)
    table = weakref.WeakValueDictionary(n=node)

    @w.compiled
    def f(x):
        n = ref()
        if n is None:
            return x, len(table)
        return x * n.k, table["n"].k

    w(f, floats(3))
    w(f, floats(3))
    node.k = 3
    w(f, floats(3))
    del node
    w(f, floats(3))
    w(f, floats(3))


@case
def typed_dicts_casts_and_protocols(w: World) -> None:
    class Settings(typing.TypedDict, total=False):
        k: float

    class Sized(typing.Protocol):
        def __len__(self) -> int: ...

    @w.compiled
    def f(x, s):
        s = typing.cast(Settings, s)
        t = Settings(k=s.get("k", 1))
        y: Sized = x
        return y * t["k"], t, typing.TYPE_CHECKING

    for s in ({"k": 2}, {"k": 2}, {}, {"k": floats(3)}, None):
        w(f, floats(3), s)


@case
def method_caches_and_total_ordering(w: World) -> None:
    log = w.watch([])

    @functools.total_ordering
    class Item:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return self.v == o.v

        def __lt__(self, o):
            log.append("lt")
            return self.v < o.v

        __hash__ = None

        @functools.cache  # noqa: B019
        def nothing(self):
            return 1

    @w.compiled
    def f(a, b, x):
        return (x + 1 if a >= b else x - 1), sorted([a, b])[0].v

    for a, b in ((1, 2), (1, 2), (2, 1), (1, 1)):
        w(f, Item(a), Item(b), floats(2))


@case
def sorting_with_keys_and_stability(w: World) -> None:
    @w.compiled
    def f(xs, names):
        order = sorted(range(len(xs)), key=lambda i: (len(xs[i]), -i))
        best = min(xs, key=len)
        names.sort(key=str.lower, reverse=True)
        return [xs[i] * i for i in order], best is xs[0], names

    for ns in ((2, 1, 2), (2, 1, 2), (1, 2, 3), (1, 1), ()):
        if ns:
            w(f, [floats(n) for n in ns], ["b", "A", "a", "B"])
    w(f, [], [])


@case
def async_and_generator_functions(w: World) -> None:
    import asyncio

    @w.compiled
    async def f(x):
        await asyncio.sleep(0)
        return x + 1

    @w.compiled
    async def g(xs):
        return [await f(x) async for x in source(xs)]

    async def source(xs):
        for x in xs:
            yield x

    for n in (2, 2, 3):
        w(lambda n=n: asyncio.run(f(floats(n))))
        w(lambda n=n: asyncio.run(g([floats(n), ints(n)])))


@case
def exceptions_of_the_library(w: World) -> None:
    @w.compiled
    def f(x, text):
        k = int(text)
        y = x * k
        return y, [1, 2, 3][k], {"1": 5}[text], (x[k], next(iter(y[k:])))

    for text in ("1", "1", "2", "x", "9", "-1", "", " 1 "):
        w(f, floats(4), text)


@case
def simple_namespaces_and_types(w: World) -> None:
    import types

    @w.compiled
    def f(ns, x):
        ns.count += 1
        kind = type("Made", (), {"k": ns.count})
        return x * kind.k, isinstance(ns, types.SimpleNamespace), kind().k, kind.__name__

    ns = w.watch(types.SimpleNamespace(count=0))
    for n in (3, 3, 4):
        w(f, ns, floats(n))


@case
def string_methods(w: World) -> None:
    @w.compiled
    def f(x, text):
        words = text.split()
        table = {word: x * i for i, word in enumerate(words)}
        return (
            ",".join(reversed(words)),
            table,
            text.replace("a", "b").count("b"),
            text[::-1],
            text in "abc",
        )

    for text in ("a b", "a b", "b a", "", "aa", "c"):
        w(f, floats(2), text)
