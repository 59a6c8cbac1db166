"""Graphs that are compiled and called without capture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.compiling import Options


class CompiledGraph:
    """A graph compiled for a target; call it on arrays and numbers.

    graph: its text (docs/graphs.md).
    target: a name that `python -m dvm env` lists.
    numerics, precision: as `dvm.Options` has them.
    functions: what the graph calls, by name; they take arrays, sizes and numbers, and give arrays
        or write them into `out`.
    constants: the graph's tensors that have a name, by that name: arrays, or what NumPy reads as
        such (tensors of PyTorch). They are not copied: what they hold when the graph is called is
        what it computes with.

    Raises FormatError or GraphError for a text that is no graph, UnsupportedError for an unknown
    target, numerics or precision, or a missing function or constant, ShapeError for a constant of
    another type; when called, ShapeError for arguments that the graph does not take, HostCallError
    for a function whose result is not what the graph says.
    """

    def __init__(
        self,
        graph: str | _dvm.Graph,
        *,
        target: str = "cpu",
        numerics: str = "default",
        precision: str = "highest",
        functions: Mapping[str, Callable[..., Any]] | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(graph, (str, _dvm.Graph)):
            raise TypeError(f"a graph is a text, not {type(graph).__name__}")
        Options(target, numerics, precision)  # refuses what there is not
        self._given: dict[str, Any] = {
            "graph": graph,
            "numerics": numerics,
            "precision": precision,
            "functions": dict(functions or {}),
            "constants": dict(constants or {}),
        }
        self._compiled = _dvm.CompiledGraph(target=target, **self._given)

    def __call__(self, *arguments: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """The results of the graph, for its inputs and scalars in their order."""
        return self._compiled(*arguments)

    @property
    def plan(self) -> str:
        """The host program that the graph became."""
        return self._compiled.plan

    @property
    def target(self) -> str:
        """What it runs on."""
        return self._compiled.target

    def native(self, target: str) -> _dvm.CompiledGraph:
        """Its native half, or that of the same graph for another target."""
        if target == self.target:
            return self._compiled
        return _dvm.CompiledGraph(target=target, **self._given)

    def __repr__(self) -> str:
        return f"<dvm.CompiledGraph target={self.target}>"
