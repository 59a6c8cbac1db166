"""Abstract arrays with the operators of NumPy's.

What NumPy computes of other functions of its own is written as there:

    x, y = arrays(lower, a, b)
    near = abs(x - y) <= atol + rtol * abs(y)

Each operator is its ufunc: dtypes, shapes and memory orders are those of `Ufuncs.apply`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm.magpy_capture.values import Abstract, Literal, Sequence, SliceValue, Tensor, resolve

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart

Operator = Callable[["Expression", Any], "Expression"]


def _binary(function: np.ufunc) -> Operator:
    return lambda self, other: self.apply(function, other)


def _reflected(function: np.ufunc) -> Operator:
    return lambda self, other: Expression(self.lower, other).apply(function, self)


@dataclass(frozen=True, eq=False)
class Expression:
    """An array, or a number, of the program."""

    lower: NumpyPart
    value: Abstract

    def apply(self, function: np.ufunc, *others: Any) -> Expression:
        """`function(self, *others)`; the others may be expressions, abstract values or numbers."""
        operands = [self.value, *map(_value, others)]
        return Expression(self.lower, self.lower.ufuncs.apply(function, operands))

    @property
    def tensor(self) -> Tensor:
        return self.lower.ufuncs.as_array(self.value)

    def __getitem__(self, key: Any) -> Expression:
        """A basic index: integers, slices of integers, an ellipsis, None."""
        parts = key if isinstance(key, tuple) else (key,)
        index = Sequence([_index(part) for part in parts])
        return Expression(self.lower, self.lower.indexing.index(self.tensor, index))

    __add__, __radd__ = _binary(np.add), _reflected(np.add)
    __sub__, __rsub__ = _binary(np.subtract), _reflected(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply), _reflected(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.true_divide), _reflected(np.true_divide)
    __and__, __or__ = _binary(np.bitwise_and), _binary(np.bitwise_or)
    __lt__, __le__ = _binary(np.less), _binary(np.less_equal)
    __gt__, __ge__ = _binary(np.greater), _binary(np.greater_equal)

    def equals(self, other: Any) -> Expression:
        """`self == other`, which the language wants to be a truth."""
        return self.apply(np.equal, other)

    def differs(self, other: Any) -> Expression:
        return self.apply(np.not_equal, other)

    def __abs__(self) -> Expression:
        return self.apply(np.absolute)

    def __neg__(self) -> Expression:
        return self.apply(np.negative)


def arrays(lower: NumpyPart, *values: Abstract) -> list[Expression]:
    """The arguments of a function, as the arrays that NumPy makes of them."""
    return [Expression(lower, lower.ufuncs.as_array(value)) for value in values]


def _value(other: Any) -> Abstract:
    if isinstance(other, Expression):
        return other.value
    return Literal(other) if isinstance(other, (bool, int, float)) else resolve(other)


def _index(part: Any) -> Abstract:
    if isinstance(part, slice):
        return SliceValue(*(Literal(each) for each in (part.start, part.stop, part.step)))
    return Literal(part)


__all__ = ["Expression", "arrays"]
