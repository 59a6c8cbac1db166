"""Python's module random, seeds, and arrays and lists that are shuffled."""

from __future__ import annotations

import random

import numpy as np

from semantics.world import World, case, floats, ints


def noted(w: World) -> None:
    """Note the states of both global generators."""
    w.note(random.getstate()[1][-3:], np.random.get_state()[2], np.random.get_state()[1][:3])


@case
def each_function_of_random(w: World) -> None:
    random.seed(1)

    @w.compiled
    def f(x):
        drawn = [
            random.random(),
            random.uniform(1, 2),
            random.uniform(x[0], len(x)),
            random.randint(1, 6),
            random.randrange(0, 10, 2),
            random.getrandbits(20),
            random.gauss(0, 1),
            random.gauss(mu=1.0, sigma=2.0),
            random.normalvariate(1, 2),
            random.triangular(),
            random.expovariate(2.0),
            random.betavariate(1, 2),
            random.choice([3, 4, 5]),
            random.choice("abc"),
            random.choices((1, 2, 3), weights=[1, 1, 2], k=2),
            random.sample(range(len(x)), 2),
            random.randbytes(3),
        ]
        return x * drawn[0] + drawn[3], drawn

    for n in (3, 3, 5, 3):
        w(f, floats(n))
        noted(w)
    w.replayed(f)


@case
def a_branch_on_what_was_drawn(w: World) -> None:
    random.seed(2)

    @w.compiled
    def f(x):
        y = x * 2
        if random.random() < 0.5:
            y = y + random.randint(1, 9)
        while random.randrange(3):
            y = y * random.uniform(1, 2)
        return y

    for n in (3, 3, 4, 3, 3, 3, 3, 3):
        w(f, floats(n))
        noted(w)


@case
def an_error_behind_a_draw(w: World) -> None:
    random.seed(3)

    @w.compiled
    def f(x, y):
        k = random.randint(1, 100)
        np.random.shuffle(x)
        return x / y * k

    with np.errstate(divide="raise"):
        for n in (3, 3, 2, 3):
            w(f, floats(3), np.ones(n))
            noted(w)
        w(f, floats(3), np.zeros(3))
        noted(w)
    w(f, floats(3) + 4, np.zeros(3))
    noted(w)


@case
def seeded_within(w: World) -> None:
    @w.compiled
    def f(x, seed):
        np.random.seed(seed)
        random.seed(seed + 1)
        y = x + np.random.randint(100, size=x.shape)
        np.random.seed(1)
        return y * random.random(), np.random.randint(100)

    for seed in (1, 1, 2, 1):
        w(f, floats(3), seed)
        noted(w)
    w.replayed(f)
    w(f, floats(2), np.int64(3))
    w(f, floats(2), -4)
    noted(w)


@case
def arrays_shuffled(w: World) -> None:
    @w.compiled
    def f(x, rng):
        y = x * 1
        np.random.shuffle(y)
        z = np.arange(len(x))
        rng.shuffle(z)
        np.random.shuffle(x)
        t = x[z] - y
        rng.shuffle(t, axis=t.ndim - 1)
        return y, z, t, rng.permuted(x, axis=0)

    rng = np.random.default_rng(4)
    for shape in ((4, 2), (4, 2), (5, 2), (1, 2), (4, 2)):
        w(f, floats(*shape), rng)
        noted(w)
        w.note(rng.bit_generator.state["state"]["state"])
    w.replayed(f)
    w(f, ints(6), rng)
    frozen = floats(3, 2)
    frozen.flags.writeable = False
    w(f, frozen, rng)
    w(f, floats(6, 4)[::2, 1:3], rng)


@case
def a_view_of_what_is_shuffled(w: World) -> None:
    @w.compiled
    def f(x):
        head, before = x[:2], x[0] * 1
        np.random.shuffle(x)
        head += 10
        np.random.shuffle(x[1:])
        return head, x[0] - before

    for n in (4, 4, 5):
        w(f, floats(n, 2))
        w(f, floats(n))
        noted(w)


@case
def lists_shuffled(w: World) -> None:
    random.seed(5)

    @w.compiled
    def order(x):
        places = list(range(len(x)))
        random.shuffle(places)
        return x[places] * 2, places

    @w.compiled
    def given(x, items):
        random.shuffle(items)
        return x * items[0], items[1:]

    @w.compiled
    def numpys(x, items):
        np.random.shuffle(items)
        return x + items[0]

    @w.compiled
    def twice(x, items):
        random.shuffle(items)
        items.append(3)
        random.shuffle(items)
        return x + items[0]

    for function in (given, numpys, twice):
        for n in (3, 3, 2):
            items = [1, 2, 3]
            w(function, floats(n), items)
            w.note(items)
            noted(w)
    for _ in range(3):
        w(order, floats(4))
    w.replayed(order)
    w.replayed(given)
    w.replayed(numpys)
    w(given, floats(2), [floats(2), floats(2) + 1])
    w(given, floats(2), [1, 2])
    w.note(given(floats(2), [1, 2.5]))
    w.note(numpys(floats(2), [True, 7, 9]))


@case
def generators_of_ones_own(w: World) -> None:
    class Model:
        def __init__(self) -> None:
            self.rng = random.Random(6)

        def noise(self, x):
            return x * self.rng.random() + self.rng.randint(1, 3)

    @w.compiled
    def held(model, x):
        return model.noise(x)

    @w.compiled
    def made(x, seed):
        rng = random.Random(seed)
        return x * rng.uniform(0, 1), rng.sample([1, 2, 3], 2)

    @w.compiled
    def two(a, b, x):
        return x + a.random(), x + b.random()

    model = Model()
    for n in (3, 3, 4):
        w.note(held(model, floats(n)), model.rng.getstate()[1][-1])
        w(made, floats(n), 7)
    w.replayed(held)
    w.replayed(made)
    one, other = random.Random(1), random.Random(1)
    for a, b in ((one, other), (one, other), (one, one), (other, one)):
        w.note(two(a, b, floats(2)), a.getstate()[1][-1], b.getstate()[1][-1])


@case
def generators_that_are_otherwise(w: World) -> None:
    class Fixed(random.Random):
        def random(self):
            return 0.5

    @w.compiled
    def f(rng, x):
        return x * rng.random() + rng.uniform(1, 2)

    for rng in (Fixed(1), Fixed(1), random.Random(1), random.Random(2)):
        w.note(f(rng, floats(3)))


@case
def chosen_among_arrays(w: World) -> None:
    random.seed(8)

    @w.compiled
    def f(x, y):
        chosen = random.choice([x, y])
        chosen += 1
        return chosen, random.choice(x)

    for n in (3, 3, 3, 2):
        w(f, floats(n), floats(n) + 7)
        w(f, floats(n, 2), floats(n, 2) + 7)


@case
def drawn_in_other_order_than_computed(w: World) -> None:
    random.seed(9)

    @w.compiled
    def f(x):
        a = x * random.random()
        b = np.sort(x * random.random())
        print(random.random())
        c = a + random.random()
        return c, b

    for n in (3, 3, 4):
        w(f, floats(n))
        noted(w)
    w.replayed(f)
