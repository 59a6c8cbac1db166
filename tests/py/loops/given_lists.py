"""Writes loop programs over lists and tuples that a call is given, and over slices of them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from loops.lines import Lines

NUMBERS, LISTS = ("s", "m"), ("t", "u")
#: what the elements of a list may be, by their places
KINDS: dict[str, Any] = {
    "ints": lambda i: i * 7 % 5 - 1,
    "floats": lambda i: i * 0.75 - 2.0,
    "bools": lambda i: i % 3 == 0,
    "scalars": lambda i: np.float64(i * 7 % 5) - 0.5,
    "integer scalars": lambda i: np.int64(i * 7 % 5),
    "short": lambda i: np.float32(i * 7 % 5),
    "mixed": lambda i: (i, i * 0.5, i % 2 == 0, np.float64(i), 2**70)[i * 3 % 5],
    "with None": lambda i: None if i % 5 == 4 else i,
    "texts": lambda i: "abcd"[i % 4],
    "tuples": lambda i: (i, i * 0.5),
    "arrays": lambda i: np.full(2, i * 0.5),
    "lists": lambda i: [i],
}
NUMBERED = [*KINDS][:7]


class Listed(list[Any]):
    """A list of a class of its own."""


class Row(tuple[Any, ...]):
    """A tuple of a class of its own."""


class GivenWriter(Lines):
    """One function `f(t, u, n)` of two lists or tuples; `random` decides."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.items: list[str] = []  # variables that hold elements
        self.places: list[str] = []  # and those that are places

    def whole(self) -> str:
        """A list or a part of one."""
        name, place = self.pick(*LISTS), self.pick("n", "n // 2", "1", *self.places)
        part = self.pick("1:", ":-1", "::2", "::-1", f":{place}", f"{place}:", "-3:", f"-{place}:")
        return self.pick(name, name, name, f"{name}[{part}]", f"{name}[{part}]")

    def element(self) -> str:
        place = self.pick("0", "-1", "n", "len(t) - 1", *self.places)
        asked = f"{self.pick(*LISTS)}[{place}]"
        return self.pick(*self.items, *self.items, asked) if self.items else asked

    def number(self) -> str:
        return self.pick(
            *NUMBERS, "c", "0.5", f"len({self.whole()})", "len(out)", self.element(), *self.places
        )

    def condition(self) -> str:
        name = self.pick(*LISTS)
        return self.pick(
            f"{self.element()} > {self.number()}",
            f"{self.element()} == {self.element()}",
            f"best is None or {self.element()} > best",
            f"c % 2 == {self.pick('0', '1')}",
            f"len({name}) > {self.number()}",
            name,
            f"not {self.whole()}",
            f"{self.pick(*NUMBERS)} < {self.number()}",
            "out and out[-1] == c",
        )

    def statement(self) -> None:
        kind = self.random.random()
        name, value = self.pick(*NUMBERS), self.element()
        if kind < 0.3:
            self.say(
                self.pick(
                    f"out.append({value})",
                    f"out.append({value})",
                    f"out.append(({value}, {self.number()}))",
                    f"out.append({value} * 2)",
                    f"{name} = {value}; out.append({name})",
                    f"if {self.condition()}: out.append({value})",
                    f"if out: out[-1] = {value}",
                    f"kept.append({value}); out.append(c)",
                    "if len(out) > 3: out.pop()",
                )
            )
        elif kind < 0.55:
            self.say(
                self.pick(
                    f"{name} = {name} * 0.5 + {value}",
                    f"{name} += {value}",
                    f"{name} = {value} - {name}",
                    f"{name} = {self.number()}",
                    f"if {self.condition()}: best = {value}",
                    f"if {self.condition()}: best = {name}",
                    f"if {self.condition()}: c += 1",
                    "c += 1",
                )
            )
        elif kind < 0.7 and self.level < 3:
            self.branch(others=0.4)
        elif kind < 0.78 and self.items:
            self.say(f"if {self.condition()}: {self.pick('break', 'continue')}")
        elif kind < 0.88:
            self.say(
                self.pick(
                    f"out += [v for v in {self.whole()}]",
                    f"out += [v for v in {self.whole()} if {self.pick('v', name)} > {name}]",
                    f"c += sum(1 for v in {self.whole()} if v == {value})",
                    f"{name} = sum(v for v in {self.whole()}) * 0.5",
                    f"best = max((v for v in {self.whole()}), default=best)",
                    f"{self.pick(*LISTS)} = {self.whole()}",
                    "t, u = u, t",
                )
            )
        elif self.loops < 3 and self.level < 3:
            self.loop()
        else:
            self.say("c += 1")

    def loop(self) -> None:
        self.loops += 1
        item, place = f"v{self.loops}", f"i{self.loops}"
        whole, other = self.whole(), self.whole()
        header, items, places = self.random.choice(
            [
                (f"for {item} in {whole}:", [item], []),
                (f"for {item} in {whole}:", [item], []),
                (f"for {item} in reversed({whole}):", [item], []),
                (f"for {place}, {item} in enumerate({whole}):", [item], [place]),
                (f"for {place}, {item} in enumerate({whole}, 1):", [item], [place]),
                (f"for {item}, w{item} in zip({whole}, {other}):", [item, f"w{item}"], []),
                (f"for {place} in range(len(t)):", [f"t[{place}]"], [place]),
                (f"for {place} in range(len({whole})):", [f"u[{place}]"], [place]),
                (f"for {place} in range(n):", [], [place]),
                ("while", [f"t[{place}]"], [place]),
            ]
        )
        if header == "while":
            self.say(f"{place} = -1")
            self.say(f"while {place} + 1 < len(t):")
            self.level += 1
            self.say(f"{place} += 1")
            self.level -= 1
        else:
            self.say(header)
        self.items, before = [*self.items, *items], self.items
        self.places, places_before = [*self.places, *places], self.places
        self.block(3)
        self.items, self.places = before, places_before

    def source(self) -> str:
        self.lines = ["def f(t, u, n):", "    s, m, c, best, out, kept = 0.0, 1, 0, None, [], []"]
        if self.random.random() < 0.3:
            self.statement()
        for _ in range(self.random.randint(1, 2)):
            self.loop()
        if self.random.random() < 0.3:
            self.statement()
        shown = self.pick("t", "len(t)", "t[1:]", "u[:n]", "tuple(out)", "out[1:]", "len(out)")
        self.lines.append(f"    return s, m, c, best, out, kept, {shown}")
        return "\n".join(self.lines) + "\n"


def given(seed: int, number: int) -> tuple[Any, ...]:
    """The arguments of a call: mostly of one kind for all calls of a program."""
    program, call = random.Random(seed), random.Random(seed * 100 + number)
    kinds = program.sample(NUMBERED if program.random() < 0.75 else [*KINDS], 2)
    make = program.choice([list, list, tuple, tuple, Listed, Row])
    if call.random() < 0.15:
        make = call.choice([list, tuple, Listed, Row])
    lengths = [call.choice([0, 1, 2, 3, 4, 5, 7, 8, 12]) for _ in range(2)]
    kind = KINDS[kinds[call.random() < 0.15]]
    t, u = (make([kind(i + j) for i in range(length)]) for j, length in enumerate(lengths))
    return t, (t if call.random() < 0.1 else u), call.choice([0, 1, 2, 3, 5])
