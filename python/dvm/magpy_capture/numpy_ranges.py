"""Ranges, triangles and diagonals: arrays made of positions."""

from __future__ import annotations

import math
from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.arrays import c_order
from dvm.magpy_capture.numpy_picks import NumpyPicks
from dvm.magpy_capture.numpy_ufuncs import NONE, ZERO
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
)

ONE = Literal(1)

numpy_table(
    {
        name: name
        for name in ("arange linspace eye identity tri tril triu diag diagonal trace").split()
    },
    {"diagonal": "diagonal", "trace": "trace"},
)


class NumpyRanges(NumpyPicks):
    """Functions whose results follow from positions."""

    # ---- ranges

    def is_int(self, value: Abstract) -> bool:
        return isinstance(value, Size) or (
            isinstance(value, (Literal, Host)) and type(value.object) is int
        )

    def arange(self, *bounds: Abstract, dtype: Abstract = NONE) -> Tensor:
        parts = [self.resolve(part) for part in bounds]
        start, stop, step = ZERO, parts[0], ONE
        if len(parts) > 1:
            start, stop = parts[0], parts[1]
        if len(parts) > 2:
            step = parts[2]
        if not all(self.is_int(part) for part in parts):
            if not self.is_none(dtype) and self.dtype_name(dtype) != "float64":
                raise self.refuse(reasons.ARANGE_FLOATS_ANOTHER_DTYPE)
            return self._arange_of_floats(*map(self.python_number, (start, stop, step)))
        name = "int64" if self.is_none(dtype) else self.dtype_name(dtype)
        stride = self.integer(step)
        if stride == 0:
            raise self.refuse(reasons.ARANGE_STEP)
        first, last = self.dim_of(start), self.dim_of(stop)
        span = last - first if stride > 0 else first - last
        if span.constant is not None:
            span = self.size(max(0, int(span.constant)))
        elif not (isinstance(stop, Size) and first.constant == 0 and not self.is_negative(last)):
            span = span.max(0)
        if abs(stride) > 1:
            span = (span + (abs(stride) - 1)) // abs(stride)
        value = self.iota_value("int64", span)
        made = self.fresh(value, "int64", [span])
        if stride != 1:
            made = self.ufunc(np.multiply, [made, Literal(stride)])
        if first.constant != 0:
            made = self.ufunc(np.add, [made, Size(first)])
        return self.cast(made, name)

    def python_number(self, value: Abstract) -> Literal | Host | Size:
        """A Python number, of a computed double its value."""
        if isinstance(value, Tensor) and value.is_scalar and value.dtype == "float64":
            if value.object is not None:
                return Host(self.leave(self.value_of(value), "float"), float(value.object))
        if isinstance(value, Size):
            return value
        if isinstance(value, (Literal, Host)) and type(value.object) in (int, float):
            return value
        raise self.refuse(reasons.ARANGE, describe(value))

    def _arange_of_floats(
        self,
        start: Literal | Host | Size,
        stop: Literal | Host | Size,
        step: Literal | Host | Size,
    ) -> Tensor:
        """The first two are start and start + step, all others start + i * (second - first)."""
        stride = self.operand(step, "float64")
        count = self._elements_between([start, stop, step])
        ramp = self.fresh(self.iota_value("float64", count), "float64", [count])
        if isinstance(start, Literal) and str(float(start.object)) == "0.0":
            return self.elementwise(
                "add", [self._product(ramp, stride), self.operand(ZERO, "float64")], "float64"
            )
        first = self.operand(start, "float64")
        second = self.elementwise("add", [first, stride], "float64")
        delta = self.elementwise("sub", [second, first], "float64")
        made = self.elementwise("add", [self._product(ramp, delta), first], "float64")
        for place, element in ((1, second), (0, first)):
            test = self.ufunc(np.equal, [ramp, Literal(place)])
            made = self.elementwise("select", [test, element, made], "float64")
        return made

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        return self.elementwise("mul", [a, b], "float64")

    def _elements_between(self, numbers: list[Literal | Host | Size]) -> _dvm.Dim:
        if any(math.isinf(getattr(number, "object", 0)) for number in numbers):
            raise self.refuse(reasons.ARANGE_INFINITE_STEP)
        seen = _elements_between(
            *(
                self.observed(number.dim) if isinstance(number, Size) else number.object
                for number in numbers
            )
        )
        if all(isinstance(number, Literal) for number in numbers):
            return self.size(seen)
        registers = [self.register_of(number) for number in numbers]
        register = self.step("call", self.constant(_elements_between), registers, ())
        return self.at_least(self.dim_of(Host(register, seen)), self.size(0))

    def linspace(
        self,
        start: Abstract,
        stop: Abstract,
        num: Abstract = Literal(50),
        endpoint: Abstract = Literal(True),
        retstep: Abstract = Literal(False),
        dtype: Abstract = NONE,
        axis: Abstract = ZERO,
    ) -> Tensor:
        """numpy/_core/function_base.py: y = arange(num) * step + start, the last one exact."""
        if self.plain(retstep) or self.plain(axis) != 0:
            raise self.refuse(reasons.LINSPACE_RETSTEP_AXIS)
        for bound in (start, stop):
            bound = self.resolve(bound)
            if isinstance(bound, Tensor) and bound.rank:
                raise self.refuse(reasons.LINSPACE_BETWEEN_ARRAYS)
        name = "float64" if self.is_none(dtype) else self.dtype_name(dtype)
        if not name.startswith("float"):
            raise self.refuse(reasons.LINSPACE_INTEGERS)
        count = self.dim_of(num)
        if self.is_negative(count):
            raise self.refuse(reasons.LINSPACE_NEGATIVE_NUMBER)
        ends = bool(self.plain(endpoint))
        first, last = (self.operand(bound, "float64") for bound in (start, stop))
        delta = self.elementwise("sub", [last, first], "float64")
        parts = count - 1 if ends else count
        ramp = self.cast(self.fresh(self.iota_value("int64", count), "int64", [count]), "float64")
        if parts.constant is not None and parts.constant <= 0:
            made = self.elementwise("mul", [ramp, delta], "float64")
        else:
            self.require_positive(parts)
            self.require_nonzero(delta, start, stop)
            step = self.elementwise("div", [delta, self.operand(Size(parts), "float64")], "float64")
            made = self.elementwise("mul", [ramp, step], "float64")
        made = self.elementwise("add", [made, first], "float64")
        if ends and not (count.constant is not None and count.constant < 2):
            final = self.index(made, SliceValue(Literal(-1), NONE, NONE))
            self.write(final, last)
        if name == "float64" and not (parts.constant is not None and parts.constant <= 0):
            return self.reshaped(made, [count])  # NumPy's own is such a view of the ramp
        return self.cast(made, name)

    def require_nonzero(self, delta: Tensor, start: Abstract, stop: Abstract) -> None:
        """np.linspace takes another way when a step of zero loses the ends: not on this path."""
        ends: list[Any] = [getattr(self.resolve(bound), "object", None) for bound in (start, stop)]
        equal = None not in ends and float(ends[0]) == float(ends[1])
        equal = equal and np.isfinite(ends[0])  # infinities have no difference
        test = self.leave(self.value_of(delta), "float")
        self.guard("guard_truth", test, not equal)
        if equal:
            raise self.refuse(reasons.LINSPACE_BETWEEN_EQUAL_NUMBERS)

    # ---- triangles and diagonals

    def tri(
        self, N: Abstract, M: Abstract = NONE, k: Abstract = ZERO, dtype: Abstract = Literal(float)
    ) -> Tensor:
        rows = self.dim_of(N)
        columns = rows if self.is_none(M) else self.dim_of(M)
        for size in (rows, columns):
            if self.is_negative(size):
                raise self.refuse(reasons.TRIANGLE_NEGATIVE_SIZE)
        return self.cast(self._below(rows, columns, k), self.dtype_name(dtype))

    def _below(self, rows: _dvm.Dim, columns: _dvm.Dim, k: Abstract) -> Tensor:
        """Column <= row + k, as bool."""
        down = self.fresh(self.iota_value("int64", rows), "int64", [rows])
        down = self.index(down, Sequence([every_element(), NONE]))
        across = self.fresh(self.iota_value("int64", columns), "int64", [columns])
        shift = Size(self.dim_of(k))
        limit = self.ufunc(np.add, [down, shift]) if shift.dim.constant != 0 else down
        return self.ufunc(np.less_equal, [across, limit])

    def tril(self, m: Abstract, k: Abstract = ZERO) -> Tensor:
        x = self.as_array(m)
        return self._triangle(x, self._below(*self._matrix(x), k))

    def triu(self, m: Abstract, k: Abstract = ZERO) -> Tensor:
        x = self.as_array(m)
        below = self._below(*self._matrix(x), Size(self.dim_of(k) - 1))
        return self._triangle(x, self.ufunc(np.logical_not, [below]))

    def _matrix(self, x: Tensor) -> tuple[_dvm.Dim, _dvm.Dim]:
        if x.rank < 2:
            raise self.refuse(reasons.TRIANGLE_VECTOR)
        return x.shape[-2], x.shape[-1]

    def _triangle(self, x: Tensor, mask: Tensor) -> Tensor:
        zero = self.operand(Literal(0), x.dtype)
        return self.elementwise("select", [mask, x, zero], x.dtype)

    def eye(
        self,
        N: Abstract,
        M: Abstract = NONE,
        k: Abstract = ZERO,
        dtype: Abstract = Literal(float),
    ) -> Tensor:
        rows = self.dim_of(N)
        columns = rows if self.is_none(M) else self.dim_of(M)
        for size in (rows, columns):
            if self.is_negative(size):
                raise self.refuse(reasons.IDENTITY_MATRIX_NEGATIVE_SIZE)
        down = self.fresh(self.iota_value("int64", rows), "int64", [rows])
        down = self.ufunc(np.add, [down, Size(self.dim_of(k))])
        across = self.fresh(self.iota_value("int64", columns), "int64", [columns])
        on = self.ufunc(np.equal, [self.index(down, Sequence([every_element(), NONE])), across])
        return self.cast(on, self.dtype_name(dtype))

    def identity(self, n: Abstract, dtype: Abstract = Literal(float)) -> Tensor:
        return self.eye(n, dtype=dtype)

    def diag(self, v: Abstract, k: Abstract = ZERO) -> Tensor:
        x, beside = self.as_array(v), self.integer(k)
        if x.rank == 2:
            return self.diagonal(x, Literal(beside))
        if x.rank != 1:
            raise self.refuse(reasons.DIAG_MORE_MATRIX)
        size = x.shape[0]
        across = self.fresh(self.iota_value("int64", size), "int64", [size])
        on = self.ufunc(np.equal, [self.index(across, Sequence([every_element(), NONE])), across])
        zero = self.operand(Literal(0), x.dtype)
        made = self.elementwise("select", [on, x, zero], x.dtype, c_order(2))
        if beside == 0:
            return made
        shape = [size + abs(beside)] * 2
        places = [self.size(max(-beside, 0)), self.size(max(beside, 0))]
        return self.placed(
            x.dtype, shape, [(made, places)], self.copy_value(self.value_of(zero), shape)
        )

    def diagonal(
        self, a: Abstract, offset: Abstract = ZERO, axis1: Abstract = ZERO, axis2: Abstract = ONE
    ) -> Tensor:
        """A read-only view of a matrix, whose elements lie one row and one column apart."""
        x, beside = self.as_array(a), self.integer(offset)
        axes = [self.axis(self.plain(axis), x.rank) for axis in (axis1, axis2)]
        if x.rank != 2 or axes != [0, 1]:
            raise self.refuse(reasons.DIAGONAL_MORE_MATRIX)
        rows, columns = x.shape
        down, right = self.size(max(-beside, 0)), self.size(max(beside, 0))
        size = self.at_least((rows - down).min(columns - right), self.size(0))

        def view(_value: int) -> int:
            flat = self.reshape_value(self.in_c_order(x), [rows * columns])
            step = self.fresh(self.iota_value("int64", size), "int64", [size])
            place = self.ufunc(np.multiply, [step, Size(columns + 1)])
            place = self.ufunc(np.add, [place, Size(down * columns + right)])
            return self.along_value("gather", [flat, self.value_of(place)], 0)

        remake = (np.ndarray.diagonal, [Literal(beside)])
        made = self.view_of(x, [size], c_order(1), view, None, remake, contiguous=False)
        made.writeable = False
        return made

    def trace(
        self,
        a: Abstract,
        offset: Abstract = ZERO,
        axis1: Abstract = ZERO,
        axis2: Abstract = ONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
    ) -> Abstract:
        line = self.diagonal(a, offset, axis1, axis2)
        return self.ufunc_reduce(np.add, line, dtype=dtype, out=out)

    def placed(
        self,
        dtype: str,
        shape: SequenceOf[_dvm.Dim],
        pieces: SequenceOf[tuple[Tensor, SequenceOf[_dvm.Dim]]],
        base: int | None = None,
    ) -> Tensor:
        """A new array in C order made of pieces, each at its start."""
        value = self.empty_value(dtype, shape) if base is None else base
        for piece, starts in pieces:
            content = self.in_c_order(self.cast(piece, dtype))
            value = self.update_value(value, content, list(starts), [1] * len(shape))
        return self.fresh(value, dtype, shape)


def _elements_between(start: float, stop: float, step: float) -> int:
    """How many elements np.arange gives. A step without end has no multiples to compute."""
    if not math.isfinite(step):
        raise OverflowError("an infinite step")
    steps = (stop - start) / step
    if steps == 0 and stop != start:  # underflow
        return int(math.copysign(1, steps) > 0)
    return max(math.ceil(steps), 0)


def every_element() -> SliceValue:
    return SliceValue(NONE, NONE, NONE)
