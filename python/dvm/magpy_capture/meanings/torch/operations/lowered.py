"""The lowerings that graphs of torch.compile have (dvm.torch), used on the Graph of a path."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from typing import Any

import torch

from dvm import _dvm, reasons
from dvm.magpy_capture.library import DTYPES
from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.meanings.torch.operations.library import NAMES
from dvm.magpy_capture.path.graphs import Graphs
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.values import Abstract, Host, Size, Tensor, resolve
from dvm.torch.builder import Builder, NotCompiled, Number
from dvm.torch.builder import Tensor as Node
from dvm.torch.pointwise import stand_in

Dim = _dvm.Dim | int
Row = Callable[..., Any]
NAMED = {text: name for name, text in DTYPES.items()}


class PathGraph:
    """The Graph of a path as a Builder writes one: an equal node that exists is taken again."""

    def __init__(self, graph: Graphs) -> None:
        self._graph = graph
        self._native = graph.native
        self.shape = graph.native.shape
        self.dtype = graph.native.dtype
        self.size = graph.native.size

    def _sizes(self, shape: SequenceOf[Dim]) -> list[_dvm.Dim]:
        return [self._graph.size(size) for size in shape]

    def constant(self, dtype: str, value: Any) -> int:
        return self._graph.node(
            "constant", (), lambda: self._native.constant(dtype, value), (dtype, repr(value))
        )

    def dim_value(self, dtype: str, dim: _dvm.Dim) -> int:
        return self._graph.dim_value(NAMED[dtype], dim)

    def iota(self, dtype: str, shape: SequenceOf[Dim], axis: int = 0) -> int:
        sizes = self._sizes(shape)
        return self._graph.node(
            "iota", (), lambda: self._native.iota(dtype, sizes, axis), (dtype, axis, *sizes)
        )

    def empty(self, dtype: str, shape: SequenceOf[Dim]) -> int:
        sizes = self._sizes(shape)
        return self._graph.node(
            "empty", (), lambda: self._native.empty(dtype, sizes), (dtype, *sizes)
        )

    def elementwise(self, op: str, nodes: SequenceOf[int]) -> int:
        return self._graph.elementwise_value(op, nodes)

    def cast(self, node: int, dtype: str) -> int:
        return self._graph.cast_value(node, NAMED[dtype])

    def broadcast(self, node: int, shape: SequenceOf[Dim]) -> int:
        return self._graph.copy_value(node, self._sizes(shape))

    def reshape(self, node: int, shape: SequenceOf[Dim]) -> int:
        return self._graph.reshaped_node(node, self._sizes(shape))

    def transpose(self, node: int, axes: SequenceOf[int]) -> int:
        return self._graph.transpose_value(node, axes)

    def slice(
        self, node: int, starts: SequenceOf[Dim], steps: SequenceOf[int], shape: SequenceOf[Dim]
    ) -> int:
        return self._graph.sliced_node(node, self._sizes(starts), steps, self._sizes(shape))

    def update(self, node: int, part: int, starts: SequenceOf[Dim], steps: SequenceOf[int]) -> int:
        sizes = self._sizes(starts)
        return self._graph.node(
            "update",
            (node, part),
            lambda: self._native.update(node, part, sizes, list(steps)),
            (*sizes, *steps),
        )

    def reduce(self, op: str, node: int, axes: SequenceOf[int]) -> int:
        return self._graph.reduce_value(op, node, list(axes))

    def matmul(self, a: int, b: int, dtype: str) -> int:
        return self._graph.matmul_value(a, b, NAMED[dtype])

    def convolve(
        self,
        weights: int,
        x: int,
        dtype: str,
        window: SequenceOf[int],
        steps: SequenceOf[int],
        dilations: SequenceOf[int],
        padding: SequenceOf[int],
    ) -> int:
        numbers = window, steps, dilations, padding
        return self._graph.node(
            "convolve",
            (weights, x),
            lambda: self._native.convolve(weights, x, dtype, *numbers),
            (dtype, *window, *steps, *dilations, *padding),
        )

    def along(self, op: str, nodes: SequenceOf[int], axis: int, combined_by: str = "") -> int:
        return self._graph.along_value(op, nodes, axis, combined_by)

    def attention(self, nodes: SequenceOf[int], scale: float, causal: int | None) -> int:
        return self._graph.node(
            "attention",
            nodes,
            lambda: self._native.attention(list(nodes), scale, causal=causal),
            (scale, causal),
        )


def builder_of(lower: TorchPart) -> Builder:
    tensors = lower.torch_tensors
    if tensors.builder is None:
        graph: Any = PathGraph(lower.graph)
        symbols: Any = None  # sizes are those of the path
        tensors.builder = Builder(graph, symbols, has_exact_products=True)
    builder: Builder = tensors.builder
    return builder


def sized(shape: SequenceOf[_dvm.Dim]) -> tuple[Dim, ...]:
    """Sizes as a Builder has them: numbers where they are constant."""
    return tuple(dim if (size := dim.constant) is None else size for dim in shape)


def tensor(lower: TorchPart, value: Abstract) -> Tensor:
    """What a function takes for a tensor."""
    x = resolve(value)
    if not isinstance(x, Tensor):
        raise refuse(reasons.TORCH_FORM, "a function of torch", describe(x))
    return x


def node_of(lower: TorchPart, t: Tensor, order: Order | None = None) -> Node:
    """A tensor's content, with its axes in that order (C order by default)."""
    order = c_order(t.rank) if order is None else order
    return builder_of(lower).wrap(lower.layouts.arranged(t, order))


def number_of(lower: TorchPart, value: Abstract, dtype: str = "") -> Any:
    """A number of Python's as a Builder has it.

    dtype: into which it goes.
    """
    number = lower.torch_tensors.number(value)
    number = lower.torch_tensors.fitting(number, dtype)
    if isinstance(number, Size):
        return number.dim
    if not isinstance(number, Host):
        return number
    if type(number.object) is bool:
        as_number = lower.program.constant(int)
        made = lower.program.step("call", as_number, [number.register], ())
        return lower.sizes.size_of_int(made, int(number.object))
    if type(number.object) is int:
        return lower.indexing.dim_of(number)
    value_of = lower.graph.scalar_value("float64", number.register)
    return Number(builder_of(lower).wrap(value_of))


def lowered(
    lower: TorchPart,
    row: Row,
    expected: SequenceOf[tuple[Any, SequenceOf[_dvm.Dim]]],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """What a row makes of its arguments: nodes.

    expected: dtypes (torch's) and shapes of the results.
    """
    builder = builder_of(lower)
    builder.expected = [Node(-1, DTYPES[NAMES[dtype]], sized(shape)) for dtype, shape in expected]
    builder.used = frozenset({0})
    try:
        return row(builder, *args, **kwargs)
    except NotCompiled as error:
        raise refuse(reasons.TORCH_FORM, "a function of torch", error) from None


def arranged(lower: TorchPart, node: Node, order: Order) -> Tensor:
    """A new tensor of the program whose axes lie in that order, of a node in C order."""
    return result(lower, builder_of(lower).transpose(node, order), order)


def result(lower: TorchPart, node: Node, order: Order | None = None) -> Tensor:
    """A new tensor of the program with that content, whose axes are in that order."""
    stored = lower.graph.shape(node.node)
    shape = list(stored)
    for place, axis in enumerate(order or ()):
        shape[axis] = stored[place]
    return lower.torch_tensors.made(node.node, NAMED[node.dtype], shape, order)


def pointwise(
    lower: TorchPart,
    row: Row,
    seen: Any,
    *operands: Abstract,
    order: Order | None = None,
    **kwargs: Any,
) -> Tensor:
    """An elementwise op of tensors and numbers, which are broadcast.

    seen: what it gave; None of a sum in C code, which has the dtype that its operands promote to.
    order: of the axes of its result, if its operands do not decide it.
    """
    given = [resolve(operand) for operand in operands]
    tensors = [each for each in given if isinstance(each, Tensor)]
    if not tensors:
        raise refuse(reasons.TORCH_FORM, "arithmetic", "no tensor at all")
    shape = lower.elementwise.common_shape(tensors)
    is_told = order is not None
    order = lower.torch_rules.result_order(tensors, len(shape)) if order is None else order
    computed = next((t.dtype for t in tensors if t.dtype != "bool"), "bool")
    args = [
        node_of(lower, each, order)
        if isinstance(each, Tensor)
        else number_of(lower, each, computed)
        for each in given
    ]
    stored = [shape[axis] for axis in order]
    examples = [stand_in(each) for each in args]
    dtype = torch.result_type(examples[0], examples[-1]) if seen is None else seen.dtype
    made = lowered(lower, row, [(dtype, stored)], *args, **kwargs)
    if made.shape != sized(stored):
        made = builder_of(lower).broadcast(made, sized(stored))
    laid = result(lower, made, order)
    if not is_told:
        laid.strides = lower.torch_strides.of_elementwise(tensors, shape, order)
    return laid


__all__ = [
    "Row",
    "arranged",
    "builder_of",
    "lowered",
    "node_of",
    "number_of",
    "pointwise",
    "result",
    "sized",
    "tensor",
]
