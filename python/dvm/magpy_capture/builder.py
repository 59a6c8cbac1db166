"""Builds graph values with NumPy's rules: promotion (NEP 50), broadcasting, views, reductions.

Result dtypes are not re-invented: ufuncs resolve them (`ufunc.resolve_dtypes`), and every result is
compared with the array the recorded execution really produced.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.spec import NOWHERE, Location, NotCapturable, PathSpec, Source
from dvm.magpy_capture.tables import UFUNCS
from dvm.magpy_capture.values import Abstract, Literal, Number, Size, Tensor

#: NumPy name -> name in the graph
DTYPES: dict[str, str] = dict(_dvm.dtype_table)

PYTHON_NUMBERS = (bool, int, float)


def supported(dtype: np.dtype[Any], at: Location) -> str:
    """The NumPy name of a dtype the graph has; NotCapturable for the others."""
    if dtype.name not in DTYPES or not dtype.isnative:
        raise NotCapturable(f"dtype {dtype.name}", at)
    return dtype.name


def fits(value: int, dtype: str) -> bool:
    """Whether NumPy takes the Python int as it is in arithmetic of `dtype`."""
    kind = np.dtype(dtype)
    if kind.kind == "i":
        return bool(np.iinfo(kind).min <= value <= np.iinfo(kind).max)
    return abs(value) < 2**63


def same_dim(a: _dvm.Dim, b: _dvm.Dim) -> bool:
    return str(a) == str(b)


def same_shape(a: SequenceOf[_dvm.Dim], b: SequenceOf[_dvm.Dim]) -> bool:
    return len(a) == len(b) and all(map(same_dim, a, b))


class Builder:
    """One graph under construction and the path's inputs that feed it."""

    def __init__(self, spec: PathSpec) -> None:
        self.spec = spec
        self.graph = _dvm.Graph()
        self.at: Location = NOWHERE  # of the event being lowered
        self._symbols = 0
        self._constants: dict[tuple[str, Any], int] = {}
        spec.graph = self.graph

    # ---- inputs

    def symbol(self) -> _dvm.Dim:
        self._symbols += 1
        return self.graph.symbol(f"s{self._symbols - 1}")

    def input(self, array: np.ndarray[Any, Any], source: Source) -> Tensor:
        dtype = supported(array.dtype, self.at)
        shape = [self.symbol() for _ in range(array.ndim)]
        value = self.graph.input(DTYPES[dtype], shape, at=self.at)
        self.spec.tensors.append(source)
        return Tensor(value, dtype, shape, source=source, permuted=not _dvm.in_c_order(array))

    def size(self, n: int | _dvm.Dim) -> _dvm.Dim:
        if not isinstance(n, int):
            return n
        if not -(2**62) < n < 2**62:
            raise NotCapturable(f"the size {n}", self.at)
        return self.graph.size(n)

    def product(self, dims: Iterable[_dvm.Dim]) -> _dvm.Dim:
        total = self.graph.size(1)
        for dim in dims:
            total = total * dim
        return total

    # ---- scalars: every Python number becomes a rank-0 value of the dtype it is used in

    def operand(self, operand: Abstract, dtype: str) -> Tensor:
        """`operand` as a value of `dtype`."""
        if isinstance(operand, Tensor):
            return self.cast(operand, dtype)
        if isinstance(operand, Size):
            value = self.graph.dim_value(DTYPES[dtype], operand.dim, at=self.at)
            return Tensor(value, dtype, [])
        if isinstance(operand, Number):
            return self.cast(self._number(operand), dtype)
        if isinstance(operand, Literal):
            return Tensor(self._constant(operand.object, dtype), dtype, [])
        raise NotCapturable(f"arithmetic with {type(operand).__name__.lower()}", self.at)

    def _number(self, number: Number) -> Tensor:
        dtype = "float64" if number.kind is float else "int64"
        if number.value is None:
            number.value = self.graph.scalar(DTYPES[dtype], at=self.at)
            self.spec.scalars.append(number.source)
        return Tensor(number.value, dtype, [])

    def _constant(self, value: Any, dtype: str) -> int:
        if type(value) is int and not fits(value, dtype):
            raise NotCapturable(f"the number {value} with {dtype}", self.at)
        typed = np.asarray(value).astype(dtype)
        key = (dtype, typed.tobytes())
        if key not in self._constants:
            literal = typed.item()
            self._constants[key] = self.graph.constant(DTYPES[dtype], literal, at=self.at)
        return self._constants[key]

    # ---- elementwise

    def require_c_order(self, operand: Tensor, result_rank: int) -> None:
        """NumPy lays a result of more than one axis out like its operands; the graph in C order."""
        if operand.permuted and result_rank > 1:
            raise NotCapturable("arithmetic on an array that is not in C order", self.at)

    def cast(self, a: Tensor, dtype: str) -> Tensor:
        if a.dtype == dtype:
            return a
        value = a.value
        if a.dtype == "int64" and dtype in ("float16", "float32") and not a.shape:
            # A Python int reaches a small float through double, as NumPy converts it.
            value = self.graph.cast(value, DTYPES["float64"], at=self.at)
        self.require_c_order(a, len(a.shape))
        return Tensor(self.graph.cast(value, DTYPES[dtype], at=self.at), dtype, a.shape)

    def broadcast(self, a: Tensor, shape: list[_dvm.Dim]) -> int:
        if same_shape(a.shape, shape):
            return a.value
        return self.graph.broadcast(a.value, shape, at=self.at)

    def common_shape(self, operands: SequenceOf[Tensor]) -> list[_dvm.Dim]:
        rank = max(len(a.shape) for a in operands)
        shape = []
        for axis in range(rank):
            dims = [
                a.shape[axis - rank + len(a.shape)]
                for a in operands
                if axis - rank + len(a.shape) >= 0
            ]
            result = dims[0]
            for dim in dims[1:]:
                result = result.bcast(dim)
            shape.append(result)
        return shape

    def elementwise(self, op: str, operands: list[Tensor], dtype: str) -> Tensor:
        shape = self.common_shape(operands)
        for a in operands:
            self.require_c_order(a, len(shape))
        values = [self.broadcast(a, shape) for a in operands]
        return Tensor(self.graph.elementwise(op, values, at=self.at), dtype, shape)

    def ufunc(self, function: np.ufunc, operands: list[Abstract]) -> Tensor:
        """`function(*operands)`, at least one of them an array."""
        op = UFUNCS.get(function)
        if op is None or len(operands) != function.nin:
            raise NotCapturable(f"ufunc {function.__name__}", self.at)
        kinds = tuple(self._kind(a) for a in operands) + (None,) * function.nout
        loop = [supported(dtype, self.at) for dtype in function.resolve_dtypes(kinds)]
        for i, operand in enumerate(operands):
            # NumPy range-checks a Python int against a narrower loop; literals passed already.
            if isinstance(operand, Number) and operand.kind is int and loop[i] in ("int32", "bool"):
                operands[i] = self.literal(operand)
        typed = [self.operand(a, dtype) for a, dtype in zip(operands, loop, strict=False)]
        if op in _dvm.numeric_ops and loop[0] == "bool":
            raise NotCapturable(f"ufunc {function.__name__} on bool", self.at)
        return self.elementwise(op, typed, loop[-1])

    def _kind(self, operand: Abstract) -> Any:
        """What NumPy's promotion sees: a dtype, or a Python number type (weak)."""
        if isinstance(operand, Tensor):
            return np.dtype(operand.dtype)
        if isinstance(operand, Number):
            return operand.kind
        if isinstance(operand, Size):
            return int
        if isinstance(operand, Literal):
            if isinstance(operand.object, np.generic):
                return operand.object.dtype
            # bool is a strong dtype to NEP 50, int and float are weak.
            if isinstance(operand.object, bool):
                return np.dtype(bool)
            if type(operand.object) in PYTHON_NUMBERS:
                return type(operand.object)
        raise NotCapturable(f"operand {describe(operand)}", self.at)

    def literal(self, value: Abstract) -> Literal:
        """`value` as a literal; a number of the call is guarded to keep its value."""
        if isinstance(value, Literal):
            return value
        if isinstance(value, Number):
            self.spec.value_guards.append((value.source, value.object))
            return Literal(value.object)
        raise NotCapturable(f"{describe(value)} where a constant is needed", self.at)

    # ---- reductions and views

    def copy(self, a: Tensor) -> Tensor:
        """A new array of the same elements, where the result must not be `a` itself."""
        self.require_c_order(a, len(a.shape))
        value = self.graph.broadcast(a.value, a.shape, at=self.at)
        return Tensor(value, a.dtype, a.shape)

    def reduce(self, op: str, a: Tensor, axes: list[int], keepdims: bool) -> Tensor:
        """Reduces `axes` (normalised, ascending); adjacent axes go together."""
        if not axes:
            return self.copy(a)
        value = a.value
        shape = list(a.shape)
        for run in reversed(adjacent_runs(axes)):
            value = self.graph.reduce(op, value, run, at=self.at)
            for axis in run:
                shape[axis] = self.graph.size(1)
        self.require_c_order(a, len(a.shape) - len(axes))
        result = Tensor(value, a.dtype, shape)
        if keepdims:
            return result
        kept = [dim for axis, dim in enumerate(shape) if axis not in axes]
        return self.reshaped(result, kept)

    def reshaped(self, a: Tensor, shape: list[_dvm.Dim], is_view: bool = False) -> Tensor:
        if same_shape(a.shape, shape):  # to NumPy still another array, though of the same memory
            return Tensor(a.value, a.dtype, shape, a.permuted, is_view=True) if is_view else a
        value = self.graph.reshape(a.value, shape, at=self.at)
        return Tensor(value, a.dtype, shape, a.permuted, is_view=is_view)

    def transposed(self, a: Tensor, axes: list[int]) -> Tensor:
        value = self.graph.transpose(a.value, axes, at=self.at)
        permuted = a.permuted or axes != sorted(axes)
        return Tensor(value, a.dtype, [a.shape[axis] for axis in axes], permuted, is_view=True)


def adjacent_runs(axes: list[int]) -> list[list[int]]:
    """[0, 1, 3] -> [[0, 1], [3]]."""
    runs: list[list[int]] = []
    for axis in axes:
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


def describe(value: Abstract) -> str:
    """For reasons: what kind of value this is."""
    if isinstance(value, Tensor):
        return f"an array of {value.dtype}"
    if isinstance(value, Literal):
        return f"{type(value.object).__name__} {value.object!r}"[:60]
    return {Number: "a number of the call", Size: "a size"}.get(
        type(value), f"a {type(value).__name__.lower()}"
    )
