"""What generators of programs share: choices, lines and blocks."""

from __future__ import annotations

import random


class Lines:
    """Lines of a function that are written one after the other; `random` decides.

    level: of the blocks around the next line. loops: so far.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.level = self.loops = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def say(self, text: str) -> None:
        self.lines.append("    " * (self.level + 1) + text)

    def statement(self) -> None:
        raise NotImplementedError

    def condition(self) -> str:
        raise NotImplementedError

    def nothing(self) -> str:
        """The line of a block that would have none."""
        return "pass"

    def block(self, most: int) -> None:
        self.level += 1
        before = len(self.lines)
        for _ in range(self.random.randint(1, most)):
            self.statement()
        if len(self.lines) == before:
            self.say(self.nothing())
        self.level -= 1

    def branch(self, others: float) -> None:
        """An `if`, and in so many of them an `else`."""
        self.say(f"if {self.condition()}:")
        self.block(2)
        if self.random.random() < others:
            self.say("else:")
            self.block(2)
