"""The profile of a call on simulated AI Cores: cycles, and what each pipe waited for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dvm import _dvm
from dvm.explaining.lines import quoted
from dvm.explaining.operations import fused_graphs
from dvm.explaining.summary import region_lines
from dvm.profiling.fusion_trials import stacked_places
from dvm.profiling.profile import Profile, percent, table
from dvm.profiling.subjects import ROOM, Subject

if TYPE_CHECKING:
    from dvm.profiling.fusion_trials import Pair
    from dvm.profiling.what_if import RefusedFusion, Tile, Tiles, WhatIf

#: pipe of a Program -> the name that Ascend's tools have for it
UNITS = {name: unit for name, unit, *_ in _dvm.pipe_table}
#: of a wait that is for no flag: what it is for
WAITS = {
    "decode": "the scalar unit to issue",
    "result": "its own results",
    "room": "room in a queue",
    "done": "nothing more to do",
}
#: pipes that move to or from global memory
MOVING = ("load", "store", "fix")


@dataclass(frozen=True)
class Kernel:
    """A step of the call that ran on the cores: a Region, or an op that is none.

    name: "g0.r1" as in `dvm.explain`, or the op. programs: bytes and buffers of each of its
    launches. timings: what `_dvm.time_programs` says of each. lines: of the user, that it computes.
    one_launch: its Programs are one, as `what_if(fuse=...)` may ask for.
    """

    name: str
    label: int
    region: bool
    lines: list[str]
    programs: list[tuple[bytes, list[int]]]
    timings: list[dict[str, Any]]
    one_launch: bool = False

    @property
    def cycles(self) -> float:
        """Cycles from the first launch of it to the end of the last one."""
        return float(sum(timing["end"] - timing["begin"] for timing in self.timings))

    def describe(self, mhz: float) -> dict[str, Any]:
        """Return it in JSON types."""
        launch = sum(timing["launch"] for timing in self.timings)
        pipes = pipe_shares(self.timings)
        bound, why = bound_by(self.timings, pipes)
        return {
            "name": self.name,
            "lines": self.lines,
            "cycles": round(self.cycles, 3),
            "microseconds": round(self.cycles / mhz, 6),
            "launches": 1 if self.one_launch else len(self.timings),
            "launch_cycles": round(launch, 3),
            "cores": max(len(timing["cores"]) for timing in self.timings),
            "tiles": sum(timing["tiles"] for timing in self.timings),
            "bytecode_bytes": [timing["bytecode_bytes"] for timing in self.timings],
            "moved_bytes": sum(timing["moved_bytes"] for timing in self.timings),
            "hbm_bytes": sum(timing["hbm_bytes"] for timing in self.timings),
            "bound_by": bound,
            "why": why,
            "pipes": pipes,
            "instructions": [
                {"launch": k, **instruction}
                for k, timing in enumerate(self.timings)
                for instruction in timing["instructions"]
            ],
        }


def pipe_shares(timings: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return, for each pipe that did something, its shares of the time of its cores."""
    cores = [core for timing in timings for core in timing["cores"]]
    shares: dict[str, dict[str, Any]] = {}
    for pipe in UNITS:
        using = [core for core in cores if core["pipes"][pipe]["operations"]]
        if not using:
            continue
        total = sum(core["end"] - core["begin"] for core in using)
        every = [core["pipes"][pipe] for core in using]
        waits: dict[str, float] = {}
        for one in every:
            for why, cycles in one["waits"].items():
                waits[why] = waits.get(why, 0) + cycles
        shares[pipe] = {
            "busy": round(sum(one["busy"] for one in every) / total, 6),
            "waits": {why: round(cycles / total, 6) for why, cycles in waits.items()},
            **{
                key: round(sum(one[key] for one in every) / total, 6)
                for key in ("slowed_by_l2", "slowed_by_hbm")
            },
            "operations": sum(one["operations"] for one in every),
            "bytes": sum(one["bytes"] for one in every),
        }
    return shares


def waits_for(why: str) -> str:
    """Return what a wait is for, in words."""
    return WAITS.get(why) or f"a flag of {UNITS[why]}"


def bound_by(timings: list[dict[str, Any]], pipes: dict[str, dict[str, Any]]) -> tuple[str, str]:
    """Return what limits a kernel, as one word and as a sentence.

    The word is "launch", "memory", "l2", "latency", or the hardware's name of a pipe. Where no pipe
    is busy for half of the time nothing is to blame but the order: the sentence says what the
    busiest one that moves or computes waits for. (The scalar unit only issues what others do.)
    """
    cycles = sum(timing["end"] - timing["begin"] for timing in timings)
    launch = sum(timing["launch"] for timing in timings)
    if launch > cycles / 2:
        return "launch", f"launching takes {percent(launch / cycles)} of its time"
    working = [pipe for pipe in pipes if pipe != "scalar" or pipes[pipe]["busy"] >= 0.5]
    busiest = max(working, key=lambda pipe: pipes[pipe]["busy"])
    share = pipes[busiest]
    rarely = share["busy"] < 0.5
    says = f"{UNITS[busiest]}{', the busiest unit,' if rarely else ''} is busy "
    says += f"{percent(share['busy'])} of the time"
    waits = {why: part for why, part in share["waits"].items() if why != "done"}
    if waits:
        longest = max(waits, key=lambda why: waits[why])
        says += f" and waits {percent(waits[longest])} for {waits_for(longest)}"
    if busiest in MOVING and share["slowed_by_hbm"] > 0.2 * share["busy"]:
        return "memory", f"{says}; cores share the bandwidth of global memory"
    if busiest in MOVING and share["slowed_by_l2"] > 0.2 * share["busy"]:
        return "l2", f"{says}; cores share the bandwidth of the second cache"
    if rarely:
        return "latency", says
    return UNITS[busiest], says


def legend(pipes: Iterable[str]) -> str:
    """Return what the hardware's names of these pipes mean, in the order of the table."""
    known = set(pipes)
    return "; ".join(f"{unit}: {what}" for pipe, unit, _, what in _dvm.pipe_table if pipe in known)


@dataclass(frozen=True, repr=False)
class SimulatedProfile(Profile):
    """The Profile of a call on a simulated target. Times are in cycles and microseconds.

    kernels: what ran on the cores, in order. overrides: parameters that are not the target's own.
    """

    function: str
    target: str
    value: Any = field(compare=False)
    subject: Subject = field(compare=False)
    watched: _dvm.WatchedCall = field(compare=False)
    overrides: dict[str, float]
    kernels: list[Kernel]

    @property
    def mhz(self) -> float:
        """Cycles in a microsecond."""
        rows = _dvm.timing_table(self.target, self.overrides)
        return next(value for name, value, *_ in rows if name == "mhz")

    @property
    def cycles(self) -> float:
        """Cycles from the first launch to the end of the last one, the host's part in between."""
        timings = [timing for kernel in self.kernels for timing in kernel.timings]
        return max((timing["end"] for timing in timings), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the profile in JSON types."""
        mhz = self.mhz
        return {
            "schema": 1,
            "kind": "simulated",
            "function": self.function,
            "target": self.target,
            "summary": self.summary(),
            "cycles": round(self.cycles, 3),
            "microseconds": round(self.cycles / mhz, 6),
            "kernels": [kernel.describe(mhz) for kernel in self.kernels],
            "pipe_utilization": self.pipe_utilization(),
            "parameters": [
                {"name": name, "value": value, "origin": origin, "synopsis": synopsis}
                for name, value, origin, synopsis in _dvm.timing_table(self.target, self.overrides)
            ],
        }

    def summary(self) -> str:
        """Return what a person wants to know first."""
        if not self.kernels:
            return "nothing of the call runs on the cores"
        mhz = self.mhz
        slowest = max((kernel.describe(mhz) for kernel in self.kernels), key=lambda k: k["cycles"])
        count = len(self.kernels)
        vector, cube = _dvm.target_cores[self.target]
        cores = cube if {"cube", "feed"} & slowest["pipes"].keys() else vector
        idle = f"; only {slowest['cores']} of {cores} cores have work"
        return (
            f"{self.cycles / mhz:.2f} us ({self.cycles:,.0f} cycles) in {count} "
            f"kernel{'s' * (count != 1)}; {slowest['name']} is bound by {slowest['bound_by']}: "
            f"{slowest['why']}{idle if 2 * slowest['cores'] <= cores else ''}"
        )

    def pipe_utilization(self) -> list[dict[str, Any]]:
        """Return the rows of msprof's PipeUtilization.csv, one per kernel, launch and core.

        What the simulation has no model of is "NA", as msprof writes it.
        """
        rows = []
        mhz = self.mhz
        for kernel in self.kernels:
            for launch, timing in enumerate(kernel.timings):
                for core in timing["cores"]:
                    kind = "aiv" if core["type"] == "aiv" else "aic"
                    rows.append(
                        {
                            "kernel": kernel.name,
                            "launch": launch,
                            "block_id": core["block"],
                            "sub_block_id": core["type"],
                            **_columns(kind, core, mhz),
                        }
                    )
        return rows

    def headline(self) -> list[tuple[str, float, str]]:
        """See `Profile.headline`."""
        kernels = [(kernel.name, kernel.cycles / self.mhz, "us") for kernel in self.kernels]
        return [("call", self.cycles / self.mhz, "us"), *kernels]

    def __str__(self) -> str:
        mhz = self.mhz
        lines = [f"{self.function} on {self.target}, simulated: {self.summary()}"]
        kernels = [kernel.describe(mhz) for kernel in self.kernels]
        lines += table(
            ["kernel", "us", "cycles", "launch", "cores", "tiles", "KiB from memory", "bound by"],
            (
                [
                    kernel["name"],
                    f"{kernel['microseconds']:.2f}",
                    f"{kernel['cycles']:,.0f}",
                    percent(kernel["launch_cycles"] / kernel["cycles"]),
                    str(kernel["cores"]),
                    str(kernel["tiles"]),
                    f"{kernel['hbm_bytes'] / 1024:,.0f}",
                    kernel["bound_by"],
                ]
                for kernel in kernels
            ),
        )
        for kernel in kernels:
            lines += ["", *_kernel_lines(kernel)]
        used = {pipe for kernel in kernels for pipe in kernel["pipes"]}
        return "\n".join([*lines, "", legend(used)] if used else lines)

    def trace_events(self) -> list[dict[str, Any]]:
        """Return the timeline: a process per core, a thread per pipe, an arrow per flag."""
        from dvm.profiling.chrome_trace import of_simulation

        return of_simulation(self)

    def picture(self) -> str:
        """Return the timeline of the first core of the slowest launch as an image of HTML."""
        from dvm.profiling.page.picture import image, of_launch

        timelines = self.timelines()
        if not timelines:
            return ""
        kernel, timing = max(timelines, key=lambda one: one[1]["end"] - one[1]["begin"])
        title = f"core 0 of {kernel.name}"
        return image(of_launch(title, timing), title)

    def what_if(
        self,
        *,
        kernel: str | None = None,
        tile: Tile | None = None,
        cores: int | None = None,
        slots: int | None = None,
        target: str | None = None,
        fuse: Pair | None = None,
        split: Pair | None = None,
        profile_overrides: Mapping[str, float] | None = None,
    ) -> WhatIf:
        """Return what the call would cost with another choice; nothing is run.

        kernel: the Region that is meant ("g0.r1"); all if None, and for a tile the slowest. tile:
        elements of the dim that the tiler cuts, in place of its choice; of a product rows and
        columns. cores: vector cores, of which products have half as many. slots: bytes of local
        memory for what a tile holds. target: another simulated target. profile_overrides: as of
        `dvm.profile`.

        fuse, split: two operations, named as for `why_not_fused`, that are computed by two kernels
        and would be by one, or the other way round. A fusion that was refused has a `price`: what
        it costs where it is wrong. Operands of kernels that change lie densely.

        Raises:
            UnsupportedError: for a name that does not exist, a tile that does not fit local memory,
                or a number out of its range; the message says what there is.
        """
        from dvm.profiling.what_if import what_if

        return what_if(
            self,
            kernel=kernel,
            tile=tile,
            cores=cores,
            slots=slots,
            target=target,
            fuse=fuse,
            split=split,
            profile_overrides=profile_overrides,
        )

    def refused(self) -> list[RefusedFusion]:
        """Return the fusions of kernels that were refused, those that would save most first.

        Each has both operations with their lines, its `rule` and `reason`, and the `answer` that
        `what_if` gives; `saves` is in microseconds.
        """
        from dvm.profiling.what_if import refused

        return refused(self)

    def tiles(self, kernel: str | None = None) -> Tiles:
        """Return a sweep over tiles of a Region, the slowest if None, beside the tiler's choice."""
        from dvm.profiling.what_if import tiles

        return tiles(self, kernel)

    def timelines(self) -> list[tuple[Kernel, dict[str, Any]]]:
        """Return the kernel and the events of each launch, in order."""
        programs = [program for kernel in self.kernels for program in kernel.programs]
        owners = [kernel for kernel in self.kernels for _ in kernel.programs]
        timed = _dvm.time_programs(
            programs,
            self.target,
            self.overrides,
            events=True,
            verified=True,
            stacked=stacked_places(self.kernels),
        )
        return list(zip(owners, timed, strict=True))


def _columns(kind: str, core: dict[str, Any], mhz: float) -> dict[str, Any]:
    names = {"simd": "vec", "cube": "cube", "scalar": "scalar", "load": "mte2"}
    names |= {"store": "mte3"} if kind == "aiv" else {"feed": "mte1", "fix": "fixpipe"}
    total = core["end"] - core["begin"]
    row: dict[str, Any] = {
        f"{kind}_time(us)": round(total / mhz, 6),
        f"{kind}_total_cycles": round(total),
    }
    for pipe, name in names.items():
        if name == ("cube" if kind == "aiv" else "vec"):
            continue
        busy = core["pipes"][pipe]["busy"]
        row[f"{kind}_{name}_time(us)"] = round(busy / mhz, 6)
        row[f"{kind}_{name}_ratio"] = round(busy / total, 6)
    row[f"{kind}_icache_miss_rate"] = "NA"
    return row


def _kernel_lines(kernel: dict[str, Any]) -> list[str]:
    lines = [f"{kernel['name']}: {kernel['why']}"]
    lines += [f"  {quoted(location)}" for location in kernel["lines"]]
    lines += table(
        ["  pipe", "busy", "waits"],
        (
            [f"  {UNITS[pipe]:4}", percent(share["busy"]), _waits_text(share["waits"])]
            for pipe, share in kernel["pipes"].items()
        ),
    )
    costly = sorted(kernel["instructions"], key=lambda one: -one["busy"])[:8]
    lines += table(
        ["  instruction", "pipe", "cycles", "waited", "times"],
        (
            [
                f"  {one['name']}",
                UNITS[one["pipe"]],
                f"{one['busy']:,.0f}",
                f"{one['waits']:,.0f}",
                str(one["count"]),
            ]
            for one in costly
            if one["count"]
        ),
    )
    return lines


def _waits_text(waits: dict[str, float]) -> str:
    longest = sorted(waits.items(), key=lambda item: -item[1])
    return ", ".join(f"{percent(part)} {waits_for(why)}" for why, part in longest if part >= 0.005)


def simulate_call(
    subject: Subject,
    args: Any,
    kwargs: Any,
    overrides: Mapping[str, float],
    call: tuple[Any, _dvm.WatchedCall] | None = None,
) -> SimulatedProfile:
    """Time what a watched call ran; see `dvm.profile`. call: what `watch` says of it, if it was."""
    value, watched = call or subject.watch(True, ROOM, args, kwargs)
    target = subject.target
    ran = watched.programs
    programs = [(program, buffers) for _, program, buffers, *_ in ran]
    timed = _dvm.time_programs(programs, target, dict(overrides))
    names = step_names(subject, watched.steps)
    kernels: list[Kernel] = []
    for (label, *_), program, timing in zip(ran, programs, timed, strict=True):
        if not kernels or kernels[-1].label != label:
            name, lines, region = names[label]
            kernels.append(Kernel(name, label, region, lines, [], []))
        kernels[-1].programs.append(program)
        kernels[-1].timings.append(timing)
    return SimulatedProfile(
        function=subject.name,
        target=target,
        value=value,
        subject=subject,
        watched=watched,
        overrides=dict(overrides),
        kernels=kernels,
    )


def step_names(subject: Subject, steps: list[dict[str, Any]]) -> list[tuple[str, list[str], bool]]:
    """Return of each step its name, its lines, and whether it is a Region."""
    paths = subject.paths()
    counts = [len(fused_graphs(path)) for path in paths]
    named: list[tuple[str, list[str], bool]] = []
    for step in steps:
        if step["path"] < 0 or step["region"] < 0:
            named.append((step["name"], [], False))
            continue
        before = sum(counts[: step["path"]])
        name = f"g{before + step['segment']}.r{step['region']}"
        lines = region_lines(paths[step["path"]], before)
        named.append((name, lines.get(name, []), True))
    return named
