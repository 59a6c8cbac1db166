"""Tensors of a Graph under construction, and what makes them: what every door writes graphs in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dvm import _dvm

#: a number where it is constant
Size = _dvm.Dim | int
HALVES = frozenset({"f16", "bf16"})
FLOATS = HALVES | {"f32", "f64"}
NUMPY_DTYPES = {spelling: np.dtype(name) for name, spelling in _dvm.dtype_table}


class NotCompiled(Exception):
    """Raised by a lowering for arguments that it has no composition for."""


class Tensor(NamedTuple):
    """A node of the Graph with its type."""

    node: int
    dtype: str
    shape: tuple[Size, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS


@dataclass(frozen=True)
class Number:
    """A number that the graph computes, as a tensor of rank 0 in f64."""

    tensor: Tensor


def wide_dtype(dtype: str) -> str:
    """The dtype in which torch computes with elements of a dtype: of halves f32."""
    return "f32" if dtype in HALVES else dtype


def is_same(a: Size, b: Size) -> bool:
    return a is b or (a == b if isinstance(a, int) and isinstance(b, int) else str(a) == str(b))


def _has_as_many(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Whether shapes are known to have as many elements."""
    numbers = [[size for size in shape if isinstance(size, int)] for shape in (a, b)]
    symbols = [[size for size in shape if not isinstance(size, int)] for shape in (a, b)]
    return is_same_shape(*symbols) and math.prod(numbers[0]) == math.prod(numbers[1])


def is_same_shape(a: Sequence[Size], b: Sequence[Size]) -> bool:
    return len(a) == len(b) and all(map(is_same, a, b))


class Builder:
    """A Graph under construction."""

    def __init__(self, graph: _dvm.Graph) -> None:
        self.graph = graph
        self._wrapped: dict[int, Tensor] = {}
        self._constants: dict[tuple[str, str], int] = {}
        self._reshaped: dict[int, Tensor] = {}  # what nodes are other shapes of
        self._repeated: dict[int, Tensor] = {}  # what nodes are broadcast from
        self._transposed: dict[int, tuple[Tensor, list[int]]] = {}  # of what, and which axes

    def wrap(self, node: int) -> Tensor:
        if (known := self._wrapped.get(node)) is None:
            dims = self.graph.shape(node)
            shape = [dim if (size := dim.constant) is None else size for dim in dims]
            known = self._wrapped[node] = Tensor(node, self.graph.dtype(node), tuple(shape))
        return known

    # Sources

    def constant(self, value: Any, dtype: str, shape: Sequence[Size] = ()) -> Tensor:
        """Return a tensor of one value, which is rounded to the dtype."""
        key = (repr(value), dtype)
        if key not in self._constants:
            self._constants[key] = self.graph.constant(dtype, self._rounded(value, dtype))
        return self.broadcast(Tensor(self._constants[key], dtype, ()), shape)

    def _rounded(self, value: Any, dtype: str) -> Any:
        """Return a number as an element of that dtype has it; the Graph rounds bf16 itself."""
        if dtype in FLOATS:
            return float(value if dtype == "bf16" else NUMPY_DTYPES[dtype].type(value))
        return int(np.asarray(value).astype(NUMPY_DTYPES[dtype]))

    def number(self, value: Any, dtype: str, shape: Sequence[Size] = ()) -> Tensor:
        """Return a tensor of one number of the program, which may be a size or computed of them."""
        if isinstance(value, Number):
            return self.broadcast(self.cast(value.tensor, dtype), shape)
        if not isinstance(value, _dvm.Dim):
            return self.constant(value, dtype, shape)
        if (constant := value.constant) is not None:
            return self.constant(constant, dtype, shape)
        size = self.wrap(self.graph.dim_value("i64", value))
        return self.broadcast(self.cast(size, dtype), shape)

    def iota(self, dtype: str, shape: Sequence[Size], axis: int = 0) -> Tensor:
        return self.wrap(self.graph.iota(dtype, shape, axis))

    # Elementwise

    def elementwise(self, op: str, *tensors: Tensor) -> Tensor:
        return self.wrap(self.graph.elementwise(op, [t.node for t in tensors]))

    def __getattr__(self, op: str) -> Callable[..., Tensor]:
        """An op of the Graph by its name, `b.maximum(x, y)`; numbers are in the others' dtype."""
        if op.startswith("_"):
            raise AttributeError(op)

        def apply(*operands: Any) -> Tensor:
            like = [t for t in operands if isinstance(t, Tensor)][-1]
            return self.elementwise(
                op,
                *[
                    t if isinstance(t, Tensor) else self.number(t, like.dtype, like.shape)
                    for t in operands
                ],
            )

        return apply

    def cast(self, t: Tensor, dtype: str) -> Tensor:
        if t.dtype == dtype:
            return t
        if dtype == "bool":
            return self.elementwise("ne", t, self.constant(0, t.dtype, t.shape))
        return self.wrap(self.graph.cast(t.node, dtype))

    def wide(self, t: Tensor) -> Tensor:
        """Return a half as torch computes with it, in f32; others as they are."""
        return self.cast(t, wide_dtype(t.dtype))

    # Shapes

    def broadcast(self, t: Tensor, shape: Sequence[Size]) -> Tensor:
        if is_same_shape(t.shape, shape):
            return t
        made = self.wrap(self.graph.broadcast(t.node, list(shape)))
        self._repeated[made.node] = t
        return made

    def before_broadcast(self, t: Tensor, axes: Sequence[int]) -> Tensor:
        """What is repeated along axes, which have size 1 in it."""
        source = self._repeated.get(t.node, t)
        shape = [1 if i in axes else size for i, size in enumerate(t.shape)]
        return source if is_same_shape(source.shape, shape) else self.slice(t, [0] * t.rank, shape)

    def reshape(self, t: Tensor, shape: Sequence[Size]) -> Tensor:
        source = self.before_reshape(t)
        if is_same_shape(source.shape, shape):
            return source
        one = self._repeated.get(source.node, source)
        if one.rank == 0 and _has_as_many(source.shape, shape):
            return self.broadcast(one, shape)  # which kernels need no array for
        made = self.wrap(self.graph.reshape(source.node, list(shape)))
        self._reshaped[made.node] = source
        return made

    def before_reshape(self, t: Tensor) -> Tensor:
        return self._reshaped.get(t.node, t)

    def transpose(self, t: Tensor, axes: Sequence[int]) -> Tensor:
        source, before = self._transposed.get(t.node, (t, list(range(t.rank))))
        axes = [before[axis] for axis in axes]
        if axes == list(range(t.rank)):
            return source
        made = self.wrap(self.graph.transpose(source.node, axes))
        self._transposed[made.node] = source, axes
        return made

    def slice(
        self,
        t: Tensor,
        starts: Sequence[Size],
        shape: Sequence[Size],
        steps: Sequence[int] | None = None,
    ) -> Tensor:
        steps = steps or [1] * t.rank
        return self.wrap(self.graph.slice(t.node, list(starts), list(steps), list(shape)))

    def update(
        self, t: Tensor, part: Tensor, starts: Sequence[Size], steps: Sequence[int] | None = None
    ) -> Tensor:
        """Return `t` but for a box, which is `part`."""
        steps = steps or [1] * t.rank
        return self.wrap(self.graph.update(t.node, part.node, list(starts), list(steps)))

    def narrow(self, t: Tensor, axis: int, start: Size, extent: Size) -> Tensor:
        starts: list[Size] = [0] * t.rank
        shape = list(t.shape)
        starts[axis], shape[axis] = start, extent
        return self.slice(t, starts, shape)

    def unsqueeze(self, t: Tensor, axis: int) -> Tensor:
        return self.reshape(t, [*t.shape[:axis], 1, *t.shape[axis:]])

    def squeeze(self, t: Tensor, axes: Sequence[int]) -> Tensor:
        return self.reshape(t, [size for i, size in enumerate(t.shape) if i not in axes])

    # Reductions and products

    def reduce(self, op: str, t: Tensor, axes: Sequence[int]) -> Tensor:
        """Reduce over any axes, which stay as size 1: neighbours at once."""
        axes, node = sorted(axes), t.node
        while axes:
            run = [axes.pop()]
            while axes and axes[-1] == run[0] - 1:
                run.insert(0, axes.pop())
            node = self.graph.reduce(op, node, run)
        return self.wrap(node)

    def count(self, t: Tensor, axes: Sequence[int]) -> Size:
        """How many elements each result of a reduction is made of."""
        count: Size = 1
        for axis in axes:
            count = t.shape[axis] * count
        return count

    def mean(self, t: Tensor, axes: Sequence[int]) -> Tensor:
        total = self.reduce("sum", t, axes)
        return self.div(total, self.number(self.count(t, axes), t.dtype, total.shape))

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """Products of matrices in one dtype, added up in f32 where they are halves."""
        return self.wrap(self.graph.matmul(a.node, b.node, a.dtype))

    def convolve(
        self,
        weights: Tensor,
        x: Tensor,
        dtype: str,
        window: Sequence[Any],
        steps: Sequence[int],
        dilations: Sequence[int],
        padding: Sequence[int],
    ) -> Tensor:
        """Products of matrices with windows of an array; padding before all axes, then behind."""
        node = self.graph.convolve(
            weights.node, x.node, dtype, list(window), list(steps), list(dilations), list(padding)
        )
        return self.wrap(node)

    def along(self, op: str, tensors: Sequence[Tensor], axis: int, with_op: str = "") -> Tensor:
        return self.wrap(self.graph.along(op, [t.node for t in tensors], axis, with_op))
