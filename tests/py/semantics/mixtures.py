"""Small programs that mix state, arrays and Python's own values."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import random

import numpy as np

from semantics.world import World, case, floats, ints


@case
def arrays_kept_by_the_program(w: World) -> None:
    store = w.watch({})

    @w.compiled
    def f(x):
        y = x * 2
        if "last" in store:
            store["last"] += y
        store["last"] = y
        return y

    for _ in range(5):
        w(f, floats(3))


@case
def a_ring_buffer(w: World) -> None:
    class Ring:
        def __init__(self):
            self.buf = np.zeros((3, 2))
            self.at = 0

        def push(self, x):
            self.buf[self.at % 3] = x
            self.at += 1
            return self.buf.mean(axis=0), self.buf[self.at % 3]

    r = w.watch(Ring())
    f = w.compiled(Ring.push)
    for i in range(7):
        w(f, r, floats(2) + i)


@case
def augmented_on_everything(w: World) -> None:
    class Box:
        pass

    b = w.watch(Box())
    b.a = floats(3)
    b.n = 1
    b.l = [floats(3)]
    b.d = {"k": floats(3)}
    b.t = (floats(3),)

    @w.compiled
    def f(x):
        b.a += x
        b.n += 1
        b.l[0] += x
        b.d["k"] *= x
        b.l += [1]
        b.a[0] -= 1
        b.a[1:] += b.a[:-1]
        b.n **= 2
        b.d["k"][0] += b.n
        return b.a

    for _ in range(3):
        w(f, floats(3))


@case
def a_large_object_graph(w: World) -> None:
    class Node:
        def __init__(self, v, nxt=None):
            self.v, self.next, self.extra = v, nxt, []

    head = Node(np.ones(2), Node(np.ones(2) * 2, Node(np.ones(2) * 3)))
    w.watch(head)

    @w.compiled
    def f(n, x):
        total = x * 0
        while n is not None:
            total = total + n.v
            n.v = n.v * 2
            n.extra.append(float(total[0]))
            n = n.next
        return total

    for _ in range(3):
        w(f, head, floats(2))
    head.next.next.next = Node(np.zeros(2))
    w(f, head, floats(2))
    w(f, head, floats(2))
    head.next = None
    w(f, head, floats(2))


@case
def computed_scalars_steer(w: World) -> None:
    @w.compiled
    def f(x):
        n = int(x.sum())
        l = [0] * n
        s = "a" * n
        r = list(range(n))
        q, m = divmod(x.sum(), 2)
        return (
            l,
            s,
            r,
            q,
            m,
            round(x.mean(), 2),
            math.floor(x.sum()),
            x[:n],
            x[n % len(x)],
            float(x.max()).is_integer(),
        )

    for a in ([1.0, 2.0], [1.0, 2.0], [1.0, 3.5], [0.0, 0.0], [-1.0, 0.5]):
        w(f, np.array(a))


@case
def chained_comparisons_and_booleans(w: World) -> None:
    @w.compiled
    def f(x, a, b):
        return (
            a < x.sum() <= b,
            a < b < 3,
            (x[0] and a) or b,
            not x[0],
            (a and x) is x,
            a or x.sum(),
            0 <= len(x) < 3,
            a in (x[0], b),
            a != b,
        )

    for a, b in ((1, 2), (1.0, 2), (0, 5), (5, 0), (0.0, -0.0), (None, 1), ("a", "b")):
        w(f, np.array([0.5, 1.0]), a, b)


@case
def formatting_of_values(w: World) -> None:
    @w.compiled
    def f(x, n):
        return (
            f"{x.sum()}",
            f"{x[0]:.1f}|{n:>4}|{n!r}|{len(x)}",
            "%d %s" % (n, x.dtype),
            f"{x.shape} {n}",
            str(n),
            repr(x.mean()),
            f"{x.sum() > n}",
            f"{n:,}" if isinstance(n, int) else n,
        )

    for n in (1, 1, 2, True, 1000000, 2.5, np.int64(3), np.float32(0.1), "s"):
        w(f, floats(2), n)


@case
def generator_expression_and_comprehensions(w: World) -> None:
    @w.compiled
    def f(xs):
        return (
            [x.sum() for x in xs if x.size > 1],
            {len(x) for x in xs},
            {i: x * 2 for i, x in enumerate(xs)},
            sum(x.sum() for x in xs),
            any(x.any() for x in xs),
            max((x.sum() for x in xs), default=-1),
            tuple(x + i for i, x in enumerate(xs) if i),
            list(zip(xs, xs[1:])),
            sorted(xs, key=len),
        )

    for k in (2, 2, 3, 1, 0):
        w(f, [floats(i + 1) for i in range(k)])


@case
def python_random_and_time(w: World) -> None:
    random.seed(3)
    np.random.seed(5)

    @w.compiled
    def f(x):
        return x + random.random(), np.random.rand(2), np.random.default_rng(7).random()

    for _ in range(3):
        w(f, floats(2))


@case
def pickled_objects_and_functions(w: World) -> None:
    @w.compiled
    def f(x):
        return pickle.loads(pickle.dumps((x, x[1:], x))), copy.deepcopy([x, x]), copy.copy(x)

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def integer_edge_arithmetic(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, x * y, x - y, x << 1, x >> 1, -x if x.dtype.kind != "b" else x, ~x, x & y

    for dt in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        i = np.iinfo(dt)
        a = np.array([i.min, i.max, 1], dt)
        w(f, a, a[::-1].copy())
        w(f, a, np.array([1, 2, 3], dt))


@case
def integer_division_by_zero(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x // y, x % y, np.divmod(x, y), np.fmod(x, y), x / y

    for dt in ("i1", "u1", "i4", "i8", "u8"):
        for v in (1, 1, 0, -1 if dt[0] == "i" else 2):
            w(f, np.array([5, np.iinfo(dt).min, 0], dt), np.array([v, v, 2], dt))


@case
def shifts_out_of_range(w: World) -> None:
    @w.compiled
    def f(x, n):
        return x << n, x >> n

    for dt in ("i1", "u1", "i4", "i8", "u8"):
        for v in (1, 7, 8, 31, 33, 63, 64, 100):
            w(f, np.array([5, 100], dt), np.array([v, 1], dt))
    for v in (1, 70, -1):
        w(f, ints(3), v)


@case
def powers_of_integers(w: World) -> None:
    @w.compiled
    def f(x, n):
        return x**n

    for n in (2, 0, 3, 2, -1, 0.5, np.int64(2), np.int8(3), True, 70):
        w(f, ints(3), n)
        w(f, ints(3, dtype="u1"), n)
        w(f, floats(3), n)
    for n in (ints(3), -ints(3), floats(3)):
        w(f, ints(3), n)


@case
def unsigned_and_signed_mix(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y, x - y, x < y, x == y, np.maximum(x, y), x @ y

    for a in ("u1", "i1", "u8", "i8", "?", "f2", "f4"):
        for b in ("u8", "i2", "?", "f2"):
            w(f, np.array([1, 0, 1], a), np.array([1, 1, 0], b))


@case
def bool_arithmetic(w: World) -> None:
    @w.compiled
    def f(x, op):
        return op(x, x)

    b = np.array([True, False])
    for op in (
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.xor,
        operator.floordiv,
        operator.mod,
        operator.pow,
        operator.lshift,
        lambda p, q: -p,
        lambda p, q: +p,
        lambda p, q: ~p,
        lambda p, q: abs(p),
    ):
        w(f, b, op)
        w(f, b, op)
        w(f, ints(2), op)


@case
def empty_array_functions(w: World) -> None:
    @w.compiled
    def f(x, what):
        return getattr(x, what)()

    for what in (
        "sum",
        "mean",
        "prod",
        "std",
        "var",
        "max",
        "min",
        "any",
        "all",
        "cumsum",
        "argmax",
        "ptp" if hasattr(np.ndarray, "ptp") else "sum",
    ):
        for s in ((3,), (0,), (0, 3), (2, 0)):
            w(f, np.zeros(s), what)

    @w.compiled
    def g(x):
        return np.median(x), np.percentile(x, 50), np.average(x)

    for n in (3, 0, 3):
        w(g, floats(n))
