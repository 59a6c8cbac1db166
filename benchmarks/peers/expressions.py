"""A function over arrays as one string for numexpr, by running it on names instead of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Writer:
    """Collects the literals of one expression: numexpr would take them as doubles."""

    def __init__(self) -> None:
        self.literals: dict[str, np.float32] = {}

    def text(self, value: Any) -> str:
        if isinstance(value, Expression):
            return value.text
        name = next((n for n, v in self.literals.items() if v == np.float32(value)), None)
        if name is None:
            name = f"c{len(self.literals)}"
            self.literals[name] = np.float32(value)
        return name

    def binary(self, a: Any, symbol: str, b: Any) -> Expression:
        return Expression(self, f"({self.text(a)} {symbol} {self.text(b)})")

    def call(self, name: str, *args: Any) -> Expression:
        return Expression(self, f"{name}({', '.join(map(self.text, args))})")

    # The names of an array library that numexpr has, too.
    def maximum(self, a: Any, b: Any) -> Expression:
        return self.call("maximum", a, b)

    def exp(self, a: Any) -> Expression:
        return self.call("exp", a)

    def tanh(self, a: Any) -> Expression:
        return self.call("tanh", a)


class Expression:
    def __init__(self, writer: Writer, text: str) -> None:
        self.writer, self.text = writer, text

    def __add__(self, other: Any) -> Expression:
        return self.writer.binary(self, "+", other)

    def __radd__(self, other: Any) -> Expression:
        return self.writer.binary(other, "+", self)

    def __sub__(self, other: Any) -> Expression:
        return self.writer.binary(self, "-", other)

    def __mul__(self, other: Any) -> Expression:
        return self.writer.binary(self, "*", other)

    def __rmul__(self, other: Any) -> Expression:
        return self.writer.binary(other, "*", self)


def expression_of(function: Callable[..., Any], tensors: int) -> tuple[str, dict[str, np.float32]]:
    """Return `function(xp, x0, x1, ...)` as numexpr writes it, and its literals by name.

    Raises AttributeError or TypeError where the function needs what numexpr has not.
    """
    writer = Writer()
    result = function(writer, *(Expression(writer, f"x{i}") for i in range(tensors)))
    return result.text, writer.literals
