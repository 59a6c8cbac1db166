"""State: dataclasses, cached properties, context managers, lists and globals that calls change."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace

import numpy as np

from programs.registry import Program
from programs.shapes import in_turn, laid_out, lengths, sizes


@dataclass(frozen=True)
class Box:
    low: float = 0.0
    high: float = 1.0

    @property
    def size(self):
        return self.high - self.low


@dataclass
class Gas:
    position: np.ndarray
    velocity: np.ndarray
    box: Box = Box()
    time: float = 0.0
    log: list = field(default_factory=list)

    def step(self, dt):
        self.position += self.velocity * dt
        below, above = self.position < self.box.low, self.position > self.box.high
        self.velocity[below | above] *= -1
        np.clip(self.position, self.box.low, self.box.high, out=self.position)
        self.time += dt
        self.log.append(float((self.velocity**2).sum() / 2))

    @functools.cached_property
    def temperature(self):
        return (self.velocity**2).mean() if self.velocity.size else 0.0


def bounce(gas, dt, steps=4):
    """Let particles fly in a box; return the gas, the halves of the box and a larger empty one."""
    warm = gas.temperature
    for _ in range(steps):
        gas.step(dt)
    middle = gas.box.low + gas.box.size / 2
    left = gas.position[:, 0] < middle
    wider = replace(gas.box, high=gas.box.high * 2)
    return (
        gas,
        {"left": int(left.sum()), "right": int((~left).sum())},
        wider,
        gas.temperature is warm,
    )


def bounce_cases(rng):
    for index, n in enumerate(lengths(rng, 60)):
        box = Box(high=float(rng.uniform(1, 2)))
        gas = Gas(rng.uniform(0, 1, (n, 2)), rng.normal(size=(n, 2)), box)
        if index % 2:
            gas.log.append(0.5)
        yield gas, float(rng.uniform(0.05, 0.3))


class History:
    """Remembers the last few arrays it was given and their statistics."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.items = []
        self.totals = {}

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]

    def __iter__(self):
        return iter(self.items)

    def push(self, name, array):
        self.items.append(array)
        while len(self) > self.capacity:
            self.items.pop(0)
        self.totals[name] = self.totals.get(name, 0.0) + float(array.sum())


class Muted:
    """While it is entered, a history holds no more than so many arrays."""

    def __init__(self, history, capacity):
        self.history = history
        self.capacity = capacity

    def __enter__(self):
        self.capacity, self.history.capacity = self.history.capacity, self.capacity
        return self.history

    def __exit__(self, *_):
        self.capacity, self.history.capacity = self.history.capacity, self.capacity


SEEN = {"calls": 0, "largest": 0.0}


def remember(x, capacity=3):
    """Push powers of an array to a history whose capacity changes; count calls in a global."""
    history = History(capacity)
    for name in ("x", "square", "x"):
        history.push(name, x if name == "x" else x * x)
    with Muted(history, 2) as muted:
        muted.push("cube", x**3)
        inside = len(muted)
    history.push("root", np.sqrt(np.abs(x)))
    SEEN["calls"] += 1
    SEEN["largest"] = max(SEEN["largest"], float(np.abs(x).max(initial=0)))
    mean = sum([item.mean() if item.size else 0.0 for item in history]) / len(history)
    return history, inside, history[-1], history[0] is x, mean


def remember_cases(rng):
    layout = in_turn("c", "fortran")
    for shape in sizes(rng, 2, 30):
        yield (laid_out(rng.normal(size=shape), next(layout)),)


ADVANCED = frozenset({"getitem", "setitem"})

PROGRAMS = [
    # no particles or some
    Program(bounce, bounce_cases, captures=2, opaque=ADVANCED),
    # two memory orders of elements, or no elements
    Program(remember, remember_cases, captures=3, variables=("SEEN",), scale=10.0),
]
