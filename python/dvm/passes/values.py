"""Values of a graph that a replacement is written with."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.building.builder import FLOATS, NUMPY_DTYPES, Builder, Size, Tensor, is_same, is_same_shape
from dvm.passes.operands import Axes, Operand, axes_of
from dvm.passes.terms import Near

MOST_ELEMENTS = 1024  # of an array that a graph has the elements of
_BITS = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


class Value(Operand):
    """A value of a graph, with its dtype and shape. Sizes are numbers, or expressions.

    is_number: whether it is a number of the program's, which takes the dtype of what it is computed
        with, as a number that is written down does.
    """

    def __init__(self, builder: Builder, tensor: Tensor, is_number: bool = False) -> None:
        self._builder = builder
        self._tensor = tensor
        self._is_number = is_number

    @property
    def node(self) -> int:
        """Its number in the graph."""
        return self._tensor.node

    @property
    def dtype(self) -> str:
        """Such as "f32"."""
        return self._tensor.dtype

    @property
    def shape(self) -> tuple[Size, ...]:
        """Its sizes."""
        return self._tensor.shape

    @property
    def graph(self) -> _dvm.Graph:
        """The graph it is of."""
        return self._builder.graph

    def apply(self, op: str, *operands: Any) -> Value:
        """See Operand; operands repeat as in NumPy, floats are those of the widest.

        Numbers and arrays are constants of the values' dtype.
        """
        given = [operand for operand in operands if isinstance(operand, Value)]
        for value in given:
            if value.graph is not self.graph:
                raise ValueError(f"{value!r} is of another graph: a replacement keeps no values")
        typed = [value for value in given if not value._is_number]
        chosen = [v for v in typed or given if not (op == "select" and v is operands[0])]
        dtype = _common({value.dtype for value in chosen}, op)
        tensors: list[Tensor] = []
        shape: tuple[Size, ...] = ()
        for k, operand in enumerate(operands):
            wanted = dtype
            if op == "select" and k == 0:
                wanted = operand.dtype if isinstance(operand, Value) else "bool"
            tensors.append(_tensor(self._builder, operand, wanted))
            shape = _broadcast(shape, tensors[-1].shape)
        spread = [self._builder.broadcast(tensor, shape) for tensor in tensors]
        made = self._builder.elementwise(op, *spread)
        return Value(self._builder, made, is_number=not typed and made.dtype == dtype)

    def _axis(self, axis: int) -> int:
        if not -self.rank <= axis < self.rank:
            raise IndexError(f"axis {axis} of a value of {self.rank} axes")
        return axis % self.rank

    def reduce(self, op: str, axis: Axes) -> Value:
        """See Operand."""
        axes = [self._axis(a) for a in axes_of(axis)]
        return self._made(self._builder.reduce(op, self._tensor, axes))

    def mean(self, axis: Axes = -1) -> Value:
        """See Operand."""
        axes = [self._axis(a) for a in axes_of(axis)]
        return self._made(self._builder.mean(self._tensor, axes))

    def split(self, parts: int, axis: int = -1) -> list[Value]:
        """See Operand; the last part has what is left."""
        axis = self._axis(axis)
        whole = self.shape[axis]
        each = whole // parts
        made = []
        for k in range(parts):
            start = each * k
            size = whole - start if k + 1 == parts else each
            made.append(self._made(self._builder.narrow(self._tensor, axis, start, size)))
        return made

    def join(self, *others: Value, axis: int = -1) -> Value:
        """See Operand; other axes repeat as in NumPy."""
        axis = self._axis(axis)
        parts = [self, *others]
        shape: tuple[Size, ...] = ()
        for part in parts:
            shape = _broadcast(shape, [1 if k == axis else n for k, n in enumerate(part.shape)])
        total: Size = 0
        for part in parts:
            total = part.shape[axis] + total
        whole = [total if k == axis else size for k, size in enumerate(shape)]
        b = self._builder
        made = b.wrap(b.graph.empty(self.dtype, whole))
        at: Size = 0
        for part in parts:
            sizes = [part.shape[axis] if k == axis else size for k, size in enumerate(shape)]
            starts: list[Size] = [0] * len(shape)
            starts[axis] = at
            cast = b.cast(part._tensor, self.dtype)
            made = b.update(made, b.broadcast(cast, sizes), starts)
            at = part.shape[axis] + at
        return self._made(made)

    def transpose(self, *axes: int) -> Value:
        """See Operand."""
        return self._made(self._builder.transpose(self._tensor, axes))

    def reshape(self, *shape: Size) -> Value:
        """The same elements in another shape."""
        return self._made(self._builder.reshape(self._tensor, shape))

    def flip(self, axis: int) -> Value:
        """The elements along an axis in the other order."""
        axis = self._axis(axis)
        starts: list[Size] = [0] * self.rank
        steps = [1] * self.rank
        starts[axis], steps[axis] = self.shape[axis] - 1, -1
        return self._made(self._builder.slice(self._tensor, starts, self.shape, steps))

    def array(self, values: Any) -> Value:
        """A constant of a few elements, in the dtype of this value."""
        return constant(self._builder, values, self.dtype)

    def like(self, other: Value) -> Value:
        """The same elements, repeated to the shape of another value.

        Where nobody knows whether sizes fit, each call checks it; one for which they do not runs
        the program as it was, or is an error of a graph's.
        """
        return self._made(self._builder.broadcast(self._tensor, other.shape))

    def cast(self, dtype: str) -> Value:
        """The same values in another dtype, such as "f32"."""
        return self._made(self._builder.cast(self._tensor, dtype))

    def either(self, *_forms: Value) -> Value:
        """See Operand."""
        return self

    def __matmul__(self, other: Value) -> Value:
        """Products of matrices, of one dtype; leading axes repeat as in NumPy."""
        b, dtype = self._builder, _common({self.dtype, other.dtype}, "matmul")
        batch = _broadcast(self.shape[:-2], other.shape[:-2])
        left = b.broadcast(b.cast(self._tensor, dtype), (*batch, *self.shape[-2:]))
        right = b.broadcast(b.cast(other._tensor, dtype), (*batch, *other.shape[-2:]))
        return self._made(b.matmul(left, right))

    def __pow__(self, exponent: Any) -> Value:
        if exponent not in (2, 3, 4) or isinstance(exponent, Value):
            return self.apply("power", self, exponent)
        product = self
        for _ in range(int(exponent) - 1):
            product = product * self
        return product

    @property
    def rank(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    def _made(self, tensor: Tensor) -> Value:
        return Value(self._builder, tensor)

    def __repr__(self) -> str:
        return f"<%{self.node} {self.dtype}[{', '.join(map(str, self.shape))}]>"


def node_for(value: Any, builder: Builder, dtype: str) -> int:
    """What stands for a match: a value of the graph, or a constant in the dtype of the match."""
    if isinstance(value, numbers.Real | np.ndarray | np.generic):
        value = constant(builder, value, dtype)
    if not isinstance(value, Value):
        raise TypeError(f"a replacement is a value of the graph or a constant, not {value!r:.60}")
    if value.graph is not builder.graph:
        raise ValueError(f"{value!r} is of another graph: a replacement keeps no values")
    return value.node


def constant(builder: Builder, values: Any, dtype: str) -> Value:
    """A number, or an array of a few elements, rounded to a dtype."""
    return Value(builder, _tensor(builder, values, dtype))


def _tensor(builder: Builder, operand: Any, dtype: str) -> Tensor:
    """A value, number or array in that dtype."""
    if isinstance(operand, Value):
        return builder.cast(operand._tensor, dtype)
    number = operand.value if isinstance(operand, Near) else operand
    if not np.ndim(number):
        return builder.number(number, dtype)
    elements = np.asarray(number)
    if elements.size > MOST_ELEMENTS:
        raise ValueError(
            f"an array of {elements.size} elements in a replacement, of at most {MOST_ELEMENTS}: "
            "give it to the function, and make it a variable of the pattern"
        )
    kept = "f32" if dtype == "bf16" else dtype  # NumPy has no bf16
    made = builder.graph.tensor(kept, elements.astype(NUMPY_DTYPES[kept]))
    return builder.cast(builder.wrap(made), dtype)


def _common(dtypes: set[str], op: str) -> str:
    if len(dtypes) == 1:
        return next(iter(dtypes))
    if dtypes <= FLOATS:
        widest = max(_BITS[dtype] for dtype in dtypes)
        found = {dtype for dtype in dtypes if _BITS[dtype] == widest}
        if len(found) == 1:
            return found.pop()
    raise TypeError(f"{op} of {' and '.join(sorted(dtypes))}: cast the operands to one dtype")


def _broadcast(a: Sequence[Size], b: Sequence[Size]) -> tuple[Size, ...]:
    """The shape that NumPy repeats both to."""
    if is_same_shape(a, b):
        return tuple(a)
    if len(a) < len(b):
        a, b = b, a
    made = list(a)
    for k, size in enumerate(b, len(a) - len(b)):
        if is_same(made[k], size) or is_same(size, 1):
            continue
        if is_same(made[k], 1):
            made[k] = size
        elif isinstance(made[k], int) and isinstance(size, int):
            raise ValueError(f"shapes {list(a)} and {list(b)} do not go together")
        else:
            known, other = (size, made[k]) if isinstance(made[k], int) else (made[k], size)
            made[k] = known.bcast(other)  # type: ignore[union-attr]
    return tuple(made)
