"""A replay that is given up half-way has done nothing: no effect happens twice or is lost."""

from __future__ import annotations

import collections
import heapq
import itertools

import numpy as np

from semantics.world import World, case, floats, ints

SIGNS = (1, 1, 1, -1, 1, -1, 1)


def filled(value, n=3):
    return np.full(n, float(value))


@case
def a_property_then_a_branch(w: World) -> None:
    log = w.watch([])

    class Model:
        @property
        def k(self):
            log.append("k")
            return 2

    m = Model()

    @w.compiled
    def f(x):
        y = x * m.k
        if y.sum() > 0:
            return y + 1
        return y - 1

    for sign in SIGNS:
        w(f, filled(sign))


@case
def an_operator_then_a_branch(w: World) -> None:
    log = w.watch([])

    class Number:
        def __add__(self, other):
            log.append("add")
            return 1

    one = Number()

    @w.compiled
    def f(x):
        k = one + 1
        if x.sum() > k:
            return x + k
        return x - k

    for sign in SIGNS:
        w(f, filled(sign))


@case
def an_iterator_then_a_branch(w: World) -> None:
    @w.compiled
    def f(it, x):
        k = next(it)
        if x.sum() > 0:
            return x * k
        return x * k * next(it)

    it = itertools.count(1)
    for sign in SIGNS:
        w(f, it, filled(sign))
    w.note(next(it))
    it = iter(range(1, 100))
    for sign in SIGNS:
        w(f, it, filled(sign))
    w.note(next(it))


@case
def an_iterator_unpacked_then_a_branch(w: World) -> None:
    @w.compiled
    def f(it, x):
        a, b = itertools.islice(it, 2)
        total = a * x + b
        if total.sum() > 0:
            return total
        return -total, next(it)

    it = iter(range(1, 100))
    for sign in SIGNS:
        w(f, it, filled(sign * 9))
    w.note(next(it))


@case
def a_pop_then_a_branch(w: World) -> None:
    queue = w.watch(list(range(20)))

    @w.compiled
    def f(x):
        k = queue.pop()
        if x.sum() > 0:
            return x * k
        queue.insert(0, k)
        return x - queue.pop(0)

    for sign in SIGNS:
        w(f, filled(sign))


@case
def containers_in_c_then_a_branch(w: World) -> None:
    queue, heap, counts = collections.deque([1, 2, 3]), [3, 4, 5], collections.Counter()

    @w.compiled
    def f(x):
        queue.append(queue.popleft())
        heapq.heappush(heap, -len(heap))
        counts[len(x)] += 1
        if x.sum() > 0:
            return x * queue[0] + heap[0]
        counts.update("ab")
        return x - heapq.heappop(heap)

    w.watch((queue, heap))
    for sign in SIGNS:
        w(f, filled(sign))
        w.note(dict(counts))


@case
def a_print_then_a_branch(w: World) -> None:
    @w.compiled
    def f(x):
        print("in")
        s = x.sum()
        print("sum", s)
        if s > 0:
            print("up")
            return x + 1
        print("down")
        return x - 1

    for sign in SIGNS:
        w(f, filled(sign))


@case
def a_write_then_a_branch(w: World) -> None:
    state = w.watch({"n": 0, "last": None})

    @w.compiled
    def f(x):
        state["n"] += 1
        x += state["n"]
        state["last"] = x
        if x.sum() > 0:
            x *= 2
            return x
        state["n"] = 0
        return x.copy()

    for sign in SIGNS:
        w(f, filled(sign * 4))


@case
def a_write_then_an_error(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, y):
        log.append(len(log))
        x[0] += 1
        z = x + y
        x[1] += 1
        log.append("end")
        return z

    x = floats(3)
    for n in (3, 3, 2, 1, 3, 5, 3):
        w(f, x, floats(n))


@case
def a_warning_then_a_branch(w: World) -> None:
    @w.compiled
    def f(x):
        y = 1 / x
        s = y[0]
        if s > 1:
            return y * 2
        return y + 1

    for v in (1, 1, 0.5, 0, 0, 1, -0.0, 2):
        w(f, filled(v))


@case
def a_warning_of_a_scalar_then_a_branch(w: World) -> None:
    @w.compiled
    def f(x):
        s = x[0] / x[1]
        t = s * x[2]
        if t > 1:
            return x * t
        return x + 1

    for v in (
        [1, 1, 1],
        [1, 1, 1],
        [1, 0, 1],
        [4, 1, 1],
        [-1, 0, 1],
        [0, 0, 1],
        [1, 0, 0],
        [1, 1, 1],
    ):
        w(f, np.array(v, float))


@case
def a_warning_of_the_program_then_a_branch(w: World) -> None:
    import warnings

    @w.compiled
    def f(x):
        if len(x) == 3:
            warnings.warn("three", UserWarning, stacklevel=1)
        y = x * 2
        if y.sum() > 0:
            return y
        warnings.warn("negative", UserWarning, stacklevel=1)
        return -y

    for sign in SIGNS:
        w(f, filled(sign))
        w(f, filled(sign, 2))


@case
def a_size_error_after_effects(w: World) -> None:
    seen = w.watch([])

    class Model:
        calls = 0

    @w.compiled
    def f(m, x, y):
        m.calls += 1
        seen.append(m.calls)
        return np.concatenate([x, y], axis=1).sum(axis=0)

    m = w.watch(Model())
    for n, k in ((2, 2), (2, 2), (2, 3), (3, 3), (1, 2), (2, 2)):
        w(f, m, floats(n, 2), floats(k, 2))


@case
def an_integer_overflow_after_effects(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, n):
        log.append(n)
        m = n * n * n
        y = x + (m % 5)
        log.append(m)
        return y

    for n in (2, 2, 3, 2**21, 2**22, 2**31, 2**63, -(2**62), 5):
        w(f, floats(3), n)


@case
def a_loop_that_takes_longer(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        n = 0
        while x.sum() < 100:
            log.append(n)
            x = x * 2
            n += 1
        return x, n

    for v in (10, 10, 5, 40, 20, 10):
        w(f, filled(v))


@case
def a_generator_is_advanced_then_a_branch(w: World) -> None:
    def numbers():
        for i in range(1, 100):
            log.append(i)
            yield i

    log = w.watch([])
    source = numbers()

    @w.compiled
    def f(x):
        k = next(source)
        if x.sum() > 0:
            return x * k
        return x + k

    for sign in SIGNS:
        w(f, filled(sign))


@case
def an_unknown_function_then_a_branch(w: World) -> None:
    log = w.watch([])

    class Callable:
        def __call__(self, *args):
            log.append(len(args))
            return len(log)

    call = Callable()
    bound = log.append

    @w.compiled
    def f(x):
        k = call(x)
        bound("bound")
        y = x * k
        if y.sum() > 0:
            return y
        bound("negative")
        return -y

    for sign in SIGNS:
        w(f, filled(sign))


@case
def str_and_repr_then_a_branch(w: World) -> None:
    log = w.watch([])

    class Named:
        def __repr__(self):
            log.append("repr")
            return "named"

    name = Named()

    @w.compiled
    def f(x):
        text = f"{name!r} {len(x)}"
        if x.sum() > 0:
            return text, x + 1
        return str(name), x

    for sign in SIGNS:
        w(f, filled(sign))


@case
def setdefault_and_missing_keys_then_a_branch(w: World) -> None:
    table = w.watch(collections.defaultdict(list))

    @w.compiled
    def f(key, x):
        table[key].append(len(x))
        if x.sum() > 0:
            return x + len(table[key])
        return x - len(table.setdefault("other", [1, 2]))

    for i, sign in enumerate(SIGNS):
        w(f, "ab"[i % 2], filled(sign))


@case
def an_array_is_written_by_an_opaque_call_then_a_branch(w: World) -> None:
    @w.compiled
    def f(x):
        x.sort()
        np.negative(x, out=x)
        if x[0] > 0:
            return x * 2
        x.partition(0)
        return x + 1

    for sign in SIGNS:
        w(f, sign * (floats(4) + 4))


@case
def equality_with_effects_then_a_branch(w: World) -> None:
    log = w.watch([])

    class Key:
        def __eq__(self, other):
            log.append("eq")
            return False

        def __hash__(self):
            log.append("hash")
            return 1

    key = Key()

    @w.compiled
    def f(x):
        found = key == 1
        also = key in [1, 2]
        d = {key: 1}
        if x.sum() > 0:
            return x, found, also
        return x, len(d)

    for sign in SIGNS:
        w(f, filled(sign))


@case
def with_statements_then_a_branch(w: World) -> None:
    log = w.watch([])

    class Manager:
        def __enter__(self):
            log.append("enter")

        def __exit__(self, *error):
            log.append("exit")

    manager = Manager()

    @w.compiled
    def f(x):
        with manager:
            y = x * 2
            if y.sum() > 0:
                return y
        return y - 1

    for sign in SIGNS:
        w(f, filled(sign))


@case
def nested_compiled_functions_then_a_branch(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def inner(x):
        log.append(x.shape)
        x += 1
        return x

    @w.compiled
    def f(x):
        y = inner(x)
        if y.sum() > 3:
            return inner(y)
        return y * 2

    for sign in SIGNS:
        w(f, filled(sign))
        w(f, filled(sign, 2))


@case
def many_outcomes(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x):
        log.append("call")
        bits = []
        for i in range(len(x)):
            if x[i] > 0:
                bits.append(i)
                x[i] = -x[i]
        return bits, x

    for n in range(16):
        w(f, np.array([n & 1, n & 2, n & 4, n & 8], float))


@case
def attribute_writes_before_an_unseen_outcome(w: World) -> None:
    class Model:
        def __init__(self):
            self.best, self.step = None, 0

    m = w.watch(Model())

    @w.compiled
    def f(x):
        m.step += 1
        loss = (x * x).sum()
        if m.best is None or loss < m.best:
            m.best = loss
            return x * 0.5
        return x

    for v in (4, 3, 3, 5, 1, 1, 0):
        w(f, filled(v))
    m.best = None
    w(f, filled(3))
    w(f, ints(3))
