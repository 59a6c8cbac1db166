"""Calls of functions that the user has written in operations of the graph: dvm.annotate(op=...)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dvm import reasons
from dvm.building.builder import Builder
from dvm.magpy_capture.libraries import is_array, library_of
from dvm.magpy_capture.library import DTYPES
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import fresh
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    Literal,
    Named,
    Sequence,
    Size,
    Tensor,
    resolve,
)
from dvm.magpy_capture.values.kinds import name_of
from dvm.passes.values import Value, node_for


class GraphBodies(PythonPart):
    """Writes such a function into the graph in place of a call."""

    needs = "graph layouts program sizes"

    def graph_call(
        self,
        function: Any,
        op: Callable[..., Any],
        positional: list[Abstract],
        named: Named,
        seen: Any,
    ) -> Tensor:
        """What the op makes of the arguments: one new array."""
        name, graph = name_of(function), self.graph.native
        if not is_array(seen):
            raise refuse(
                reasons.ANNOTATED_OP, name, f"is for arrays: it gives {type(seen).__name__}"
            )
        builder, library = Builder(graph), library_of(seen)
        given = [self._given(builder, name, value) for value in positional]
        by_name = {key: self._given(builder, name, value) for key, value in named.items()}
        first = len(graph)
        try:
            node = node_for(op(*given, **by_name), builder, DTYPES[library.dtype_of(seen)])
        except Exception as error:
            raise refuse(
                reasons.ANNOTATED_OP, name, f"raises {type(error).__name__}: {error}"
            ) from error
        graph.locate(first, self.program.at)
        self.graph.adopt(first)
        spelled, shape = self.graph.dtype(node), self.graph.shape(node)
        dtype = next(name for name, spelling in DTYPES.items() if spelling == spelled)
        made = dtype, tuple(map(self.sizes.observed, shape))
        wanted = library.dtype_of(seen), tuple(seen.shape)
        if made != wanted:
            what = "gives {}{} where the function gives {}{}".format(*made, *wanted)
            raise refuse(reasons.ANNOTATED_OP, name, what)
        order = library.layout(seen)[1]
        value = self.graph.copy_value(self.graph.transpose_value(node, order))
        return fresh(value, dtype, shape, order, library=library)

    def _given(self, builder: Builder, name: str, value: Abstract) -> Any:
        """A value of the graph, a number, a size, or what is the same in each call of the path."""
        value = resolve(value)
        if isinstance(value, Tensor):
            return Value(builder, builder.wrap(self.layouts.in_c_order(value)))
        if isinstance(value, Literal):
            return value.object
        if isinstance(value, Size):
            return value.dim
        if isinstance(value, Host) and type(value.object) is int:
            return self.sizes.dim_of_int(value.register, value.object)
        if isinstance(value, Host) and type(value.object) is float:
            node = self.graph.scalar_value("float64", value.register)
            return Value(builder, builder.wrap(node), is_number=True)
        if isinstance(value, Sequence) and value.cls is tuple:
            return tuple(self._given(builder, name, part) for part in value.elements)
        raise refuse(reasons.ANNOTATED_OP, name, f"is given {describe(value)}")


__all__ = ["GraphBodies"]
