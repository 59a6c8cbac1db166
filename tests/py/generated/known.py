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


X = "np.arange(12.0).reshape(3, 4)"
KNOWN = [
    Known(
        "a NumPy function in Python warns, then the call is dropped and warns again",
        "warning",
        r"Mean of empty slice|Degrees of freedom|ComplexWarning",
        "v = x.astype('f8')\nreturn v.reshape(1, 4)",
        times("np.ones(4, 'c16')", "np.ones(3, 'c16')"),
    ),
    Known(
        "an index out of range that the program catches is too much for the lowering",
        "internal",
        r"IndexError: list index out of range",
        "try:\n    return x.shape[5]\nexcept IndexError:\n    return 0",
        times(X, X),
    ),
    Known(
        "a strided view made flat stays a view",
        "sharing",
        r"ravel|reshape",
        "return x[::2, 0].ravel()",
        times(X, X),
    ),
    Known(
        "a float stored as an integer is not refused as Python's int() refuses it",
        "exception",
        r"plain OverflowError: (Python integer|cannot convert float).*compiled returned",
        "x[0][...] = x[1]",
        times("(np.zeros(3, 'u1'), 1.5)", "(np.zeros(3, 'u1'), -2.0)"),
    ),
    Known(
        "padding an array of no axes gives the array itself",
        "identity|sharing",
        r"pad\(",
        "return x, np.pad(x, 1, mode='edge')",
        times("np.array(3.0)", "np.array(3.0)"),
    ),
]


def known(program: Program, found: Difference) -> Known | None:
    """Return the entry that explains a difference of a shrunk program."""
    return next((entry for entry in KNOWN if entry.explains(program, found)), None)
