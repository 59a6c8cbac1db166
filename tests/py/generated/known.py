"""Differences that are known and not yet mended, each with the smallest program that shows it.

A program that differs is shrunk; if what is left matches an entry, it is counted instead of failed.
Each entry's own program must still differ: who mends one takes its entry out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .compare import Difference
from .program import Program


@dataclass(frozen=True)
class Known:
    """One known difference.

    kind: of the difference, as a regular expression. pattern: another, found in what the two sides
    showed and the shrunk program after it. body, calls: the smallest program that shows it.
    """

    name: str
    kind: str
    pattern: str
    body: str
    calls: tuple[str, ...]

    @property
    def program(self) -> Program:
        return Program(("x",), (), tuple(self.body.splitlines()), self.calls, 0.0, 0.0, True)

    def explains(self, program: Program, found: Difference) -> bool:
        text = f"{found.text}\n{program.function}" + "\n".join(program.calls)
        return bool(re.fullmatch(self.kind, found.kind) and re.search(self.pattern, text, re.S))


def times(*arguments: str) -> tuple[str, ...]:
    return tuple(f"arguments = ({argument},)" for argument in arguments)


KNOWN: list[Known] = []


def known(program: Program, found: Difference) -> Known | None:
    """Return the entry that explains a difference of a shrunk program."""
    return next((entry for entry in KNOWN if entry.explains(program, found)), None)
