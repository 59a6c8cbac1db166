"""What another fusion would cost: refused pairs of operations forced together, fused ones split.

Where a pair is refused because sizes are not provably equal, the sizes of the call make one kernel
of it, and the price of being wrong is another compilation for calls of other sizes. Where no tile
can hold what the pair needs, both kernels become one launch (DVM paper, section 5.1: temporal
stacking): what passes between them goes through the second cache, all cores wait for each other
in between, and the price is what they wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from dvm import _dvm, errors
from dvm.explaining.operations import NODE, Operation, fused_graphs, operations, select, separated

if TYPE_CHECKING:
    from dvm.profiling.simulated import Kernel, SimulatedProfile

Pair = tuple[str | int, str | int]


@dataclass(frozen=True)
class Price:
    """What a forced fusion costs where it is wrong. microseconds: on the cores or the host."""

    microseconds: float
    says: str

    def to_dict(self) -> dict[str, Any]:
        """Return it in JSON types."""
        return {"microseconds": round(self.microseconds, 6), "says": self.says}


@dataclass(frozen=True)
class RefusedEdge:
    """An edge of the graph between two kernels of the call, and the rule that keeps them apart."""

    a: Operation
    b: Operation
    rule: str
    reason: str
    kernels: tuple[Kernel, Kernel]


class OtherFusion:
    """The kernels of a simulated call with pairs of operations fused, or split."""

    def __init__(self, profile: SimulatedProfile):
        self.profile = profile
        self.kernels = list(profile.kernels)
        self._paths = profile.subject.paths()
        self._path = next((s["path"] for s in profile.watched.steps if s["path"] >= 0), 0)
        before = sum(len(fused_graphs(path)) for path in self._paths[: self._path])
        texts = fused_graphs(self._paths[self._path]) if self._paths else []
        self._graphs = {before + k: text for k, text in enumerate(texts)}
        self._first = before
        self._operations = [o for o in operations(self._paths) if o.graph in self._graphs]
        self._apart: list[Operation] = []
        self._fresh = count(1 << 40)
        #: of each node the name of its kernel, and of each value of a graph its buffer
        self._owner: dict[tuple[int, int], str] = {}
        self._buffers: dict[tuple[int, int], int] = {}
        known = {kernel.name: kernel for kernel in self.kernels if kernel.region}
        for graph, text in self._graphs.items():
            regions = zip(
                _dvm.region_members(text, profile.target),
                _dvm.region_operands(text, profile.target),
                strict=True,
            )
            for index, (members, operands) in enumerate(regions):
                name = f"g{graph}.r{index}"
                self._owner |= {(graph, node): name for node in members}
                if name in known:
                    values = [(graph, value) for value in operands]
                    self._buffers |= zip(values, known[name].programs[0][1], strict=False)

    def fuse(self, pair: Pair) -> Price:
        """Bring two operations together; return the price of being wrong."""
        a, b = self._nodes(pair, together=False)
        both = [(a.node, b.node)]
        fused = self._otherwise(a.graph, together=both)
        assumed = set(fused["assumed"]) - set(self._otherwise(a.graph)["assumed"])
        if any({a.node, b.node} <= set(region["members"]) for region in fused["regions"]):
            self._replace(a.graph, fused)
            took = fused["nanoseconds"] / 1000
            holds = ", ".join(sorted(assumed)) or "nothing"
            return Price(
                took,
                f"one kernel while {holds}, which is checked first: a call of other sizes runs as "
                f"it does now, after {took:.0f} us of fusing and encoding anew on this host",
            )
        return self._stack(self._kernel_of(a), self._kernel_of(b))

    def split(self, pair: Pair) -> None:
        """Take two operations of one kernel apart."""
        a, b = self._nodes(pair, together=True)
        self._apart += [a, b]
        self._replace(a.graph, self._otherwise(a.graph))

    def refusals(self) -> Iterator[RefusedEdge]:
        """Give the pairs of operations, one that reads the other's result, that share no kernel."""
        known = {(o.graph, o.node): o for o in self._operations}
        for graph, text in self._graphs.items():
            owner = {node: name for (its, node), name in self._owner.items() if its == graph}
            for source, node in separated(text, owner):
                a, b = known[graph, source], known[graph, node]
                first, second = self._find_kernel(a), self._find_kernel(b)
                if first is not None and second is not None:
                    _, rule, reason = _dvm.explain_pair(text, self.profile.target, source, node)
                    yield RefusedEdge(a, b, rule, reason, (first, second))

    def _otherwise(self, graph: int, together: Sequence[tuple[int, int]] = ()) -> dict[str, Any]:
        """Return the Regions of a graph, with what was split so far."""
        sizes = self.profile.watched.sizes(self._path, graph - self._first)
        split = [one.node for one in self._apart if one.graph == graph]
        apart = list(zip(split[::2], split[1::2], strict=True))
        return _dvm.fuse_otherwise(
            self._graphs[graph], self.profile.target, sizes, together=list(together), apart=apart
        )

    def _nodes(self, pair: Pair, together: bool) -> tuple[Operation, Operation]:
        """Return the first two operations of these names that one kernel computes, or does not."""
        first, second = (select(self._operations, name) for name in pair)
        candidates = [
            (a, b) for a in first for b in second if a.graph == b.graph >= 0 and a.node != b.node
        ]
        for a, b in candidates:
            names = [self._owner.get((one.graph, one.node)) for one in (a, b)]
            if None not in names and (names[0] == names[1]) == together:
                return (a, b) if a.node < b.node else (b, a)
        if not candidates:
            why = "are computed by different graphs, between which Python runs"
        else:
            why = "are no two kernels" if not together else "are no one kernel"
        raise errors.make("unsupported", f"{first[0]} and {second[0]} {why}")

    def _find_kernel(self, operation: Operation) -> Kernel | None:
        name = self._owner.get((operation.graph, operation.node))
        return next((kernel for kernel in self.kernels if kernel.name == name), None)

    def _kernel_of(self, operation: Operation) -> Kernel:
        kernel = self._find_kernel(operation)
        if kernel is None:
            raise errors.make("unsupported", f"the kernel of {operation} did nothing in this call")
        return kernel

    def _replace(self, graph: int, variant: dict[str, Any]) -> None:
        """Put the kernels of other Regions in the place of those that are none any more."""
        now: dict[str, list[int]] = {}
        for (owner_graph, node), name in sorted(self._owner.items()):
            if owner_graph == graph:
                now.setdefault(name, []).append(node)
        wanted = [region["members"] for region in variant["regions"]]
        gone = [name for name, members in now.items() if members not in wanted]
        new = [r for r in variant["regions"] if r["members"] not in now.values()]
        like = next(kernel for kernel in self.kernels if kernel.name in gone)
        made = [self._made(graph, region, like, now) for region in new]
        kernels: list[Kernel] = []
        for kernel in self.kernels:
            if kernel.name in gone:
                kernels += made
                made = []
            else:
                kernels.append(kernel)
        self.kernels = [kernel for kernel in kernels if kernel.programs]

    def _made(
        self, graph: int, region: dict[str, Any], like: Kernel, now: dict[str, list[int]]
    ) -> Kernel:
        """Return the kernel of a Region; its operands are buffers of the call where it had them."""
        members = region["members"]
        parts = [name for name, old in now.items() if set(old) & set(members)]
        # A part of a kernel is told from the others by its first node.
        whole = all(set(now[name]) <= set(members) for name in parts)
        name = "+".join(parts) if whole else f"{'+'.join(parts)}:%{members[0]}"
        self._owner |= {(graph, node): name for node in members}
        numbers = [
            self._buffers.setdefault((graph, value), next(self._fresh))
            for value in region["operands"]
        ]
        numbers += [next(self._fresh) for _ in range(64)]  # workspaces
        lines = {
            int(node): f"{file}:{line}"
            for node, _, file, line in NODE.findall(self._graphs[graph])
            if file
        }
        return replace(
            like,
            name=name,
            region=False,
            lines=list(dict.fromkeys(lines[node] for node in members if node in lines)),
            programs=[(program, numbers) for program, _ in region["programs"]],
            timings=[],
        )

    def _stack(self, a: Kernel, b: Kernel) -> Price:
        """Make one launch of two kernels and of all that stands between them."""
        first, last = sorted((self.kernels.index(a), self.kernels.index(b)))
        taken = self.kernels[first : last + 1]
        one = replace(
            taken[0],
            name="+".join(kernel.name for kernel in taken),
            region=False,
            lines=list(dict.fromkeys(line for kernel in taken for line in kernel.lines)),
            programs=[program for kernel in taken for program in kernel.programs],
            timings=[],
            one_launch=True,
        )
        self.kernels[first : last + 1] = [one]
        names = {kernel.name for kernel in taken}
        self._owner = {k: one.name if name in names else name for k, name in self._owner.items()}
        programs = [p for kernel in self.kernels[: first + 1] for p in kernel.programs]
        timed = _dvm.time_programs(
            programs,
            self.profile.target,
            self.profile.overrides,
            verified=True,
            stacked=stacked_places(self.kernels[: first + 1]),
        )[-len(one.programs) :]
        waited = sum(map(_waits_at_end, timed[:-1])) + sum(t["launch"] for t in timed[1:])
        took = waited / self.profile.mhz
        barriers = len(timed) - 1
        return Price(
            took,
            f"one launch of {len(taken)} kernels: no tile holds what the second one needs of the "
            f"first, so all cores wait for each other {barriers} "
            f"time{'s' * (barriers != 1)}, {took:.2f} us of a core on average; what passes goes "
            "through the second cache, and without the wait it would be wrong",
        )


def _waits_at_end(timing: dict[str, Any]) -> float:
    """Return what a core waits on average for the last one of a Program."""
    ends: list[float] = [core["end"] for core in timing["cores"]]
    return max(ends) - sum(ends) / len(ends)


def stacked_places(kernels: Sequence[Kernel]) -> set[int]:
    """Return the places, among all Programs, of those that go on in the launch before them."""
    places: set[int] = set()
    at = 0
    for kernel in kernels:
        if kernel.one_launch:
            places |= set(range(at + 1, at + len(kernel.programs)))
        at += len(kernel.programs)
    return places
