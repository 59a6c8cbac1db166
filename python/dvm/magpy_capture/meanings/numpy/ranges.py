"""Ranges, triangles and diagonals: arrays made of positions."""

from __future__ import annotations

import math
from collections.abc import Sequence as SequenceOf
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.ufuncs import NONE, ZERO
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    is_none,
    resolve,
)

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


ONE = Literal(1)


# ---- ranges


def is_int(value: Abstract) -> bool:
    return isinstance(value, Size) or (
        isinstance(value, (Literal, Host)) and type(value.object) is int
    )


@means(np.arange)
def arange(lower: NumpyPart, *bounds: Abstract, dtype: Abstract = NONE) -> Tensor:
    parts = [resolve(part) for part in bounds]
    start, stop, step = ZERO, parts[0], ONE
    if len(parts) > 1:
        start, stop = parts[0], parts[1]
    if len(parts) > 2:
        step = parts[2]
    if not all(is_int(part) for part in parts):
        if not is_none(dtype) and lower.ufuncs.dtype_name(dtype) != "float64":
            raise refuse(reasons.ARANGE_FLOATS_ANOTHER_DTYPE)
        return _arange_of_floats(lower, *(python_number(lower, b) for b in (start, stop, step)))
    name = "int64" if is_none(dtype) else lower.ufuncs.dtype_name(dtype)
    stride = lower.indexing.integer(step)
    if stride == 0:
        raise refuse(reasons.ARANGE_STEP)
    first, last = lower.indexing.dim_of(start), lower.indexing.dim_of(stop)
    span = last - first if stride > 0 else first - last
    if span.constant is not None:
        span = lower.graph.size(max(0, int(span.constant)))
    elif not (isinstance(stop, Size) and first.constant == 0 and not lower.sizes.is_negative(last)):
        span = span.max(0)
    if abs(stride) > 1:
        span = (span + (abs(stride) - 1)) // abs(stride)
    value = lower.graph.iota_value("int64", span)
    made = fresh(value, "int64", [span])
    if stride != 1:
        made = lower.ufuncs.apply(np.multiply, [made, Literal(stride)])
    if first.constant != 0:
        made = lower.ufuncs.apply(np.add, [made, Size(first)])
    return lower.elementwise.cast(made, name)


def python_number(lower: NumpyPart, value: Abstract) -> Literal | Host | Size:
    """A Python number, of a computed double its value."""
    if isinstance(value, Tensor) and value.is_scalar and value.dtype == "float64":
        if value.object is not None:
            return Host(
                lower.graph.leave(lower.arrays.value_of(value), "float"), float(value.object)
            )
    if isinstance(value, Size):
        return value
    if isinstance(value, (Literal, Host)) and type(value.object) in (int, float):
        return value
    raise refuse(reasons.ARANGE, describe(value))


def _arange_of_floats(
    lower: NumpyPart,
    start: Literal | Host | Size,
    stop: Literal | Host | Size,
    step: Literal | Host | Size,
) -> Tensor:
    """The first two are start and start + step, all others start + i * (second - first)."""
    stride = lower.promotion.operand(step, "float64")
    count = _dim_between(lower, [start, stop, step])
    ramp = fresh(lower.graph.iota_value("float64", count), "float64", [count])
    if isinstance(start, Literal) and str(float(start.object)) == "0.0":
        return lower.elementwise.apply(
            "add",
            [_product(lower, ramp, stride), lower.promotion.operand(ZERO, "float64")],
            "float64",
        )
    first = lower.promotion.operand(start, "float64")
    second = lower.elementwise.apply("add", [first, stride], "float64")
    delta = lower.elementwise.apply("sub", [second, first], "float64")
    made = lower.elementwise.apply("add", [_product(lower, ramp, delta), first], "float64")
    for place, element in ((1, second), (0, first)):
        test = lower.ufuncs.apply(np.equal, [ramp, Literal(place)])
        made = lower.elementwise.apply("select", [test, element, made], "float64")
    return made


def _product(lower: NumpyPart, a: Tensor, b: Tensor) -> Tensor:
    return lower.elementwise.apply("mul", [a, b], "float64")


def _dim_between(lower: NumpyPart, numbers: list[Literal | Host | Size]) -> _dvm.Dim:
    if any(math.isinf(getattr(number, "object", 0)) for number in numbers):
        raise refuse(reasons.ARANGE_INFINITE_STEP)
    seen = _elements_between(
        *(
            lower.sizes.observed(number.dim) if isinstance(number, Size) else number.object
            for number in numbers
        )
    )
    if all(isinstance(number, Literal) for number in numbers):
        return lower.graph.size(seen)
    registers = [lower.program.register_of(number) for number in numbers]
    register = lower.program.step("call", lower.program.constant(_elements_between), registers, ())
    return lower.indexing.at_least(lower.indexing.dim_of(Host(register, seen)), lower.graph.size(0))


@means(np.linspace)
def linspace(
    lower: NumpyPart,
    start: Abstract,
    stop: Abstract,
    num: Abstract = Literal(50),
    endpoint: Abstract = Literal(True),
    retstep: Abstract = Literal(False),
    dtype: Abstract = NONE,
    axis: Abstract = ZERO,
) -> Tensor:
    """numpy/_core/function_base.py: y = arange(num) * step + start, the last one exact."""
    if lower.indexing.plain(retstep) or lower.indexing.plain(axis) != 0:
        raise refuse(reasons.LINSPACE_RETSTEP_AXIS)
    for bound in (start, stop):
        bound = resolve(bound)
        if isinstance(bound, Tensor) and bound.rank:
            raise refuse(reasons.LINSPACE_BETWEEN_ARRAYS)
    name = "float64" if is_none(dtype) else lower.ufuncs.dtype_name(dtype)
    if not name.startswith("float"):
        raise refuse(reasons.LINSPACE_INTEGERS)
    count = lower.indexing.dim_of(num)
    if lower.sizes.is_negative(count):
        raise refuse(reasons.LINSPACE_NEGATIVE_NUMBER)
    ends = bool(lower.indexing.plain(endpoint))
    first, last = (lower.promotion.operand(bound, "float64") for bound in (start, stop))
    delta = lower.elementwise.apply("sub", [last, first], "float64")
    parts = count - 1 if ends else count
    ramp = lower.elementwise.cast(
        fresh(lower.graph.iota_value("int64", count), "int64", [count]), "float64"
    )
    if parts.constant is not None and parts.constant <= 0:
        made = lower.elementwise.apply("mul", [ramp, delta], "float64")
    else:
        lower.program.require_positive(parts)
        require_nonzero(lower, delta, start, stop)
        step = lower.elementwise.apply(
            "div", [delta, lower.promotion.operand(Size(parts), "float64")], "float64"
        )
        made = lower.elementwise.apply("mul", [ramp, step], "float64")
    made = lower.elementwise.apply("add", [made, first], "float64")
    if ends and not (count.constant is not None and count.constant < 2):
        final = lower.indexing.index(made, SliceValue(Literal(-1), NONE, NONE))
        lower.writes.write(final, last)
    if name == "float64" and not (parts.constant is not None and parts.constant <= 0):
        return lower.views.reshaped(made, [count])  # NumPy's own is such a view of the ramp
    return lower.elementwise.cast(made, name)


def require_nonzero(lower: NumpyPart, delta: Tensor, start: Abstract, stop: Abstract) -> None:
    """np.linspace takes another way when a step of zero loses the ends: not on this path."""
    ends: list[Any] = [getattr(resolve(bound), "object", None) for bound in (start, stop)]
    equal = None not in ends and float(ends[0]) == float(ends[1])
    equal = equal and np.isfinite(ends[0])  # infinities have no difference
    test = lower.graph.leave(lower.arrays.value_of(delta), "float")
    lower.program.guard("guard_truth", test, not equal)
    if equal:
        raise refuse(reasons.LINSPACE_BETWEEN_EQUAL_NUMBERS)


# ---- triangles and diagonals


@means(np.tri)
def tri(
    lower: NumpyPart,
    N: Abstract,
    M: Abstract = NONE,
    k: Abstract = ZERO,
    dtype: Abstract = Literal(float),
) -> Tensor:
    rows, columns = _sides(lower, N, M)
    if _any_negative(lower, rows, columns):
        raise refuse(reasons.TRIANGLE_NEGATIVE_SIZE)
    return lower.elementwise.cast(_below(lower, rows, columns, k), lower.ufuncs.dtype_name(dtype))


def _sides(lower: NumpyPart, N: Abstract, M: Abstract) -> tuple[_dvm.Dim, _dvm.Dim]:
    """Rows and columns, as many where M is None."""
    rows = lower.indexing.dim_of(N)
    return rows, rows if is_none(M) else lower.indexing.dim_of(M)


def _any_negative(lower: NumpyPart, *sizes: _dvm.Dim) -> bool:
    return any(lower.sizes.is_negative(size) for size in sizes)


def _below(lower: NumpyPart, rows: _dvm.Dim, columns: _dvm.Dim, k: Abstract) -> Tensor:
    """Column <= row + k, as bool."""
    down = fresh(lower.graph.iota_value("int64", rows), "int64", [rows])
    down = lower.indexing.index(down, Sequence([every_element(), NONE]))
    across = fresh(lower.graph.iota_value("int64", columns), "int64", [columns])
    shift = Size(lower.indexing.dim_of(k))
    limit = lower.ufuncs.apply(np.add, [down, shift]) if shift.dim.constant != 0 else down
    return lower.ufuncs.apply(np.less_equal, [across, limit])


@means(np.tril)
def tril(lower: NumpyPart, m: Abstract, k: Abstract = ZERO) -> Tensor:
    x = lower.ufuncs.as_array(m)
    return _triangle(lower, x, _below(lower, *_matrix(x), k))


@means(np.triu)
def triu(lower: NumpyPart, m: Abstract, k: Abstract = ZERO) -> Tensor:
    x = lower.ufuncs.as_array(m)
    below = _below(lower, *_matrix(x), Size(lower.indexing.dim_of(k) - 1))
    return _triangle(lower, x, lower.ufuncs.apply(np.logical_not, [below]))


def _matrix(x: Tensor) -> tuple[_dvm.Dim, _dvm.Dim]:
    if x.rank < 2:
        raise refuse(reasons.TRIANGLE_VECTOR)
    return x.shape[-2], x.shape[-1]


def _triangle(lower: NumpyPart, x: Tensor, mask: Tensor) -> Tensor:
    zero = lower.promotion.operand(Literal(0), x.dtype)
    return lower.elementwise.apply("select", [mask, x, zero], x.dtype)


@means(np.eye)
def eye(
    lower: NumpyPart,
    N: Abstract,
    M: Abstract = NONE,
    k: Abstract = ZERO,
    dtype: Abstract = Literal(float),
) -> Tensor:
    rows, columns = _sides(lower, N, M)
    if _any_negative(lower, rows, columns):
        raise refuse(reasons.IDENTITY_MATRIX_NEGATIVE_SIZE)
    down = fresh(lower.graph.iota_value("int64", rows), "int64", [rows])
    down = lower.ufuncs.apply(np.add, [down, Size(lower.indexing.dim_of(k))])
    across = fresh(lower.graph.iota_value("int64", columns), "int64", [columns])
    on = lower.ufuncs.apply(
        np.equal, [lower.indexing.index(down, Sequence([every_element(), NONE])), across]
    )
    return lower.elementwise.cast(on, lower.ufuncs.dtype_name(dtype))


@means(np.identity)
def identity(lower: NumpyPart, n: Abstract, dtype: Abstract = Literal(float)) -> Tensor:
    return eye(lower, n, dtype=dtype)


@means(np.diag)
def diag(lower: NumpyPart, v: Abstract, k: Abstract = ZERO) -> Tensor:
    x, beside = lower.ufuncs.as_array(v), lower.indexing.integer(k)
    if x.rank == 2:
        return diagonal(lower, x, Literal(beside))
    if x.rank != 1:
        raise refuse(reasons.DIAG_MORE_MATRIX)
    size = x.shape[0]
    across = fresh(lower.graph.iota_value("int64", size), "int64", [size])
    on = lower.ufuncs.apply(
        np.equal, [lower.indexing.index(across, Sequence([every_element(), NONE])), across]
    )
    zero = lower.promotion.operand(Literal(0), x.dtype)
    made = lower.elementwise.apply("select", [on, x, zero], x.dtype, c_order(2))
    if beside == 0:
        return made
    shape = [size + abs(beside)] * 2
    places = [lower.graph.size(max(-beside, 0)), lower.graph.size(max(beside, 0))]
    return placed(
        lower,
        x.dtype,
        shape,
        [(made, places)],
        lower.graph.copy_value(lower.arrays.value_of(zero), shape),
    )


@means(np.diagonal, np.ndarray.diagonal)
def diagonal(
    lower: NumpyPart,
    a: Abstract,
    offset: Abstract = ZERO,
    axis1: Abstract = ZERO,
    axis2: Abstract = ONE,
) -> Tensor:
    """A read-only view of a matrix, whose elements lie one row and one column apart."""
    x, beside = lower.ufuncs.as_array(a), lower.indexing.integer(offset)
    axes = [lower.ufunc_methods.axis(lower.indexing.plain(axis), x.rank) for axis in (axis1, axis2)]
    if x.rank != 2 or axes != [0, 1]:
        raise refuse(reasons.DIAGONAL_MORE_MATRIX)
    rows, columns = x.shape
    down, right = lower.graph.size(max(-beside, 0)), lower.graph.size(max(beside, 0))
    size = lower.indexing.at_least((rows - down).min(columns - right), lower.graph.size(0))

    def view(_value: int) -> int:
        flat = lower.views.reshape_value(lower.layouts.in_c_order(x), [rows * columns])
        step = fresh(lower.graph.iota_value("int64", size), "int64", [size])
        place = lower.ufuncs.apply(np.multiply, [step, Size(columns + 1)])
        place = lower.ufuncs.apply(np.add, [place, Size(down * columns + right)])
        return lower.graph.along_value("gather", [flat, lower.arrays.value_of(place)], 0)

    remake = (np.ndarray.diagonal, [Literal(beside)])
    made = lower.arrays.view_of(x, [size], c_order(1), view, None, remake, contiguous=False)
    made.writeable = False
    return made


@means(np.trace, np.ndarray.trace)
def trace(
    lower: NumpyPart,
    a: Abstract,
    offset: Abstract = ZERO,
    axis1: Abstract = ZERO,
    axis2: Abstract = ONE,
    dtype: Abstract = NONE,
    out: Abstract = NONE,
) -> Abstract:
    line = diagonal(lower, a, offset, axis1, axis2)
    return lower.ufunc_methods.ufunc_reduce(np.add, line, dtype=dtype, out=out)


def placed(
    lower: NumpyPart,
    dtype: str,
    shape: SequenceOf[_dvm.Dim],
    pieces: SequenceOf[tuple[Tensor, SequenceOf[_dvm.Dim]]],
    base: int | None = None,
) -> Tensor:
    """A new array in C order made of pieces, each at its start."""
    value = lower.joining.empty_value(dtype, shape) if base is None else base
    for piece, starts in pieces:
        content = lower.layouts.in_c_order(lower.elementwise.cast(piece, dtype))
        value = lower.updates.update_value(value, content, list(starts), [1] * len(shape))
    return fresh(value, dtype, shape)


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
