"""When pending operations are computed, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dvm import _dvm

__all__ = ["Flush", "flush", "last_flush"]


def flush() -> None:
    """Compute what is pending in this thread, and what the program still has."""
    _dvm.lazy_flush("flush()")


@dataclass(frozen=True)
class Flush:
    """What was computed at once.

    reason: what needed a value.
    operations: how many there were, and `kernels`: what they were fused into.
    sizes: those of the axes, for the symbols s0, s1, ... of the graph.
    graph, plan: its operations, and the host program that they became.
    """

    reason: str
    operations: int
    kernels: int
    sizes: tuple[int, ...]
    graph: str = field(repr=False)
    plan: str = field(repr=False)
    decisions: tuple[str, ...] = field(repr=False)

    def __str__(self) -> str:
        sizes = ", ".join(f"s{k} = {size}" for k, size in enumerate(self.sizes))
        lines = [
            f"computed because of: {self.reason}",
            f"operations           {self.operations}, in {self.kernels} kernels",
            f"sizes                {sizes or 'none'}",
            *(f"  {decision}" for decision in self.decisions),
            self.graph,
        ]
        return "\n".join(lines)


def last_flush() -> Flush | None:
    """Return what this thread computed last, or None."""
    told: Any = _dvm.lazy_last_flush()
    if told is None:
        return None
    nodes = [line for line in told["graph"].splitlines() if line.lstrip().startswith("%")]
    sources = ("input", "scalar", "broadcast", "reshape")
    return Flush(
        reason=told["reason"],
        operations=sum(not line.split(" = ")[1].startswith(sources) for line in nodes),
        kernels=told["kernels"],
        sizes=tuple(told["sizes"]),
        graph=told["graph"],
        plan=told["plan"],
        decisions=tuple(f"{d['verdict']}: {d['reason']}" for d in told["decisions"]),
    )
