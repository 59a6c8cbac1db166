"""Many ways through one function, taken in every order: what they share must not leak."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

from semantics.world import World, case, floats, ints

EIGHT = list(itertools.product((1.0, -1.0), repeat=3))
ORDER = [0, 0, 7, 0, 3, 7, 5, 1, 2, 4, 6, 3, 0, 7, 1, 5, 6, 2, 4, 0]


class Bag:
    """Something with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


@case
def eight_outcomes_with_effects_between(w: World) -> None:
    log = w.watch([])
    m = w.watch(Bag(n=0))

    @w.compiled
    def f(x):
        m.n += 1
        y = x * 2
        if y[0] > 0:
            log[:] = ["first"]
            y = y + m.n
        if x[1] > 0:
            m.n += 10
            x[0] = 5
        if (x * y)[2] > 0:
            log[:] = [m.n]
            return y, x[0]
        return x + y

    for i in ORDER:
        w(f, np.array(EIGHT[i]))
        w(f, np.array(EIGHT[i], "f4"))


@case
def the_outcome_depends_on_the_state(w: World) -> None:
    m = w.watch(Bag(n=0, best=None))

    @w.compiled
    def f(x):
        m.n += 1
        if m.n % 3 == 0:
            m.best = x.max()
            x -= m.best
        elif m.n % 2:
            return x * m.n
        return x + (m.best if m.best is not None else 0)

    for n in (2, 2, 2, 3, 2, 3, 2, 2, 2, 3, 3, 2):
        w(f, floats(n))


@case
def aliases_and_outcomes(w: World) -> None:
    @w.compiled
    def f(x, y):
        x += 1
        if y.sum() > 0:
            y *= 2
            return x - y
        return x is y, x + y

    for sign in (1, 1, -5, 1, -5):
        x, y = np.full(3, float(sign)), np.full(3, float(sign))
        w(f, x, y)
        w(f, x, x)
        w(f, x, x[::-1])
        w(f, x[:2], y[:2])


@case
def an_error_on_one_way_alone(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, y):
        log.append(1)
        if x[0] > 0:
            x += 1
            return x + y
        log.append(2)
        return np.concatenate([x, y])

    for sign, n in ((1, 3), (1, 3), (-1, 2), (1, 2), (-1, 3), (1, 1), (1, 3), (-1, 0)):
        w(f, np.full(3, float(sign)), floats(n))


@case
def a_warning_on_one_way_alone(w: World) -> None:
    @w.compiled
    def f(x):
        if x[0] > 0:
            return np.sqrt(x)
        if x[1] > 0:
            warnings.warn("second", UserWarning, stacklevel=1)
            return 1 / x
        return np.log(x * x)

    for a, b in ((1, 1), (1, 1), (1, -1), (0, 1), (-1, 1), (-1, 0), (0, 0), (1, 0), (2, 2)):
        w(f, np.array([a, b], float))


@case
def draws_on_one_way_alone(w: World) -> None:
    rng = np.random.default_rng(4)

    @w.compiled
    def f(x):
        if x[0] > 0:
            x = x + rng.integers(10)
            if x[0] > 6:
                return x * rng.integers(10)
            return x
        return x - 1

    for sign in (1, 1, 1, -1, 1, 1, -1, 1, 1, 1):
        w(f, np.full(2, float(sign)))
    w.note(rng.integers(1000))


@case
def early_and_late_returns(w: World) -> None:
    seen = w.watch([])

    @w.compiled
    def f(x, limit):
        for i, v in enumerate(x):
            if v > limit:
                seen.append(i)
                return i, x[:i]
            if v < -limit:
                x[i] = 0
        return None, x

    for limit in (1, 1, 0.5, 0.1, 9, 1, 0.1, 9):
        w(f, floats(6), limit)
        w(f, floats(3), limit)


@case
def kinds_of_one_argument(w: World) -> None:
    @w.compiled
    def f(x, k):
        if k is None:
            return x
        if isinstance(k, str):
            return x * len(k)
        if isinstance(k, (list, tuple)):
            return [x + v for v in k]
        if callable(k):
            return k(x)
        if isinstance(k, np.ndarray) and k.ndim:
            return x @ k
        return x + k

    ks = [
        1,
        2.5,
        None,
        "ab",
        "abc",
        [1, 2],
        (1,),
        abs,
        np.sqrt,
        floats(3),
        np.array(2.0),
        True,
        [],
        1,
    ]
    for k in [*ks, *ks[::-1]]:
        w(f, floats(3), k)


@case
def trip_counts_and_exits(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, n):
        for i in range(n):
            if i == len(x):
                log.append("break")
                break
            x[i] += i
            if x[i] > 1:
                continue
            log.append(i)
        else:
            x *= 2
        return x

    for n, size in ((2, 3), (2, 3), (4, 3), (0, 3), (3, 3), (2, 5), (1, 1), (2, 0), (4, 3), (2, 3)):
        w(f, floats(size), n)


@case
def a_function_chosen_by_value(w: World) -> None:
    def up(x):
        x += 1
        return x

    def down(x):
        return x - 1

    table = {True: up, False: down}

    @w.compiled
    def f(x):
        g = table[bool(x.sum() > 0)]
        y = g(x)
        return table[y[0] > 1](y)

    for v in (1, 1, -1, 0.5, 3, -1, 1, 0):
        w(f, np.full(2, float(v)))
    table[True] = down
    w(f, np.full(2, 1.0))
    w(f, np.full(2, 3.0))


@case
def comparisons_with_nan_steer(w: World) -> None:
    @w.compiled
    def f(a, b):
        if a < b:
            return "less"
        if a > b:
            return "greater"
        return "equal" if a == b else "unordered"

    nan = float("nan")
    values = [(1, 2), (2, 1), (1, 1), (nan, 1), (1, nan), (nan, nan), (0.0, -0.0), (1, 2)]
    for a, b in values * 2:
        w(f, a, b)
        w(f, np.float64(a), np.float64(b))


@case
def lengths_and_contents_of_a_list(w: World) -> None:
    @w.compiled
    def f(items, x):
        if not items:
            return x
        if items[-1] is None:
            items.pop()
            return f.__name__ if len(items) > 2 else x * len(items)
        return x + sum(items)

    for items in ([], [1], [1, 2], [1, None], [None], [1, 2, 3, None], [], [2], [2, 1], [0, None]):
        w(f, list(items), floats(2))


@case
def shapes_through_shared_beginnings(w: World) -> None:
    @w.compiled
    def f(x, y):
        z = x + y
        s = z.sum()
        if x.shape[0] > 3:
            z = z[:3]
        if s > 0:
            z = z * s
        if z.ndim == 2:
            return z.T
        return z

    for a, b in (
        ((3,), (3,)),
        ((3,), (3,)),
        ((5,), (1,)),
        ((2, 3), (3,)),
        ((4, 1), (1, 4)),
        ((0,), (0,)),
    ):
        w(f, floats(*a), floats(*b))
        w(f, floats(*a) + 2, floats(*b))
        w(f, ints(*a), floats(*b))


@case
def writes_on_some_ways(w: World) -> None:
    state = w.watch({"x": floats(3), "n": 0})

    @w.compiled
    def f(delta):
        if delta.sum() > 1:
            state["x"] += delta
            state["n"] += 1
        elif delta.sum() < -1:
            state["x"] = state["x"] * 0
        if state["n"] > 2:
            state["n"] = 0
            state["x"][:] = 1
        return state["x"].sum() + state["n"]

    for v in (1, 1, -1, 0, 1, 1, 1, -1, 1, 0, 1, 1):
        w(f, np.full(3, float(v)))


@case
def re_entered_in_the_middle(w: World) -> None:
    log = w.watch([])

    class Node:
        def __init__(self, value, *children):
            self.value, self.children = value, children

    @w.compiled
    def f(node, x):
        log.append(node.value)
        if node.value > 2:
            return x * node.value
        total = x
        for child in node.children:
            total = total + f(child, x + 1)
        return total

    leaf, deep = Node(1), Node(1, Node(2, Node(3), Node(0)), Node(5))
    for node in (leaf, leaf, deep, Node(3), deep, Node(0, leaf, leaf), deep):
        w(f, node, floats(2))
