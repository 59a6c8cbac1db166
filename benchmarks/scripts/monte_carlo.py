"""Draws: estimates, walks, chains."""

from __future__ import annotations

import random

import numpy as np
from benchmarks.scripts.program import script


@script(2000, 60, lambda r, n: (r, n))
def pi_by_darts(rng, darts):
    hits = 0
    for _ in range(darts):
        x = rng.uniform(-1.0, 1.0)
        y = rng.uniform(-1.0, 1.0)
        if x * x + y * y <= 1.0:
            hits += 1
    return 4.0 * hits / darts


@script(4000, 60, lambda r, n: (int(r.integers(1000)), n))
def walk_on_a_line(seed, steps):
    random.seed(seed)
    at, far = 0, 0
    for _ in range(steps):
        at += 1 if random.random() < 0.5 else -1
        far = max(far, abs(at))
    return at, far


@script(3000, 50, lambda r, n: (r, n))
def walk_on_a_grid(rng, steps):
    x = y = home = 0
    for _ in range(steps):
        d = rng.integers(0, 4)
        if d == 0:
            x += 1
        elif d == 1:
            x -= 1
        elif d == 2:
            y += 1
        else:
            y -= 1
        if x == 0 and y == 0:
            home += 1
    return x, y, home


def make_spins(r, n):
    return (r, r.choice([-1, 1], size=(16, 16)), 0.4, n)


@script(1000, 40, make_spins)
def ising(rng, spins, beta, flips):
    n = len(spins)
    for _ in range(flips):
        i, j = rng.integers(n), rng.integers(n)
        near = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % n]
        cost = 2 * spins[i, j] * near
        if cost <= 0 or rng.random() < np.exp(-beta * cost):
            spins[i, j] = -spins[i, j]
    return spins, spins.sum()


@script(60, 4, lambda r, n: (r, 200, n))
def bootstrap(rng, count, rounds):
    data = rng.normal(5.0, 2.0, count)
    means = []
    for _ in range(rounds):
        sample = data[rng.integers(0, count, count)]
        means.append(sample.mean())
    means = np.sort(np.array(means))
    return means[int(0.05 * rounds)], means[int(0.95 * rounds)]
