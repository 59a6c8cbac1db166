"""Writes loops of numbers within loops of numbers, as people write them."""

from __future__ import annotations

import re

import numpy as np

from loops.numbers import Writer as OneLoop
from loops.numbers import arguments as of_one

INNER = (
    "for j in range(i):",
    "for j in range(n - i):",
    "for j in range(i, n, 2):",
    "for j in range(i + 1, 0, -1):",
    "for j in range(k % 9):",
    "for w in m:",
    "for j, w in enumerate(x[: k % 9]):",
    "for w, j in zip(m.tolist(), range(i)):",
    "for w in y:",
    "while j < i and x[j] < 1.5:",
    "while j > 0:",
    "while True:",
)


class Writer(OneLoop):
    """One function `f(x, m, s, t, k, n, y)`; `y` is an array or a tuple of floats.

    Loops are up to three deep.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.loops = self.depth = 0

    def value(self, depth: int = 2) -> str:
        kind = self.random.randrange(24)
        if depth > 0 and kind == 0:
            one = self.value(depth - 1)
            return self.pick(
                f"math.sin({one})",
                f"math.floor({one})",
                f"math.sqrt(abs({one}))",
                f"round({one})",
                f"math.exp(min({one}, 3.0))",
            )
        if kind == 1:
            return self.pick("len(y)", "len(x)", f"y[{self.index()} % 7]", f"g[{self.index()}, 1]")
        if kind == 3:
            return self.pick("len(u)", "u[-1]", f"u[{self.index()} % 8]")
        if kind == 2:
            return self.pick("flag", "(not flag)", "(k if flag else n)", "m.size")
        return super().value(depth)

    def condition(self) -> str:
        kind = self.random.randrange(8)
        if kind == 0:
            return self.pick("flag", "not flag", "flag and k > 2")
        if kind == 1:
            return self.pick(
                "best is None", f"best is None or {self.value(1)} < best", "best is not None"
            )
        if kind == 2:
            return self.pick('mode == "a"', 'mode != "b"')
        return super().condition()

    def statement(self, level: int) -> None:
        kind = self.random.randrange(18)
        if kind == 8:  # a float would be cut, which is not captured
            self.say(level, f"m[{self.index()}] = int({self.value(1)})")
        elif kind < 4 and self.depth < 3 and self.loops < 4:
            self.inner_loop(level)
        elif kind == 4:
            self.say(
                level,
                self.pick(
                    "flag = True", "flag = False", "flag = not flag", f"flag = {self.condition()}"
                ),
            )
        elif kind == 5:
            self.say(level, self.pick("best = None", f"best = {self.value(1)}", "best = x[i]"))
        elif kind == 6:
            self.say(level, self.pick('mode = "a"', 'mode = "b"', 'mode = "b" if flag else "a"'))
        elif kind == 9:
            self.say(
                level,
                self.pick(
                    f"u[{self.index()} % 8] = {self.value(1)}",
                    f"u[{self.index()} % 8] += 0.5",
                    f"u.append({self.value(1)})",
                    "if len(u) > 8: u.pop()",
                    f"if len(u) > 9: {self.pick('s', 't')} = u.pop()",
                    "u[k % 8], u[0] = u[0], u[k % 8]",
                ),
            )
        elif kind == 7:
            self.say(level, f"g[{self.index()}, {self.pick('0', '1', 'k % 3')}] = {self.value(1)}")
        else:
            before = len(self.lines)
            super().statement(level)
            if self.lines[before].lstrip().startswith("m["):
                del self.lines[before:]
                self.say(level, "s = s * 0.5")

    def inner_loop(self, level: int) -> None:
        self.loops += 1
        j = "jlh"[self.depth]
        head = re.sub(r"\bj\b", j, self.pick(*INNER))
        is_while = head.startswith("while")
        if is_while:
            self.say(level, f"{j} = {self.pick('i', 'k % 9', 'n // 2', '0')}")
        self.say(level, head)
        indices, self.indices = self.indices, [*self.indices, j]
        self.depth += 1
        if head == "while True:":
            self.say(level + 1, f"if {j} >= {self.pick('i', 'k', '4')} or {self.condition()}:")
            self.say(level + 2, "break")
        if is_while:
            self.say(level + 1, f"{j} -= 1" if ">" in head else f"{j} += 1")
        self.block(level + 1)
        if self.random.randrange(4) == 0:
            self.say(level + 1, f"if {self.condition()}:")
            self.say(level + 2, self.pick("break", "break", "continue", f"return s, i, {j}"))
        if self.random.randrange(5) == 0 and head != "while True:":
            self.say(level, "else:")
            self.say(level + 1, self.pick("k = (k + 5) % 9", "flag = not flag", "t = t * 0.5"))
        self.indices = indices
        self.depth -= 1

    def source(self) -> str:
        self.lines = [
            "def f(x, m, s, t, k, n, y):",
            "    i, j, l, h, v, w, p, q = 0, 0, 0, 0, 0.5, 0.0, -1, 2.0",
            '    flag, best, mode, g = True, None, "a", np.zeros((100, 3))',
            "    u = [0.0] * 8",
        ]
        self.indices = ["i"]
        self.say(1, self.pick("for i in range(n):", "for i in range(1, n):", "while i < n:"))
        if self.lines[-1].endswith("while i < n:"):
            self.say(2, "i += 1")
        self.inner_loop(2)
        self.block(2)
        self.lines.append("    return s, t, k, i, j, l, h, v, w, p, q, flag, best, mode, g, y, u")
        return "\n".join(self.lines) + "\n"


def arguments(seed: int, number: int) -> tuple[object, ...]:
    x, m, s, t, k, n = of_one(seed, number)
    chosen = np.random.default_rng((seed, number, 1))
    y = chosen.normal(size=7)
    # Behind writes into arrays, loops that are given a tuple are not rolled.
    return x.copy(), m[:17].copy(), s, t, k, min(n, 25), y if seed % 4 else tuple(y.tolist())
