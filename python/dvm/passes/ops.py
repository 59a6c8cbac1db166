"""Functions on values of patterns and replacements: ops of docs/ops.md, and what is made of them.

`ops.tanh(x)`, `ops.maximum(x, 0)`, `ops.select(c, x, y)`: every elementwise op by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dvm import _dvm, errors
from dvm.passes.operands import Axes, Operand
from dvm.passes.terms import Near

_T = TypeVar("_T", bound=Operand)

ELEMENTWISE = frozenset(op for op, _ in _dvm.ufunc_table) | _dvm.ufunc_rules.keys() | {"select"}


def near(value: float, rtol: float = 1e-3) -> Any:
    """A number of a pattern that others stand for as well: those within `rtol * abs(value)`."""
    return Near(value, rtol)


def either(form: _T, *others: _T) -> _T:
    """In a pattern: one of these forms. A replacement has the first."""
    return form.either(*others)


def join(values: list[_T], axis: int = -1) -> _T:
    """Values one behind the other along an axis, as np.concatenate has them."""
    return values[0].join(*values[1:], axis=axis)


def mean(x: _T, axis: Axes = -1) -> _T:
    """The mean along some axes, which stay as size 1."""
    return x.mean(axis)


def rsqrt(x: Any) -> Any:
    """One by the square root."""
    return 1 / sqrt(x)


def sigmoid(x: Any) -> Any:
    """One by one and e to the minus x."""
    return 1 / (1 + exp(-x))


def silu(x: Any) -> Any:
    """`x` times its sigmoid."""
    return x / (1 + exp(-x))


def relu(x: Any) -> Any:
    """What is greater than 0, else 0."""
    return either(maximum(x, 0.0), select(x > 0.0, x, 0.0))


def softmax(x: Any, axis: int = -1) -> Any:
    """Exponentials by their sum along an axis; the greatest is subtracted before."""
    greatest = either(x.max(axis), x.reduce("max_or_lowest", axis))  # as NumPy and others have it
    shifted = exp(x - greatest)
    return shifted / shifted.sum(axis)


def _elementwise(name: str) -> Callable[..., Any]:
    def apply(*operands: Any) -> Any:
        for operand in operands:
            if isinstance(operand, Operand):
                return operand.apply(name, *operands)
        raise TypeError(f"ops.{name} takes a value of a graph, not {operands!r:.60}")

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"The op `{name}` of docs/ops.md."
    return apply


sqrt, exp, maximum, select = map(_elementwise, ("sqrt", "exp", "maximum", "select"))


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_"):
        raise AttributeError(name)
    if name not in ELEMENTWISE:
        raise AttributeError(str(errors.unknown("unknown_name", "op", name, sorted(ELEMENTWISE))))
    return _elementwise(name)


def __dir__() -> list[str]:
    return sorted(ELEMENTWISE | {name for name in globals() if not name.startswith("_")})
