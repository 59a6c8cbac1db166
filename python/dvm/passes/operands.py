"""What patterns and replacements are written in: the operators of NumPy, on values of a graph.

The same expression says what a graph has to have, over `Term`s, and makes it, over `Value`s.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

#: axes of a reduction: one or several, counted from the end where negative
Axes = int | Sequence[int]


class Operand(ABC):
    """A value that is computed with. Reductions keep their axes, as size 1."""

    # NumPy's scalars must leave `2.0 * x` to us.
    __array_ufunc__ = None

    @abstractmethod
    def apply(self, op: str, *operands: Any) -> Self:
        """An elementwise op of docs/ops.md; operands are values or numbers."""

    @abstractmethod
    def reduce(self, op: str, axis: Axes) -> Self:
        """A reduction along some axes."""

    @abstractmethod
    def mean(self, axis: Axes = -1) -> Self:
        """The sum along some axes, divided by how many elements it is of."""

    @abstractmethod
    def split(self, parts: int, axis: int = -1) -> list[Self]:
        """So many parts of one size along an axis."""

    @abstractmethod
    def join(self, *others: Self, axis: int = -1) -> Self:
        """This value and others, one behind the other along an axis."""

    @abstractmethod
    def transpose(self, *axes: int) -> Self:
        """Axis i of the result is axis axes[i]."""

    @abstractmethod
    def either(self, *forms: Self) -> Self:
        """In a pattern: this form, or one of the others. A replacement has this one."""

    @abstractmethod
    def __matmul__(self, other: Any) -> Self: ...

    @abstractmethod
    def __pow__(self, exponent: float) -> Self: ...

    def sum(self, axis: Axes = -1) -> Self:
        """The sum along some axes."""
        return self.reduce("sum", axis)

    def max(self, axis: Axes = -1) -> Self:
        """The greatest along some axes."""
        return self.reduce("max", axis)

    def min(self, axis: Axes = -1) -> Self:
        """The least along some axes."""
        return self.reduce("min", axis)

    def __add__(self, other: Any) -> Self:
        return self.apply("add", self, other)

    def __radd__(self, other: Any) -> Self:
        return self.apply("add", other, self)

    def __mul__(self, other: Any) -> Self:
        return self.apply("mul", self, other)

    def __rmul__(self, other: Any) -> Self:
        return self.apply("mul", other, self)

    def __sub__(self, other: Any) -> Self:
        return self.apply("sub", self, other)

    def __rsub__(self, other: Any) -> Self:
        return self.apply("sub", other, self)

    def __truediv__(self, other: Any) -> Self:
        return self.apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self.apply("div", other, self)

    def __neg__(self) -> Self:
        return self.apply("neg", self)

    def __abs__(self) -> Self:
        return self.apply("abs", self)

    def __lt__(self, other: Any) -> Self:
        return self.apply("lt", self, other)

    def __le__(self, other: Any) -> Self:
        return self.apply("le", self, other)

    def __gt__(self, other: Any) -> Self:
        return self.apply("gt", self, other)

    def __ge__(self, other: Any) -> Self:
        return self.apply("ge", self, other)

    def __bool__(self) -> bool:
        raise TypeError("what a value of a graph is, nobody knows before the graph is called")


def axes_of(axis: Axes) -> list[int]:
    """Axes as a list."""
    return [axis] if isinstance(axis, int) else list(axis)
