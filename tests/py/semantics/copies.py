"""Copies, pickles, threads, forks, tracers and lifetimes of compiled functions."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import sys
import threading
import weakref

import numpy as np

from semantics.world import World, case, floats, ints


def scaled(x, k=2):
    return x * k


@case
def copied(w: World) -> None:
    f = w.compiled(scaled)
    w(f, floats(3))
    for g in (copy.copy(f), copy.deepcopy(f), copy.deepcopy([f, f])[1]):
        w(g, floats(3))
        w(g, floats(3))
        w(g, ints(2, 2), k=3)
    w.note(copy.copy(f) is f, copy.deepcopy(f) is f)


@case
def deep_copies_of_objects_that_hold_it(w: World) -> None:
    class Model:
        pass

    m = Model()
    m.f, m.w = w.compiled(scaled), floats(3)
    n = copy.deepcopy(m)
    n.w += 1
    for each in (m, n, m, n):
        w(each.f, each.w)
    w.note(m.w, n.w)


@case
def pickled(w: World) -> None:
    f = w.compiled(scaled)
    old = globals()["scaled"]
    try:
        globals()["scaled"] = f
        g = pickle.loads(pickle.dumps(f))
        for each in (f, g, f, g):
            w(each, floats(3))
        w.note(g is f)
    finally:
        globals()["scaled"] = old


@case
def a_local_function_cannot_be_pickled(w: World) -> None:
    @w.compiled
    def f(x):
        return x + 1

    w(f, floats(3))
    try:
        pickle.dumps(f)
    except (AttributeError, pickle.PicklingError):
        w.note("no")
    w(f, floats(3))


@case
def threads_with_other_shapes(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        y += x
        return y + 1, x.sum()

    results = [None] * 4
    start = threading.Barrier(4)

    def work(i):
        start.wait()
        results[i] = [f(floats(n, i + 1)) for n in (3, 3, 0, 5, 3, 64)]

    w(f, floats(2, 2))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    w.note(*results)
    w(f, floats(2, 2))


@case
def threads_that_write_to_their_own(w: World) -> None:
    class Model:
        pass

    @w.compiled
    def f(m, x):
        m.n += 1
        m.total += x
        return m.total * m.n

    models = []
    for i in range(3):
        m = Model()
        m.n, m.total = 0, np.zeros(i + 2)
        models.append(m)

    def work(m):
        for _ in range(20):
            f(m, np.ones(len(m.total)))

    threads = [threading.Thread(target=work, args=(m,)) for m in models]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    w.note([(m.n, m.total) for m in models])
    w(f, models[0], np.ones(2))


@case
def threads_that_raise(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y

    outcomes = [None] * 4

    def work(i):
        for _ in range(10):
            try:
                outcomes[i] = f(floats(3), floats(3 + i % 2))
            except ValueError as error:
                outcomes[i] = str(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    w.note(outcomes)
    w(f, floats(3), floats(3))


@case
def called_under_a_trace_function(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y

    lines = []

    def trace(frame, event, argument):
        if frame.f_code.co_name == "f":
            lines.append((event, frame.f_lineno))
            return trace
        return None

    def traced(x):
        # The harness's own sys.gettrace must not be the subject.
        old = sys.gettrace()
        sys.settrace(trace)
        try:
            return f(x)
        finally:
            seen = sys.gettrace()
            sys.settrace(old)
            lines.append(seen is trace)

    w(traced, floats(3))
    w.note(lines)
    w(traced, floats(5))
    w(f, floats(5))
    w(traced, floats(5))
    w.note(lines)
    w(f, floats(5))


@case
def a_trace_function_set_by_the_program(w: World) -> None:
    events = []

    def trace(frame, event, argument):
        if frame.f_code.co_name == "inner":
            events.append(event)
            return trace
        return None

    def inner(x):
        return x + 1

    @w.compiled
    def f(x, on):
        if on:
            sys.settrace(trace)
        y = inner(x)
        if on:
            sys.settrace(None)
        return y

    for on in (False, False, True, False, True):
        w(f, floats(3), on)
        w.note(events)


@case
def a_profile_function(w: World) -> None:
    @w.compiled
    def f(x):
        return abs(x) + 1

    w(f, floats(3))

    def profile(frame, event, argument):
        if frame.f_code.co_name == "f" and event in ("call", "return"):
            seen.append(event)

    for n in (3, 5):
        seen = []
        sys.setprofile(profile)
        try:
            f(floats(n))
        finally:
            sys.setprofile(None)
        w.note(sys.getprofile())
    w(f, floats(3))


@case
def results_and_arguments_are_let_go(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y

    def call(n):
        x, y = floats(n), floats(n)
        z = f(x, y)
        refs = [weakref.ref(a) for a in (x, y, z)]
        counts = [sys.getrefcount(a) for a in (x, y, z)]
        del x, y, z
        return counts, [r() is None for r in refs]

    f(floats(3), floats(3))
    for n in (3, 3, 5, 0):
        w.note(call(n))


@case
def closures_are_let_go(w: World) -> None:
    class Big:
        pass

    def make():
        big = Big()
        big.k = 3

        @w.compiled
        def f(x):
            return x * big.k

        w(f, floats(3))
        w(f, floats(3))
        return weakref.ref(big)

    big = make()
    w.results.clear()
    gc.collect()
    w.note(big() is None)


@case
def arguments_that_are_objects_are_let_go(w: World) -> None:
    class Model:
        def __init__(self, k):
            self.k = k

    @w.compiled
    def f(m, x):
        return x * m.k

    def call(k):
        m = Model(k)
        f(m, floats(3))
        return weakref.ref(m)

    refs = [call(k) for k in (1, 1, 2, 3)]
    gc.collect()
    w.note([r() is None for r in refs])


@case
def after_a_fork(w: World) -> None:
    @w.compiled
    def f(x):
        return (x * 2 + 1).sum(axis=0)

    w(f, floats(4, 2))
    w(f, floats(4, 2))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, f(floats(3, 2)).tobytes() + f(floats(4, 1)).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    w.note(os.read(read, 1000))
    os.close(read)
    w(f, floats(4, 2))


@case
def after_many_other_calls(w: World) -> None:
    @w.compiled
    def f(x, k):
        return x * k

    for i in range(40):
        f(floats(i % 5, i % 3), float(i))
    w(f, floats(3), 2.0)
    w(f, floats(3), 41.5)


@case
def interrupted_by_an_exception_in_a_callback(w: World) -> None:
    state = {"fail": False}

    class Odd:
        def __mul__(self, other):
            if state["fail"]:
                raise KeyboardInterrupt
            return 2

    @w.compiled
    def f(o, x):
        x += 1
        return x * (o * 1)

    o = Odd()
    for fail in (False, False, True, False, True):
        state["fail"] = fail
        w(f, o, floats(3))
