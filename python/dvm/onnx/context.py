"""What rows of operators are given: the Graph under construction, and the node at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import GraphProto, NodeProto

from dvm import _dvm
from dvm.building.builder import Builder, Size, Tensor, is_same
from dvm.onnx.values import Known, Needs, Refused, Value, symbols_of

if TYPE_CHECKING:
    from dvm.onnx.importer import Importer


class Context:
    """One node of a model, and the Graph that it is to become part of."""

    def __init__(
        self, importer: Importer, node: NodeProto, version: int, names: dict[str, Value]
    ) -> None:
        self.importer = importer
        self.b: Builder = importer.b
        self.node = node
        self.version = version
        self.names = names

    def wants(self, index: int) -> bool:
        """Whether the model uses a result."""
        return index < len(self.node.output) and bool(self.node.output[index])

    # Values

    def tensor(self, value: Value) -> Tensor:
        return self.importer.tensor(value)

    def structure(self, value: Value) -> np.ndarray[Any, Any]:
        """Return the elements of what decides which nodes there are."""
        why = "structure"
        if isinstance(value, Tensor):
            raise self.importer.needs_value_of(value, why, sizes=False)
        if not isinstance(value, Known):
            raise Refused("a sequence where an array is needed")
        if value.is_symbolic:
            return np.array(
                [self.fixed(size) for size in value.array.reshape(-1)], np.int64
            ).reshape(value.shape)
        return value.array

    def sizes(self, value: Value) -> np.ndarray[Any, Any]:
        """Return elements that may be sizes, then in an array of objects."""
        if isinstance(value, Tensor):
            raise self.importer.needs_value_of(value, "sizes", sizes=True)
        if not isinstance(value, Known):
            raise Refused("a sequence where an array is needed")
        return value.array

    def fixed(self, size: Any) -> int:
        """Return a size as a number; the model is imported for each, where calls tell it."""
        if isinstance(size, _dvm.Dim):
            if size.constant is not None:
                return size.constant
            raise Needs("a size that decides what is computed", symbols=symbols_of(size))
        return int(size)

    # Shapes

    def broadcast_shape(self, *shapes: Sequence[Size]) -> list[Size]:
        """Return the shape that all are broadcast to, by the rules of NumPy."""
        rank = max(map(len, shapes))
        padded: list[list[Size]] = [[*[1] * (rank - len(s)), *s] for s in shapes]
        return [self._joint(sizes) for sizes in zip(*padded, strict=True)]

    @staticmethod
    def _joint(sizes: Sequence[Size]) -> Size:
        joint: Size = 1
        for size in sizes:
            if (isinstance(size, int) and size == 1) or is_same(size, joint):
                continue
            if isinstance(joint, int):
                # A symbol beside a number other than 1 has to be that number or 1.
                joint = size if joint == 1 or (isinstance(size, int) and size != 1) else joint
            elif isinstance(size, int):
                joint = size
            else:
                joint = joint.bcast(size)
        return joint

    def together(self, *tensors: Tensor) -> list[Tensor]:
        """Return tensors broadcast to one shape."""
        shape = self.broadcast_shape(*(t.shape for t in tensors))
        return [self.b.broadcast(t, shape) for t in tensors]

    def axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < max(rank, 1):
            raise Refused(f"axis {axis} of an array of rank {rank}")
        return int(axis) + rank if axis < 0 else int(axis)

    def axes(self, axes: Any, rank: int) -> list[int]:
        """Return axes counted from the front, ascending; all where there are none given."""
        if axes is None:
            return list(range(rank))
        return sorted(self.axis(int(axis), rank) for axis in np.asarray(axes).reshape(-1))

    def dim(self, size: Size) -> _dvm.Dim:
        return self.b.graph.size(size) if isinstance(size, int) else size

    def least(self, a: Size, b: Size) -> Size:
        return min(a, b) if isinstance(a, int) and isinstance(b, int) else self.dim(a).min(b)

    def most(self, a: Size, b: Size) -> Size:
        return max(a, b) if isinstance(a, int) and isinstance(b, int) else self.dim(a).max(b)

    # The host, and bodies

    def host(
        self,
        name: str,
        function: Callable[..., Any],
        operands: Sequence[Tensor],
        results: Sequence[tuple[str, Sequence[Size]]],
    ) -> list[Tensor]:
        """Call a function of NumPy's on arrays, and count it; unknown sizes are fresh symbols."""
        shared = self.importer.shared
        callee = f"{name}_{len(shared.host)}"
        shared.host[callee] = function
        shared.host_calls[name] = shared.host_calls.get(name, 0) + 1
        return self._called(callee, operands, results)

    def own(
        self,
        name: str,
        operands: Sequence[Tensor],
        results: Sequence[tuple[str, Sequence[Size]]],
        numbers: Sequence[Size],
    ) -> list[Tensor]:
        """Call a function that dvm's runtime has (cpp/runtime/functions); files have it, too."""
        return self._called(f"dvm.{name}", operands, results, numbers)

    def _called(
        self,
        callee: str,
        operands: Sequence[Tensor],
        results: Sequence[tuple[str, Sequence[Size]]],
        numbers: Sequence[Size] = (),
    ) -> list[Tensor]:
        (dtype, shape), *others = results
        graph = self.b.graph
        first = graph.call(
            callee, [t.node for t in operands], dtype, list(shape), results=len(results),
            sizes=list(numbers), fresh=True,
        )  # fmt: skip
        made = [self.b.wrap(first)]
        for k, (dtype, shape) in enumerate(others):
            made.append(self.b.wrap(graph.result(first, k + 1, dtype, list(shape))))
        return made

    def unknown_size(self) -> _dvm.Dim:
        return self.importer.shared.fresh_symbol(self.b.graph, "u")

    def body(
        self, graph: GraphProto, names: dict[str, Value], into: _dvm.Graph
    ) -> tuple[list[Value], Importer]:
        """Import a graph into another Graph; `names` are its inputs, and what it sees."""
        from dvm.onnx.importer import Importer

        importer = self.importer
        inner = Importer(importer.shared, into, importer.opsets, importer.depth + 1)
        return inner.run(graph, names), inner
