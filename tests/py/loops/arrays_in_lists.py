"""Writes loop programs that write into arrays beside lists and tuples of the caller's.

Mostly there are only numbers in these. On some calls there is something else in them: an array
that is written, a view of it, or one that stands at a place which no call before had.
"""

from __future__ import annotations

import random
import types
from typing import Any

import numpy as np

from loops.lines import Lines

SIZE = 6  # of the arrays x and y
LOOPS = (
    "for {i}, v in enumerate(t):",
    "for {i}, (v, w) in enumerate(zip(t, u)):",
    "for {i} in range(len(t)):",
    "for {i} in range(len(u) - 1, -1, -1):",
    "for {i} in range(n):",
    "for {i} in range(1, len(t)):",
    "for {i}, v in enumerate(reversed(t)):",
    "for {i}, w in enumerate(u):",
    "for {i}, q in enumerate(r):",
    "for {i}, v in enumerate(q):",
    "for {i} in range(len(r[0])):",
    "for {i}, w in enumerate(x.tolist()[:n]):",
)


class Writer(Lines):
    """One function `f(x, y, t, u, r, o, n)`.

    x, y: arrays of SIZE floats. t, u: lists or tuples, of integers and of floats. r: a list of
    such. o: an object that has an array `z` and a number `k`.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.indices: list[str] = []
        # What most programs do not do keeps loops from being rolled, which then show little.
        self.hands_on = seed % 3 == 0
        self.fetches = seed % 4 == 0
        self.is_short = seed % 3 == 1  # and the calls bring arrays in lists: see `arguments`

    def place(self) -> str:
        index = self.pick("n", *self.indices)
        return self.pick("0", "-1", f"{index} % 6", "int(v) % 6", "int(s) % 6")

    def element(self) -> str:
        """Of one of the caller's lists."""
        index = self.pick("n", *self.indices)
        name = self.pick("t", "t", "u", "u", "r[0]", "q")
        at = self.pick(f"{index} % len({name})", f"{index} - 1", "0", "-1", index)
        return f"{name}[{at}]"

    def value(self) -> str:
        if self.is_short:
            index = self.pick(*self.indices, "0")
            return self.pick("v", "w", "s", "p", f"t[{index}]", f"u[{index}]", f"x[{self.place()}]")
        choices = ["v", "v", "w", "s", "p", "0.25", *self.indices, self.element(), self.element()]
        choices += [f"x[{self.place()}]", f"y[{self.place()}]", "len(t)", "len(g)"]
        if self.fetches:
            choices += [f"o.z[{self.place()}]", "o.k", "sum(u)", "np.max(t)", "g[-1]"]
        value = self.pick(*choices)
        return self.pick(value, value, f"{value} * 0.5", f"{value} + {self.pick('1', 'w', 's')}")

    def condition(self) -> str:
        return self.pick(
            f"{self.pick('v', 'w', 's', self.element())} > {self.pick('0.5', '3', 'w')}",
            f"{self.pick('n', *self.indices)} % 2",
            f"x[{self.place()}] < {self.value()}",
        )

    def statement(self) -> None:
        kind = self.random.randrange(14 if self.is_short else 24)
        array = self.pick("x", "x", "y")
        if kind < 8:
            target = self.pick(
                f"{array}[{self.place()}]", f"{array}[{self.place()}]", f"{array}[1:4]"
            )
            self.say(f"{target} {self.pick('=', '=', '+=')} {self.value()}")
        elif kind < 9:
            self.say(f"{array} {self.pick('*=', '+=')} {self.pick('0.5', self.value())}")
        elif kind < 12:
            self.say(f"s = {self.pick('', 's + ', 's * 0.5 + ')}{self.value()}")
        elif kind < 14:
            self.say(f"p = {self.pick('v', 'w', self.element(), 'float(v)')}")
        elif kind < 16:
            self.say(f"g.append({self.pick('float', '')}({self.value()}))")
        elif kind < 18 and self.level < 4:
            self.branch(others=0.4)
        elif kind < 20 and self.loops < 3 and len(self.indices) < 2:
            self.loop()
        elif kind < 21 and self.indices:
            self.say(f"if {self.condition()}: {self.pick('break', 'continue')}")
        elif self.hands_on:
            self.say(
                self.pick(
                    f"p = {self.pick('t', 'u', 'r', 'r[0]', '(v, w)', '[v, 1]', 'q')}",
                    f"q = {self.pick('r[0]', 'r[-1]', 't', 'u')}",
                    f"g.append({self.pick('(v, w)', 'q', 'x', 'v', 'w')})",
                    "if len(g) > 2: s = g[-1]",
                    f"t[{self.pick('0', *self.indices)}] = {self.value()}",
                    "if len(u) < 9: u.append(0.5)",
                    f"x = {self.pick('y', 'x * 0.5', 'x[:]', 'np.zeros(6)')}",
                    f"v, w = {self.pick('w, v', 'p, v', 'w, p')}",
                )
            )

    def beside(self, head: str) -> None:
        """A turn that reads an element and writes into an array."""
        index = self.indices[-1]
        elements = [f"t[{index} % len(t)]", f"u[{index} % len(u)]", "t[-1]"]
        elements += [name for name in ("v", "v", "w") if name in head]
        element = self.pick(*elements)
        array, place = self.pick("x", "x", "y"), self.pick("0", "1:4", f"{index} % 6", ":")
        lines = [
            self.pick(f"s = s + {element}", f"s = s + {element}", f"p = {element}; s = s + p"),
            f"{array}[{place}] {self.pick('=', '+=', '+=')} {self.pick('7', '7', 's', element)}",
        ]
        if self.random.random() < 0.3:
            lines.append(self.pick(f"p = {element}", "p = s", "w = v", "q = r[0]", "s = s * 0.5"))
        self.random.shuffle(lines)
        for line in lines:
            self.say(line)

    def nothing(self) -> str:
        return f"x[{self.place()}] = {self.value()}"

    def loop(self) -> None:
        index = "ijk"[len(self.indices)]
        self.loops += 1
        loops = LOOPS[:5] if self.is_short else LOOPS
        head = self.pick(*loops).format(i=index)
        self.say(head)
        self.indices.append(index)
        if self.is_short:
            self.level += 1
            self.beside(head)
            self.level -= 1
        if not self.is_short or self.random.random() < 0.3:
            self.block(3)
        self.indices.pop()

    def source(self) -> str:
        self.lines = ["def f(x, y, t, u, r, o, n):"]
        self.say("v, w, s, p, q, g, i, j = 1, 0.5, 0.25, 2.0, r[-1], [], 0, 0")
        for _ in range(self.random.randint(0, 2)):
            self.say(
                self.pick(
                    "x[0] = 0.5",
                    "x[1:] += 1",
                    "y[n % 6] = 2",
                    "x = np.zeros(6)",
                    "y = x.copy()",
                    "p = t[0]",
                    "x[2] = u[-1]",
                    "w = x[3:]",
                )
            )
        for _ in range(1 if self.is_short else self.random.randint(1, 2)):
            self.loop()
        shown = self.pick("", ", v, w", ", q", ", t, u")
        self.say(f"return x, y, s, p, g, i, j{shown}")
        return "\n".join(self.lines) + "\n"


def _parts(kind: int, count: int, x: Any, y: Any, chosen: random.Random) -> list[Any]:
    """What is in a list: numbers of some kinds, or arrays that the program writes."""
    whole = [chosen.randrange(SIZE) for _ in range(count)]
    floats = [chosen.random() * 4 for _ in range(count)]
    array = chosen.choice((x, y))
    if kind == 0:
        return whole
    if kind == 1:
        return floats
    if kind == 2:
        return [chosen.choice(pair) for pair in zip(whole, floats, strict=True)]
    if kind == 3:
        return [array[at] for at in whole]
    if kind == 4:
        return [array[at : at + 1] for at in whole]
    if kind == 5:
        return [array[at : at + 1].reshape(()) for at in whole]
    if kind == 6:  # where no call before had one
        return [*whole, array]
    if kind == 7:
        return [*floats[1:], array[2:3].reshape(()), *floats[:1]]
    if kind == 8:
        return [chosen.choice((1, True, None, 2.5, np.float64(1.5), 2j, "a")) for _ in range(count)]
    if kind == 9:
        return [array, *whole]
    if kind == 10:
        return [chosen.choice((x, y, x[1:], y[::-1])) for _ in range(count)]
    return [array[at : at + 1].reshape(()) if at % 2 else float(at) for at in whole]


def arguments(seed: int, number: int) -> tuple[Any, ...]:
    """Those of one call. Called again it gives equal ones, that share memory likewise."""
    of_program, chosen = random.Random(seed), random.Random(seed * 1000 + number)
    values = np.random.default_rng((seed, number))
    x, y = values.normal(size=SIZE), values.normal(size=SIZE)
    usual = [0, 1, of_program.choice((0, 1))]
    if seed % 3 == 1:  # programs that know nothing else
        usual = [of_program.choice((4, 5, 10, 11)), of_program.choice((1, 4, 5)), 1]
    # Others meet it late, when their paths are made.
    is_usual = number < 4 or chosen.random() < 0.5
    if not is_usual and chosen.random() < 0.2:
        y = chosen.choice((x, x[::-1], x[:]))

    def listed(kind: int) -> Any:
        if not is_usual and chosen.random() < (0.2 if seed % 3 == 1 else 0.6):
            kind = chosen.randrange(12)
        count = chosen.choice((1, 2, 3, 4, 5, 7)) if number else 3
        if number > 2 and chosen.random() < 0.15:
            count = 0
        # Arrays like those that the program writes, or these.
        others = values.normal(size=(2, SIZE)) if is_usual else (x, y)
        made = _parts(kind, count, others[0], others[1], chosen)
        is_tuple = seed % 5 == 0 or (not is_usual and chosen.random() < 0.1)
        return tuple(made) if is_tuple else made

    t, u = listed(usual[0]), listed(usual[1])
    if not is_usual and chosen.random() < 0.2:
        u = t
    r: list[Any] = [listed(usual[2]) for _ in range(chosen.randint(1, 3))]
    if not is_usual and chosen.random() < 0.2:
        r[0] = chosen.choice((t, u, [x], [t, u], x))
    z = values.normal(size=SIZE) if is_usual else chosen.choice((x, y, x[:], y[::-1]))
    o = types.SimpleNamespace(z=z, k=chosen.choice((1, 2.5)))
    return x, y, t, u, r, o, chosen.choice((3, 4, 0, 1, 6, 11)) if number else 3
