"""The profile of a call on the cpu: where the time of a typical call went, to the nanosecond.

Calls that are watched and calls that are not take turns. The watched one whose parts are nearest to
the medians of all is shown, so that no outlier of a single part names the cause; the difference of
the medians of the wall times is what watching costs.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Never

from dvm import _dvm, errors, memory
from dvm.explaining.lines import quoted
from dvm.profiling.machine import Roofs, roofs
from dvm.profiling.profile import Profile, percent, table
from dvm.profiling.simulated import step_names
from dvm.profiling.subjects import Subject

#: nanoseconds that a profile may take, and calls of each kind at least and at most
BUDGET, LEAST, MOST = 200_000_000, 3, 200

#: spans of a call that are kept: of each thread a few per kernel
ROOM = 1 << 16

#: of a Program as text: elements of 64 bits
WIDE = re.compile(r"\b(fp64|int64|uint64)\b")

#: what, name, thread, begin, end, tiles
Slice = tuple[str, str, int, int, int, int]


@dataclass(frozen=True)
class MeasuredKernel:
    """A step of the call. Times in nanoseconds.

    label: its place among the steps; -1 of a call. kind: "region", "op" (a step that is none), or
    "call" (a function that stays the host's). time: from its start to its end, encode and dispatch
    included. encode: making its Programs, or finding them again. threads: what each worked.
    operations, bytes: that its Programs compute, and that their operands have. dtype: "f64" where
    it computes with elements of 64 bits, else "f32".
    """

    name: str
    label: int
    kind: str
    lines: list[str]
    time: int
    encode: int
    run: int
    threads: dict[int, int]
    operations: int
    bytes: int
    dtype: str = "f32"

    @property
    def dispatch(self) -> int:
        """Nanoseconds around its Programs."""
        return max(self.time - self.encode - self.run, 0)


@dataclass(frozen=True, repr=False)
class MeasuredProfile(Profile):
    """The Profile of a call on the cpu. Times are in nanoseconds.

    wall: of the call shown. spread: the wall times between which half of the calls lie. plan: its
    Plans' own work (sizes, checks, results). replay: guards and all else outside of Plans.
    overhead: share that watching added. first: of a call whose shapes were never met, by phase.
    peak: bytes that the call's arrays of 1 MiB and more had at one time. roofs: of this machine.
    """

    function: str
    target: str
    value: Any = field(compare=False)
    subject: Subject = field(compare=False)
    watched: _dvm.WatchedCall = field(compare=False)
    wall: int
    spread: tuple[int, int]
    unwatched: int
    calls: int
    plan: int
    replay: int
    kernels: list[MeasuredKernel]
    slices: list[Slice]
    first: dict[str, int]
    peak: int
    roofs: Roofs

    @property
    def overhead(self) -> float:
        """What watching added to the call, as a share."""
        return self.wall / self.unwatched - 1

    @property
    def threads(self) -> list[int]:
        """Threads that worked on the call; 0 made it."""
        return sorted({0, *(thread for _, _, thread, *_ in self.slices)})

    def parts(self) -> dict[str, int]:
        """Return what the time of the call is the sum of."""
        kinds = {"region": "kernels", "op": "other steps", "call": "not compiled"}
        parts = dict.fromkeys(("kernels", "other steps", "not compiled", "encode", "dispatch"), 0)
        for kernel in self.kernels:
            parts[kinds[kernel.kind]] += kernel.run
            parts["encode"] += kernel.encode
            parts["dispatch"] += kernel.dispatch
        return {**parts, "plan": self.plan, "replay": self.replay}

    def place(self, kernel: MeasuredKernel) -> dict[str, Any]:
        """Return where a kernel is under the roofs.

        bound_by is "memory" or "compute", "caches" where it moved more than memory gives, and
        "unknown" without roofs; share_of_roof is None for the latter two.
        """
        if kernel.kind == "call" or not kernel.run or not kernel.bytes:
            return {}
        intensity = kernel.operations / kernel.bytes
        achieved = kernel.operations / kernel.run
        moved = kernel.bytes / kernel.run
        memory, compute = self.roofs.gigabytes_per_second, self.roofs.gigaflops_of(kernel.dtype)
        bound, share = "unknown", None
        if memory is not None and compute is not None:
            if achieved >= compute or intensity * memory >= compute:
                bound, share = "compute", achieved / compute
            elif moved > memory:
                bound = "caches"
            else:
                bound, share = "memory", moved / memory
        return {
            "intensity": round(intensity, 6),
            "gigaflops": round(achieved, 3),
            "gigabytes_per_second": round(moved, 3),
            "bound_by": bound,
            "share_of_roof": None if share is None else round(share, 4),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the profile in JSON types."""
        return {
            "schema": 1,
            "kind": "measured",
            "function": self.function,
            "target": self.target,
            "summary": self.summary(),
            "nanoseconds": self.wall,
            "spread_nanoseconds": list(self.spread),
            "unwatched_nanoseconds": self.unwatched,
            "overhead": round(self.overhead, 4),
            "calls": self.calls,
            "parts": self.parts(),
            "first_call": self.first,
            "peak_bytes": self.peak,
            "roofs": {
                "gigabytes_per_second": self.roofs.gigabytes_per_second,
                "gigaflops": self.roofs.gigaflops,
            },
            "kernels": [
                {
                    "name": kernel.name,
                    "kind": kernel.kind,
                    "lines": kernel.lines,
                    "nanoseconds": kernel.time,
                    "encode": kernel.encode,
                    "dispatch": kernel.dispatch,
                    "run": kernel.run,
                    "threads": {str(k): busy for k, busy in sorted(kernel.threads.items())},
                    "operations": kernel.operations,
                    "bytes": kernel.bytes,
                    "roofline": (place := self.place(kernel)),
                    "bound_by": place.get(
                        "bound_by", "not compiled" if kernel.kind == "call" else ""
                    ),
                }
                for kernel in self.kernels
            ],
        }

    def summary(self) -> str:
        """Return what a person wants to know first."""
        largest, cost = max(self.parts().items(), key=lambda item: item[1])
        says = f"{self.wall / 1000:.1f} us; {percent(cost / self.wall)} {largest}"
        if self.kernels:
            slowest = max(self.kernels, key=lambda kernel: kernel.time)
            says += f"; {slowest.name} takes {slowest.time / 1000:.1f} us"
            if roof := self._roof(slowest):
                says += f" ({roof})"
        return says

    def _roof(self, kernel: MeasuredKernel) -> str:
        """Return what holds a kernel back, in words; empty where that is unknown."""
        place = self.place(kernel)
        if not place or place["bound_by"] == "unknown":
            return ""
        if place["share_of_roof"] is None:
            return "operands from caches"
        return f"{percent(place['share_of_roof'])} of what {place['bound_by']} allows"

    def headline(self) -> list[tuple[str, float, str]]:
        """See `Profile.headline`."""
        rows = [("call", self.wall / 1000, "us"), ("peak memory", self.peak / 2**20, "MiB")]
        rows += [(name, ns / 1000, "us") for name, ns in self.parts().items()]
        return rows + [(kernel.name, kernel.time / 1000, "us") for kernel in self.kernels]

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {ns / 1000:.1f}" for name, ns in self.parts().items() if ns)
        first = ", ".join(f"{name} {ns / 1000:.1f}" for name, ns in self.first.items())
        lines = [
            f"{self.function} on {self.target}, typical of {self.calls} calls: {self.summary()}",
            f"half of the calls took {self.spread[0] / 1000:.1f} to {self.spread[1] / 1000:.1f} us",
            f"us: {parts}",
            *(
                [f"peak of arrays of 1 MiB and more: {self.peak / 2**20:.1f} MiB"]
                if self.peak
                else []
            ),
            *([f"first call of such shapes, us: {first}"] if first else []),
            f"watching added {100 * self.overhead:.1f} % to {self.unwatched / 1000:.1f} us",
            self.roofs.note
            or f"this machine: {self.roofs.gigabytes_per_second:.0f} GB/s, "
            f"{self.roofs.gigaflops:.0f} Gflop/s",
        ]
        lines += table(
            ["kernel", "us", "run", "encode", "dispatch", "threads", "GB/s", "Gop/s", "of roof"],
            (self._row(kernel) for kernel in self.kernels),
        )
        for kernel in self.kernels:
            if kernel.lines:
                lines.append(f"{kernel.name}: {', '.join(map(quoted, kernel.lines))}")
        return "\n".join(lines)

    def _row(self, kernel: MeasuredKernel) -> list[str]:
        place = self.place(kernel)
        rates = [
            f"{place[key]:.1f}" if place else "" for key in ("gigabytes_per_second", "gigaflops")
        ]
        roof = self._roof(kernel).replace(" of what", "").removesuffix(" allows")
        times = (kernel.time, kernel.run, kernel.encode, kernel.dispatch)
        return [
            kernel.name,
            *(f"{ns / 1000:.1f}" for ns in times),
            str(len(kernel.threads)) if kernel.threads else "",
            *rates,
            roof,
        ]

    def picture(self) -> str:
        """Return the timeline of the call as an image of HTML."""
        from dvm.profiling.page.picture import Bar, Row, image, svg

        bars: dict[str, list[Bar]] = {"steps": []}
        for what, name, thread, begin, end, _ in sorted(self.slices, key=lambda one: one[3]):
            row = {"step": "steps", "opaque": "steps", "encode": "encode"}.get(what)
            row = f"thread {thread}" if what == "tiles" else row
            if row is not None:
                bars.setdefault(row, []).append(Bar(begin / 1000, end / 1000, name or what))
        title = f"{self.function} on {self.target}"
        return image(svg(title, [Row(*row) for row in bars.items() if row[1]], [], "us"), title)

    def what_if(self, **_choice: Any) -> Never:
        """Refused: what another choice would cost is known of simulated cores alone."""
        raise self._of_simulated("what_if")

    def tiles(self, _kernel: str | None = None) -> Never:
        """Refused, as `what_if`."""
        raise self._of_simulated("tiles")

    def refused(self) -> Never:
        """Refused, as `what_if`."""
        raise self._of_simulated("refused")

    def _of_simulated(self, name: str) -> errors.Error:
        target = next(target for target in _dvm.target_names if target != self.target)
        return errors.make(
            "unsupported",
            f"{name} asks the model of simulated cores, and {self.function} was measured on "
            f"the {self.target}",
            f"dvm.profile(f, target={target!r})(x).{name}(...)",
        )

    def trace_events(self) -> list[dict[str, Any]]:
        """Return the timeline: the call, its steps and what each thread worked."""
        from dvm.profiling.chrome_trace import of_measurement

        return of_measurement(self)


def measure_call(subject: Subject, args: Any, kwargs: Any) -> MeasuredProfile:
    """Call `subject` as often as a steady time takes, and report it; see `dvm.profile`."""
    pool = memory.stats()
    _dvm.trim_memory(pool.cached_bytes)  # gives nothing back, and counts the peak from here
    value, kept = subject.watch(True, ROOM, args, kwargs)
    peak = max(memory.stats().peak_bytes - pool.used_bytes, 0)
    room = 2 * len(kept.spans) + 64
    first = subject.first_call(args, kwargs)
    watched: list[_dvm.WatchedCall] = []
    plain: list[int] = []
    deadline = time.perf_counter_ns() + BUDGET
    while len(plain) < LEAST or (len(plain) < MOST and time.perf_counter_ns() < deadline):
        begin = time.perf_counter_ns()
        subject(*args, **kwargs)
        plain.append(time.perf_counter_ns() - begin)
        watched.append(subject.watch(False, room, args, kwargs)[1])
    work: dict[int, tuple[int, int]] = {}
    wide: set[int] = set()
    for label, program, _, operations, size in kept.programs:
        before = work.get(label, (0, 0))
        work[label] = (before[0] + operations, before[1] + size)
        if any(WIDE.search(text) for text in _dvm.disassemble_launch(program)):
            wide.add(label)
    typical = _typical(watched)
    call = _Call(subject, typical, work, wide)
    walls = sorted(call.wall for call in watched)
    return MeasuredProfile(
        function=subject.name,
        target=subject.target,
        value=value,
        subject=subject,
        watched=kept,
        wall=typical.wall,
        spread=(walls[len(walls) // 4], walls[-1 - len(walls) // 4]),
        unwatched=round(statistics.median(plain)),
        calls=len(plain),
        plan=call.plan,
        replay=call.replay,
        kernels=call.kernels,
        slices=call.slices,
        first=first,
        peak=peak,
        roofs=roofs(),
    )


def _typical(calls: list[_dvm.WatchedCall]) -> _dvm.WatchedCall:
    """Return the call whose parts are nearest to the medians of all calls (the medoid by parts)."""
    parts = [_durations(call) for call in calls]
    middle = {
        key: statistics.median(one.get(key, 0) for one in parts) for key in set().union(*parts)
    }

    def distance(k: int) -> float:
        return sum(abs(parts[k].get(key, 0) - value) for key, value in middle.items())

    return calls[min(range(len(calls)), key=lambda k: (distance(k), k))]


def _durations(call: _dvm.WatchedCall) -> dict[tuple[str, int], int]:
    """Return the nanoseconds of each kind of span and step of a call, its wall time among them."""
    found = {("wall", -1): call.wall}
    for what, label, _, begin, end, _ in call.spans:
        found[what, label] = found.get((what, label), 0) + end - begin
    return found


def _shared(
    spans: list[tuple[str, int, int, int, int, int]],
) -> tuple[dict[int, int], dict[int, int]]:
    """Return for each step what it ran, and what of that was not within the step itself.

    Programs of several steps may run as one list, when the last of them is known: each has the
    share of its time that its tiles have of the threads'.
    """
    runs: dict[int, int] = {}
    behind: dict[int, int] = {}
    steps = {label: (begin, end) for what, label, _, begin, end, _ in spans if what == "step"}
    for what, _, _, begin, end, _ in spans:
        if what != "launch":
            continue
        worked: dict[int, int] = {}
        for kind, label, _, first, last, _ in spans:
            if kind == "tiles" and begin <= first and last <= end:
                worked[label] = worked.get(label, 0) + last - first
        total = sum(worked.values())
        for label, time_of_it in worked.items():
            share = round((end - begin) * time_of_it / total)
            runs[label] = runs.get(label, 0) + share
            if label in steps and not steps[label][0] <= begin <= steps[label][1]:
                behind[label] = behind.get(label, 0) + share
    return runs, behind


class _Call:
    """The spans of a watched call, added up."""

    def __init__(
        self,
        subject: Subject,
        call: _dvm.WatchedCall,
        work: dict[int, tuple[int, int]],
        wide: set[int],
    ):
        self._wide = wide
        spans = call.spans
        steps = call.steps
        names = step_names(subject, steps)
        caller = next(thread for what, _, thread, *_ in spans if what in ("plan", "opaque"))
        workers = sorted({thread for _, _, thread, *_ in spans} - {caller})
        self.threads = {caller: 0} | {thread: k for k, thread in enumerate(workers, 1)}
        opaque = self._opaque_names(subject, steps)
        self.slices: list[Slice] = []
        calls: list[MeasuredKernel] = []
        for what, label, thread, begin, end, tiles in spans:
            name = names[label][0] if label >= 0 else ""
            if what == "opaque":
                name, location = next(opaque, ("a call", ""))
                lines = [location] if location else []
                calls.append(
                    MeasuredKernel(name, -1, "call", lines, end - begin, 0, end - begin, {}, 0, 0)
                )
            self.slices.append((what, name, self.threads[thread], begin, end, tiles))
        # Outer ones first where they begin together.
        self.slices.sort(key=lambda one: (one[3], -one[4]))
        self.runs, behind = _shared(spans)
        self.kernels = calls + [
            self._kernel(spans, label, names[label], work.get(label, (0, 0)), behind.get(label, 0))
            for label in range(len(steps))
        ]
        plans = sum(end - begin for what, _, _, begin, end, _ in spans if what == "plan")
        in_plans = sum(kernel.time for kernel in self.kernels[len(calls) :])
        self.plan = plans - in_plans
        self.replay = call.wall - plans - sum(kernel.time for kernel in calls)

    def _kernel(
        self,
        spans: list[tuple[str, int, int, int, int, int]],
        label: int,
        named: tuple[str, list[str], bool],
        work: tuple[int, int],
        behind: int,
    ) -> MeasuredKernel:
        name, lines, region = named
        mine = [span for span in spans if span[1] == label]

        def total(kind: str) -> int:
            return sum(end - begin for what, _, _, begin, end, _ in mine if what == kind)

        threads: dict[int, int] = {}
        for what, _, thread, begin, end, _ in mine:
            if what == "tiles":
                known = self.threads[thread]
                threads[known] = threads.get(known, 0) + end - begin
        run = self.runs.get(label, 0)
        is_call = not region and not threads and not work[0]
        return MeasuredKernel(
            name=name,
            label=label,
            kind="region" if region else "call" if is_call and "." in name else "op",
            lines=lines,
            time=total("step") + behind,
            encode=total("encode"),
            run=run if region else total("step"),
            threads=threads,
            operations=work[0],
            bytes=work[1],
            dtype="f64" if label in self._wide else "f32",
        )

    @staticmethod
    def _opaque_names(subject: Subject, steps: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
        paths = subject.paths()
        index = next((step["path"] for step in steps if step["path"] >= 0), 0)
        calls = paths[index]["opaque_calls"] if not paths[index]["reason"] else []
        return iter([(call["name"], call["location"]) for call in calls])
