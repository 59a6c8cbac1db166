"""Writes loops of numbers by themselves: single elements, Python's numbers, branches, `while`."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

NUMBERS = ("s", "t", "k")
LOOPS = (
    "for i in range(n):",
    "for i in range(n, 0, -1):",
    "while i < n:",
    "for i, v in enumerate(x[:n]):",
    "for i, v in enumerate(x[:n].tolist()):",
    "for v, i in zip(x.tolist(), range(n)):",
    "for i in m[:n].tolist():",
)
BINARY = ("+", "-", "*", "/", "//", "%", "+", "-", "*")


class Writer:
    """One function `f(x, m, s, t, k, n)`: arrays of floats and of integers, numbers, a count."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.indices: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def index(self) -> str:
        return self.pick(*self.indices, f"{self.pick(*self.indices)} - 1", "-1", "0", "k % 5")

    def value(self, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.3:
            return self.pick(
                *NUMBERS,
                *self.indices,
                f"x[{self.index()}]",
                f"m[{self.index()}]",
                self.pick("2", "3", "0.5", "-1", "1.25", "7"),
            )
        one, other = self.value(depth - 1), self.value(depth - 1)
        kind = self.random.randrange(12)
        if kind == 0:
            return f"{self.pick('max', 'min')}({one}, {other})"
        if kind == 1:
            return f"{self.pick('abs', '-', 'float', 'int')}({one})"
        if kind == 2:
            return f"np.{self.pick('sqrt', 'sin', 'float64')}({one})"
        return f"({one} {self.pick(*BINARY)} {other})"

    def condition(self) -> str:
        compare = self.pick("<", "<=", ">", ">=", "==", "!=")
        return f"{self.value(1)} {compare} {self.value(1)}"

    def block(self, level: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(level)

    def say(self, level: int, text: str) -> None:
        self.lines.append("    " * level + text)

    def statement(self, level: int) -> None:
        kind = self.random.randrange(11)
        if kind == 10:  # what is kept of a turn, and which one it was
            self.say(
                level, self.pick("p = i", "p, s = i, v", f"if {self.condition()}: p, q = v, i")
            )
        elif kind < 3:
            self.say(level, f"x[{self.index()}] = {self.value()}")
        elif kind < 4:
            self.say(level, f"m[{self.index()}] = {self.value(1)}")
        elif kind < 6:
            name = self.pick(*NUMBERS)
            self.say(level, f"{name} {self.pick('=', '+=', '-=')} {self.value()}")
        elif kind < 7:
            self.say(level, "s, t = t, s")
        elif kind < 8 and level < 4:
            self.say(level, f"if {self.condition()}:")
            self.block(level + 1)
            self.say(level, "else:")
            self.block(level + 1)
        elif kind < 9 and level > 1:
            self.say(level, f"if {self.condition()} and i > 40:")
            self.say(level + 1, self.pick("break", "continue", "return s, i"))
        else:
            self.say(level, "k = (k * 3 + 1) % 11")

    def source(self) -> str:
        self.lines = ["def f(x, m, s, t, k, n):", "    i, v, p, q = 0, 0.5, -1, 2.0"]
        self.indices = ["i"]
        self.say(1, self.pick(*LOOPS))
        if self.lines[-1].endswith("while i < n:"):
            self.say(2, "i += 1")
        self.block(2)
        self.lines.append("    return s, t, k, i, v, p, q")
        return "\n".join(self.lines) + "\n"


def arguments(seed: int, number: int) -> tuple[Any, ...]:
    chosen = np.random.default_rng((seed, number))
    n = int(chosen.choice([3, 0, 1, 20, 60, 90]))
    x = chosen.normal(size=100)[:: int(chosen.choice([1, -1]))]
    m = chosen.integers(-9, 9, 100)
    s: Any = [1.0, 2, np.float64(0.5)][int(chosen.integers(3))]
    return x, m, s, float(chosen.normal()), int(chosen.integers(1, 9)), n
