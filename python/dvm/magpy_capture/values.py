"""Abstract values: what the lowering knows of each value a recorded function handled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dvm import _dvm
from dvm.magpy_capture.spec import Source


@dataclass(eq=False)
class Tensor:
    """An array: a value of the graph. Rank 0 may be a NumPy scalar (`is_scalar`) to Python.

    permuted: its axes may not lie in C order. NumPy gives such an order on to the results of
        arithmetic, which the graph cannot say; and with a size of 1 it does not show in strides.
    """

    value: int
    dtype: str  # NumPy name
    shape: list[_dvm.Dim]
    permuted: bool = False
    is_scalar: bool = False
    source: Source | None = None  # set for an input handed in as it is
    is_view: bool = False  # shares memory with another array


@dataclass(eq=False)
class Number:
    """A Python float or int that is fetched on every call."""

    kind: type  # float | int
    source: Source
    object: Any
    value: int | None = None  # its value in the graph, made when first needed


@dataclass(eq=False)
class Size:
    """A Python int computed from sizes of arrays."""

    dim: _dvm.Dim


@dataclass(eq=False)
class Literal:
    """An object that is the same on every call of the path: a constant, or guarded to be one."""

    object: Any


@dataclass(eq=False)
class Sequence:
    """A tuple of abstract values."""

    elements: list[Any]


@dataclass(eq=False)
class Slice:
    """A slice object; each part is an abstract value."""

    start: Any
    stop: Any
    step: Any


@dataclass(eq=False)
class Method:
    """An attribute of an array that is about to be called."""

    base: Tensor
    name: str
    takes_self: bool  # the recorded callee is the unbound function


Abstract = Tensor | Number | Size | Literal | Sequence | Slice | Method
