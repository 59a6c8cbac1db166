"""Calls that end early: exceptions after writes, handlers, loops that break, recursion, threads."""

from __future__ import annotations

import os
import threading

import numpy as np

from semantics.world import World, case, floats


@case
def write_then_raise(w: World) -> None:
    @w.compiled
    def f(x, n):
        x[0] = 100
        if n > 2:
            raise ValueError("too big")
        x[1:] = 7
        y = x.reshape(n, -1)
        return y

    for n in (1, 2, 2, 3, 3, 2):
        w(f, floats(4), n)


@case
def write_then_fails_shape(w: World) -> None:
    @w.compiled
    def f(x, y):
        x *= 2
        z = x + y
        y -= 1
        return z

    for a, b in ((3, 3), (3, 3), (3, 4), (3, 1), (4, 4)):
        w(f, floats(a), floats(b))


@case
def exception_in_with_and_finally(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, n):
        try:
            y = x * 2
            if n:
                raise KeyError(n)
            return y
        except KeyError as e:
            log.append(e.args)
            return -x
        finally:
            log.append("done")
            x += 1

    for n in (0, 0, 1, 1, 0):
        w(f, floats(3), n)


@case
def try_except_numpy_error(w: World) -> None:
    @w.compiled
    def f(x, y):
        try:
            return x + y
        except ValueError:
            x[:] = 0
            return x

    for n in (3, 3, 4, 1, 3):
        w(f, floats(3), floats(n))


@case
def exceptions_half_way_in_loops(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(x, items):
        for i, v in enumerate(items):
            x[i] = v
            log.append(v)
        return x

    for it in ([1, 2], [1, 2], [1, 2, 3, 4], [1, "a"], [], [1, None, 2]):
        w(f, floats(3), it)


@case
def finally_and_return(w: World) -> None:
    @w.compiled
    def f(x, how):
        try:
            if how == 0:
                return x + 1
            if how == 1:
                raise ValueError("v")
            if how == 2:
                x.reshape(7)
            y = x * 2
        except ValueError as e:
            return str(e)[:5], type(e).__name__
        else:
            return y
        finally:
            x[0] = 99

    for h in (0, 0, 1, 2, 3, 3, 0):
        w(f, floats(3), h)


@case
def assertions_and_custom_errors(w: World) -> None:
    class MyError(Exception):
        def __init__(self, x):
            super().__init__("bad")
            self.x = x

    @w.compiled
    def f(x):
        assert x.ndim == 1, f"rank {x.ndim}"
        if (x < -0.5).any():
            raise MyError(x)
        x *= 2
        return x

    for a in (np.ones(2), np.ones(2), floats(2, 2), floats(3), np.ones(2)):
        w(f, a)


@case
def del_and_rebind_locals(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        del x
        try:
            x  # noqa: F821
        except UnboundLocalError as e:
            return y, str(e)

    for _ in range(3):
        w(f, floats(2))


@case
def while_loop_with_else_and_break(w: World) -> None:
    @w.compiled
    def f(x, limit):
        n = 0
        while x.sum() < limit:
            x = x + 1
            n += 1
            if n == 3:
                break
        else:
            n = -n
        return x, n

    for l in (1, 2, 3, 50, 0, 2):
        w(f, floats(3), l)


@case
def recursion(w: World) -> None:
    @w.compiled
    def f(x, n):
        if n == 0:
            return x
        return f(x + n, n - 1) * 1

    for n in (0, 1, 2, 2, 3, 0):
        w(f, floats(2), n)


@case
def context_managers(w: World) -> None:
    log = w.watch([])

    class CM:
        def __init__(self, swallow):
            self.swallow = swallow

        def __enter__(self):
            log.append("in")
            return self

        def __exit__(self, t, v, tb):
            log.append(t and t.__name__)
            return self.swallow

    @w.compiled
    def f(cm, x, y):
        with cm as c:
            x = x + y
            log.append(c is cm)
        return x

    for s, n in ((True, 2), (True, 2), (True, 3), (False, 3), (False, 2)):
        w(f, CM(s), floats(2), floats(n))


@case
def threads(w: World) -> None:
    @w.compiled
    def f(x, n):
        y = x * n
        if y.sum() > 10:
            y = y - 1
        return y.sum(axis=0)

    results = {}

    def work(k):
        for i in range(30):
            results[k, i] = f(np.full((k + 1, i % 4 + 1), float(k)), k)

    ts = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    w.note(sorted(results), [results[k] for k in sorted(results)])


@case
def reentrant_by_callback(w: World) -> None:
    @w.compiled
    def f(x, depth):
        if depth:
            x = x + np.vectorize(lambda v: f(np.array([v]), depth - 1)[0])(x)
        return x * 2

    for d in (0, 1, 2, 1, 0):
        w(f, floats(3), d)


@case
def fork_and_call(w: World) -> None:
    @w.compiled
    def f(x):
        return (x * 2 + 1).sum(axis=0)

    big = np.ones((300, 400))
    w(f, big)
    w(f, big)
    r, q = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(q, str(float(f(big)[0])).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    w.note(os.read(r, 100))
    w(f, big)


@case
def star_unpacking(w: World) -> None:
    @w.compiled
    def f(t, x):
        a, *b = t
        (c, d), e = t[0], t[-1]
        return a, b, c * x, [*t, *b], (*b,), {**dict(k=d)}

    for t in (
        ((1, 2), 3),
        ((1, 2), 3),
        ([1, 2], 3, 4),
        ("ab", 3),
        (floats(2), 3),
        ((1, 2, 3), 4),
        (),
    ):
        w(f, t, floats(2))


@case
def star_args_and_kwargs(w: World) -> None:
    @w.compiled
    def f(x, *a, k=1, **kw):
        a = (*a, k)
        return x * len(a) + sum(kw.values()), a, kw, sorted(kw)

    for a, kw in (
        ((), {}),
        ((1, 2), {}),
        ((), {"k": 3}),
        ((5,), {"z": 1, "a": 2}),
        ((5,), {"a": 2, "z": 1}),
    ):
        w(f, floats(2), *a, **kw)


@case
def tuple_of_arrays_inplace(w: World) -> None:
    @w.compiled
    def f(t):
        a, b = t
        a += b
        try:
            t[0] += 1
        except TypeError:
            pass
        return t

    for _ in range(3):
        w(f, (floats(2), floats(2)))

    @w.compiled
    def g(t):
        t[0] += 1
        return t

    for _ in range(3):
        w(g, (floats(2), 3))
    for _ in range(3):
        w(g, [floats(2), 3])


@case
def self_reference(w: World) -> None:
    @w.compiled
    def f(x, l):
        l.append(l)
        return x * len(l), l[-1] is l, l

    for _ in range(3):
        w(f, floats(2), [1])
    l = []
    l.append(l)
    w(f, floats(2), l)


@case
def constants_that_do_not_fit_together(w: World) -> None:
    @w.compiled
    def f(x):
        ones = np.ones(x.shape, dtype=np.float32)
        try:
            return ones + np.ones(3)
        except ValueError:
            return ones

    for n in (3, 4, 1, 3):
        w(f, floats(n))


@case
def views_that_cannot_be_and_that_nothing_reads(w: World) -> None:
    @w.compiled
    def rows(x, count):
        try:
            v = x.reshape(count, -1)
        except ValueError:
            v = x
        return np.zeros(v.shape)

    for n, count in ((6, 2), (8, 2), (5, 2), (7, 2), (8, 3), (9, 3), (0, 2), (6, 0), (6, -1)):
        w(rows, floats(n), count)

    @w.compiled
    def wide(x, like):
        try:
            v = np.broadcast_to(x, like.shape)
        except ValueError:
            v = x
        return np.zeros(v.shape)

    for shape, like in (((1, 3), (4, 3)), ((5, 3), (5, 3)), ((2, 3), (4, 3)), ((4, 3), (1, 3)),
                        ((3,), (2, 3)), ((2,), (2, 3)), ((1,), (2, 3))):  # fmt: skip
        w(wide, floats(*shape), floats(*like))

    @w.compiled
    def unread(x):
        x.reshape(2, -1)
        return x + 1

    for n in (4, 6, 5, 4):
        w(unread, floats(n))
