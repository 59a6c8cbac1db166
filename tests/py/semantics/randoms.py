"""Random numbers and other state outside of the program: what is left after the call."""

from __future__ import annotations

import random
import time

import numpy as np

from semantics.world import World, case, close, floats, ints


@case
def a_generator_as_argument(w: World) -> None:
    @w.compiled
    def f(rng, x):
        noise = rng.integers(0, 100, x.shape)
        return x + noise

    rng = np.random.default_rng(0)
    for n in (3, 3, 5, 0, 3):
        w(f, rng, floats(n))
        w.note(rng.bit_generator.state["state"]["state"])
    w(f, np.random.default_rng(0), floats(3))


@case
def the_global_generator(w: World) -> None:
    @w.compiled
    def f(x):
        return x * np.random.randint(0, 10, len(x)) + np.random.randint(5)

    for n in (3, 3, 5, 0):
        w(f, floats(n))
        w.note(np.random.get_state()[1][:3], np.random.get_state()[2])
    np.random.seed(0)
    w(f, floats(3))


@case
def drawn_between_two_computations(w: World) -> None:
    log = w.watch([])

    @w.compiled
    def f(rng, x):
        y = x * 2
        a = rng.integers(10)
        y += a
        b = rng.integers(10)
        log.append(b)
        return y * b, a, b

    rng = np.random.default_rng(1)
    for n in (3, 3, 4, 3):
        w(f, rng, floats(n))


@case
def a_branch_on_a_random_number(w: World) -> None:
    @w.compiled
    def f(rng, x):
        if rng.integers(2):
            return x + 1
        return x - rng.integers(100)

    rng = np.random.default_rng(2)
    for n in (3, 3, 3, 4, 3, 3, 3, 3):
        w(f, rng, floats(n))
    w.note(rng.integers(1000))


@case
def an_error_after_drawing(w: World) -> None:
    @w.compiled
    def f(rng, x, y):
        noise = rng.integers(0, 9, 3)
        return x + y + noise

    rng = np.random.default_rng(3)
    for n in (3, 3, 2, 3, 4):
        w(f, rng, floats(3), floats(n))
        w.note(rng.bit_generator.state["state"]["state"])


@case
def shuffling_in_place(w: World) -> None:
    @w.compiled
    def f(rng, x):
        before = x * 1
        rng.shuffle(x)
        after = x * 1
        return before - after, rng.permutation(len(x))

    rng = np.random.default_rng(4)
    for n in (4, 4, 5, 1):
        w(f, rng, floats(n))


@case
def pythons_own_random(w: World) -> None:
    random.seed(5)

    @w.compiled
    def f(x, items):
        random.shuffle(items)
        return x * random.randint(1, 9), items[0], random.choice([1, 2, 3])

    for n in (3, 3, 4, 3):
        w(f, floats(n), [1, 2, 3, 4])
    w.note(random.random())


@case
def a_seeded_generator_made_within(w: World) -> None:
    @w.compiled
    def f(x, seed):
        rng = np.random.default_rng(seed)
        return x + rng.integers(0, 50, x.shape), rng.integers(3)

    for seed in (1, 1, 2, 1, None.__class__ and 3):
        w(f, floats(3), seed)
        w(f, floats(2, 2), seed)


@close
@case
def normal_noise(w: World) -> None:
    @w.compiled
    def f(rng, x):
        return x + rng.normal(size=x.shape) * 0.5, rng.random()

    rng = np.random.default_rng(6)
    for n in (3, 3, 5, 1, 3):
        w(f, rng, floats(n))


@case
def random_in_a_loop_until(w: World) -> None:
    @w.compiled
    def f(rng, x):
        tries = 0
        while rng.integers(4) != 0:
            tries += 1
        return x + tries

    rng = np.random.default_rng(7)
    for n in (3, 3, 3, 2, 3):
        w(f, rng, floats(n))
    w.note(rng.integers(1000))


@case
def a_counter_from_outside(w: World) -> None:
    @w.compiled
    def f(x):
        start = time.perf_counter()
        y = x * 2
        return y, time.perf_counter() - start, start

    ticks = iter(range(100))
    old = time.perf_counter
    time.perf_counter = lambda: next(ticks)
    try:
        for n in (3, 3, 5, 3):
            w(f, floats(n))
    finally:
        time.perf_counter = old
    w.note(next(ticks))


@case
def an_impure_helper_in_c(w: World) -> None:
    queue = w.watch([5, 4, 3, 2, 1])

    @w.compiled
    def f(x, pop):
        k = pop()
        return x * k + pop(0) if len(queue) else x

    for n in (3, 3, 2):
        w(f, floats(n), queue.pop)


@case
def global_state_is_read_after_a_write(w: World) -> None:
    @w.compiled
    def f(x):
        np.random.seed(len(x))
        a = np.random.randint(100)
        np.random.seed(1)
        return x + a, np.random.randint(100)

    for n in (3, 3, 4):
        w(f, floats(n))
        w.note(np.random.randint(1000))


@case
def choice_and_sampling(w: World) -> None:
    @w.compiled
    def f(rng, x):
        i = rng.choice(len(x), 2)
        x[i] += 1
        return x[i] * 2

    rng = np.random.default_rng(8)
    for n in (3, 3, 6, 2):
        w(f, rng, floats(n))
    w(f, rng, ints(4))


@case
def two_generators_one_state(w: World) -> None:
    @w.compiled
    def f(a, b, x):
        return x + a.integers(100), x + b.integers(100)

    one, two = np.random.default_rng(1), np.random.default_rng(1)
    for a, b in ((one, two), (one, two), (one, one), (two, one)):
        w(f, a, b, floats(2))
