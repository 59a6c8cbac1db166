"""Writes loop programs by themselves: nested loops, branches, views, writes into arrays."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from loops.lines import Lines

#: arrays of one axis of size m, numbers, a matrix of k rows
ARRAYS, NUMBERS = ("x", "y", "z"), ("s", "t")


class Writer(Lines):
    """One function `f(x, y, A, n)`; `random` decides."""

    kinds = ("array", "array", "number", "part", "inplace", "swap", "row", "if", "loop")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.depth = 0

    def array(self) -> str:
        name, other = self.pick(*ARRAYS), self.pick(*ARRAYS)
        index = self.pick("0", "-1", *self.indices())
        return self.pick(
            f"{name} * 0.5",
            f"{name} + {other}",
            f"{name} - {self.number()}",
            f"np.minimum({name}, {other})",
            f"A[{index} % len(A)] + {name}",
            f"np.tanh({name})",
            f"{name}[::-1] * 1.5",
            name,
            f"np.where({name} > {other}, {name}, 0.25)",
        )

    def number(self) -> str:
        name = self.pick(*NUMBERS)
        return self.pick(
            name, "0.125", f"{name} * 0.5", f"{self.pick(*ARRAYS)}.sum()", *self.indices()
        )

    def indices(self) -> list[str]:
        return [f"i{depth}" for depth in range(self.depth)]

    def condition(self) -> str:
        index = self.pick("n", *self.indices())
        return self.pick(
            f"{self.pick(*ARRAYS)}.max() > 0.5", f"{index} % 2 == 0", f"{self.pick(*NUMBERS)} < 1"
        )

    def statement(self) -> None:
        kinds = [*self.kinds, *(["break", "continue"] if self.depth else [])]
        kind = self.random.choice(kinds)
        name = self.pick(*ARRAYS)
        if kind == "array":
            self.say(f"{name} = {self.array()}")
        elif kind == "number":
            self.say(f"{self.pick(*NUMBERS)} = float({self.number()}) * 0.5")
        elif kind == "part":
            part = self.pick("1:-1", "1:", ":-1", "::2", "0")
            source = self.pick(f"{self.pick(*ARRAYS)}[{part}] * 0.5", self.number())
            self.say(f"{name}[{part}] = {source}")
        elif kind == "inplace":
            self.say(f"{name} {self.pick('+=', '*=', '-=')} {self.pick('0.5', self.array())}")
        elif kind == "swap":
            other = self.pick(*ARRAYS)
            self.say(f"{name}, {other} = {other}, {name}")
        elif kind == "row":
            index = self.pick("0", *self.indices())
            self.say(f"A[{index} % len(A)] = {self.array()}")
        elif kind == "if" and self.level < 4:
            self.branch(others=0.5)
        elif kind == "loop" and self.loops < 3 and self.depth < 2:
            self.loop()
        elif kind in ("break", "continue"):
            self.say(f"if {self.condition()}:")
            self.level += 1
            self.say(kind)
            self.level -= 1

    def loop(self) -> None:
        index = f"i{self.depth}"
        self.loops += 1
        rows = self.pick(
            "range(n)", "range(n)", "range(len(A))", "range(1, n + 1)", "while", "rows"
        )
        if rows == "while":
            self.say(f"{index} = 0")
            self.say(f"while {index} < n:")
            self.level += 1
            self.say(f"{index} += 1")
            self.level -= 1
        elif rows == "rows":
            self.say(f"for {index}, row in enumerate(A):")
            self.level += 1
            self.say(f"{self.pick(*ARRAYS)} = row * 0.5")
            self.level -= 1
        else:
            self.say(f"for {index} in {rows}:")
        self.depth += 1
        self.block(4)
        self.depth -= 1

    def source(self) -> str:
        self.lines = ["def f(x, y, A, n):", "    z, s, t = x * 0, 1.0, 0.0"]
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        self.loop()
        self.lines.append("    return x, y, z, s, t")
        return "\n".join(self.lines) + "\n"


def function_of(source: str, seed: int) -> Callable[..., Any]:
    """The function, with its lines where a report finds them."""
    name = f"<loop program {seed}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    namespace: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source, name, "exec"), namespace)
    made: Callable[..., Any] = namespace["f"]
    return made


def arguments(seed: int, number: int) -> tuple[Any, ...]:
    chosen = np.random.default_rng((seed, number))
    m, n = int(chosen.choice([3, 4, 9, 17])), int(chosen.choice([0, 1, 2, 3, 4, 6, 11]))
    return chosen.random(m), chosen.random(m), chosen.random((n + 1, m)), n
