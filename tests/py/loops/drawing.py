"""Writes loop programs that draw from several generators, in branches, beside other effects."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from loops.lines import Lines

#: names of generators in a program, and the calls that it makes of each kind
GENERATORS = ("r", "s", "holder.r", "R", "made")
NUMPYS = (
    "random()",
    "random()",
    "uniform(-1.0, 1.0)",
    "uniform(0.0, {number})",
    "normal()",
    "normal({number}, 0.5)",
    "normal(loc={number}, scale=0.5)",
    "normal({number}, {number})",
    "standard_normal()",
    "standard_exponential()",
    "exponential(0.5)",
    "integers(0, 5)",
    "integers(n + 1)",
    "poisson(2.0)",
    "normal(size=3).sum()",
    "choice([0.25, 0.5, 2.0])",
)
PYTHONS = (
    "random()",
    "random()",
    "uniform(-1.0, {number})",
    "gauss(0.0, 0.5)",
    "randint(0, 4)",
    "choice([0.5, 1.5])",
)
NUMBERS = ("a", "b", "c")
R = np.random.default_rng(0)
#: what programs print, in the place of standard output
SAID: list[Any] = []


class Holder:
    def __init__(self, seed: int) -> None:
        self.r = np.random.default_rng(seed)
        self.count = 0


class DrawWriter(Lines):
    """`f(r, s, holder, x, n)`: generators, an array, a number; the globals `R` and `random`."""

    within = 0  # loops around the next line

    def number(self) -> str:
        return self.pick(*NUMBERS, "0.25", "x[i]", "x[i - 1]")

    def draw(self) -> str:
        kind = self.random.random()
        if kind < 0.2:
            call = f"random.{self.pick(*PYTHONS)}"
        elif kind < 0.3:
            call = self.pick("np.random.rand()", "np.random.normal()", "np.random.randint(4)")
        else:
            call = f"{self.pick(*GENERATORS)}.{self.pick(*NUMPYS)}"
        return call.format(number=self.number())

    def condition(self) -> str:
        return self.pick(
            f"{self.draw()} < 0.5",
            f"{self.pick(*NUMBERS)} > {self.draw()}",
            f"{self.pick(*NUMBERS)} > 0.25 and {self.draw()} < 0.75",
            "i % 2 == 0",
        )

    def statement(self) -> None:
        kind, name = self.random.random(), self.pick(*NUMBERS)
        if kind < 0.45:
            self.say(f"{name} = {self.pick(f'{name} * 0.5 + ', '', '0.5 * ')}{self.draw()}")
        elif kind < 0.55:
            self.say(f"x[i] = {self.draw()}")
        elif kind < 0.62:
            self.say(f"kept.append({name})")
        elif kind < 0.65:
            self.say(f"SAID.append({name} > 0.5)")
        elif kind < 0.68:
            self.say("holder.count += 1")
        elif kind < 0.72 and self.within > 0:
            self.say(f"if {self.draw()} > {self.pick('0.9', '1.5')}: break")
        elif kind < 0.75:
            self.say(f"{name} = 1.0 / ({self.pick('n - i', 'i + 1')})")
        elif kind < 0.86 and self.level < 3:
            self.branch(0.5)
        elif self.loops < 3 and self.level < 2:
            self.loop()
        else:
            self.say(f"{name} = {self.draw()}")

    def loop(self) -> None:
        self.loops += 1
        self.say(f"for i in range({self.pick('n', 'n', '3', 'len(x) - 1')}):")
        self.within += 1
        self.block(3)
        self.within -= 1


def program_of(seed: int) -> str:
    writer = DrawWriter(seed)
    writer.say("a, b, c, i, kept, made = 0.5, 0.25, 1.0, 0, [], np.random.default_rng(n)")
    for _ in range(writer.random.randint(0, 1)):
        writer.statement()
    writer.loop()
    for _ in range(writer.random.randint(0, 2)):
        writer.statement()
    writer.say("return a, b, c, kept")
    return "\n".join(["def f(r, s, holder, x, n):", *writer.lines]) + "\n"


def states(*generators: np.random.Generator) -> list[str]:
    """Of these, and of the global ones, those of NumPy and of Python."""
    own = [str(each.bit_generator.state) for each in (*generators, R)]
    return [*own, str(np.random.get_state()), str(random.getstate())]


def arguments(number: int, n: int) -> list[Any]:
    """Those of a call; the global generators begin anew with each."""
    R.bit_generator.state = np.random.default_rng(number).bit_generator.state
    np.random.seed(number)
    random.seed(number)
    SAID.clear()
    given = np.random.Generator(np.random.MT19937(number))
    x = np.random.default_rng(number + 9).uniform(-1, 1, n + 3)
    return [np.random.default_rng(number + 1), given, Holder(number + 2), x, n]


SCOPE = {"np": np, "random": random, "R": R, "SAID": SAID}
