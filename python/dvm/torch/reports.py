"""What the graphs of torch became, how often they ran, and how long what torch computes took."""

from __future__ import annotations

import itertools
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dvm import _dvm
from dvm.torch import aten

_numbers = itertools.count()


@dataclass(eq=False)
class GraphRecord:
    """One graph that torch handed over.

    kind: "inference", "forward" or "backward".
    ops: by "compiled", "library" and "fallback", how many nodes of each op.
    refusals: why ops that have a lowering are fallbacks.
    reason: why all of the graph runs as torch does; "" if it does not.
    seconds: what its compilation took, after torch handed it over.
    given_up: calls that ran as torch does, by why.
    """

    kind: str
    number: int = field(default_factory=lambda: next(_numbers))
    ops: dict[str, Counter[str]] = field(default_factory=lambda: {k: Counter() for k in aten.KINDS})
    refusals: Counter[str] = field(default_factory=Counter)
    reason: str = ""
    seconds: float = 0
    given_up: Counter[str] = field(default_factory=Counter)
    _compiled: Callable[[], Any] = lambda: None

    def belongs_to(self, compiled: Any) -> None:
        """Let the record live, and be listed, as long as what was compiled does."""
        self._compiled = weakref.ref(compiled)
        compiled.record = self
        compiled._boxed_call = True  # in its own __dict__, which torch's wrappers copy
        _records.add(self)

    @property
    def counters(self) -> dict[str, Any]:
        """`calls`, their `nanoseconds`, `regions`; `callees`: both of what torch computes.

        `packed_bytes`: of copies of frozen weights.
        """
        compiled = self._compiled()
        stats: dict[str, Any] = compiled.stats() if compiled is not None else {}
        return stats

    def compiled_graph(self) -> _dvm.TorchGraph | None:
        """Return the native half; None where torch runs the graph, or nothing holds it any more."""
        compiled = self._compiled()
        return compiled if isinstance(compiled, _dvm.TorchGraph) else None

    @property
    def plan(self) -> str:
        """The host program that the graph became."""
        compiled = self._compiled()
        return getattr(compiled, "plan", "")

    def __str__(self) -> str:
        counters = self.counters
        ops = ", ".join(f"{sum(self.ops[kind].values())} {kind}" for kind in aten.KINDS)
        lines = [
            f"graph {self.number} ({self.kind}): {ops} ops; {counters.get('regions', 0)} Regions, "
            f"compiled in {self.seconds * 1e3:.1f} ms; "
            f"{counters.get('calls', 0)} calls in {counters.get('nanoseconds', 0) / 1e6:.3f} ms"
        ]
        if self.reason:
            lines.append(f"  runs as torch does: {self.reason}")
        for kind in aten.KINDS[1:]:
            lines += [f"  {kind}: {times} x {op}" for op, times in self.ops[kind].items()]
        for callee, (calls, nanoseconds) in counters.get("callees", {}).items():
            lines.append(f"  {callee}: {calls} calls in {nanoseconds / 1e6:.3f} ms")
        lines += [f"  {times} x {why}" for why, times in self.refusals.items()]
        lines += [f"  given up {times} times: {why}" for why, times in self.given_up.items()]
        return "\n".join(lines)


_NOTHING = (
    "no graph of dvm's ran: dvm.compile(model) compiles a module, dvm.torch.compile a function"
)
_records: weakref.WeakSet[GraphRecord] = weakref.WeakSet()


@dataclass(frozen=True)
class Report:
    """Graphs, oldest first; its text says what of each is compiled, and what torch computes.

    why: a call went through torch.compile that dvm might have captured itself; or empty.
    """

    graphs: list[GraphRecord]
    why: str = ""

    def count(self, kind: str) -> int:
        """How many nodes of that kind: "compiled", "library" or "fallback"."""
        return sum(sum(graph.ops[kind].values()) for graph in self.graphs)

    def __str__(self) -> str:
        graphs = "\n".join(map(str, self.graphs)) or _NOTHING
        return f"through torch.compile: {self.why}\n{graphs}" if self.why else graphs


def report() -> Report:
    """Return all graphs that this door compiled and that are still in use."""
    return Report(sorted(_records, key=lambda record: record.number))


def explain(compiled: Callable[..., Any]) -> Callable[..., Report]:
    """Return a function that calls `compiled` and returns a Report of the graphs that it ran."""

    def explained(*args: Any, **kwargs: Any) -> Report:
        before = {record.number: record.counters.get("calls", 0) for record in _records}
        compiled(*args, **kwargs)
        return Report(
            [
                record
                for record in report().graphs
                if record.counters.get("calls", 0) > before.get(record.number, 0)
            ]
        )

    return explained
