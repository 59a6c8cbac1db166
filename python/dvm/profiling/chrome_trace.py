"""Timelines as Chrome's trace events, which Perfetto and chrome://tracing show.

Slices of a thread nest, as Perfetto wants it; times are whole nanoseconds, so that rounding keeps
them so. Arrows go from within the slice that sets a flag to within the one that waits for it.
"""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm import _dvm

if TYPE_CHECKING:
    from dvm.profiling.measured import MeasuredProfile
    from dvm.profiling.simulated import SimulatedProfile

Event = dict[str, Any]

#: the columns of timelines: dtype of each
EVENTS = {
    "core": np.int32,
    "pipe": np.int32,
    "insn": np.int32,
    "waits": np.int32,
    "tile": np.int64,
    "begin": np.float64,
    "end": np.float64,
    "done": np.float64,
}
FLAGS = {
    "core": np.int32,
    "src": np.int32,
    "dst": np.int32,
    "event": np.int32,
    "set": np.float64,
    "seen": np.float64,
}
#: thread of a pipe, by its number: the scalar unit issues, data come in, are computed, go out
ORDER = ("scalar", "load", "feed", "cube", "simd", "fix", "store")


def columns(packed: dict[str, bytes], dtypes: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of a timeline as arrays."""
    return {name: np.frombuffer(packed[name], dtype) for name, dtype in dtypes.items()}


def write(path: Path, events: list[Event]) -> None:
    """Write the events as a file; compressed if its name ends in .gz."""
    text = json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, separators=(",", ":"))
    data = text.encode()
    # Without a time stamp, so that equal profiles are equal files.
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def _named(pid: int, name: str, threads: dict[int, str]) -> list[Event]:
    events: list[Event] = [
        {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}},
        {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}},
    ]
    for tid, thread in threads.items():
        events.append(
            {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": thread}}
        )
        events.append(
            {
                "ph": "M",
                "pid": pid,
                "tid": tid,
                "name": "thread_sort_index",
                "args": {"sort_index": tid},
            }
        )
    return events


def _slice(name: str, pid: int, tid: int, begin: int, end: int, args: dict[str, Any]) -> Event:
    """Return a slice; times in nanoseconds."""
    return {
        "ph": "X",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": begin / 1000,
        "dur": (end - begin) / 1000,
        "args": args,
    }


def of_simulation(profile: SimulatedProfile) -> list[Event]:
    """Return the timeline of a simulated call: the launches, then a process per core."""
    nanoseconds = 1000 / profile.mhz
    timelines = profile.timelines()
    pipes = [name for name, *_ in _dvm.pipe_table]
    units = {k: unit for k, (_, unit, *_) in enumerate(_dvm.pipe_table)}
    tids = {k: ORDER.index(name) for k, name in enumerate(pipes)}
    cores = max((len(timing["cores"]) for _, timing in timelines), default=0)
    used = {
        (core, k)
        for _, timing in timelines
        for core, times in enumerate(timing["cores"])
        for k, name in enumerate(pipes)
        if times["pipes"][name]["operations"]
    }
    events = _named(0, f"{profile.target}, simulated", {0: "launches"})
    for core in range(cores):
        threads = {tids[k]: units[k] for k in units if (core, k) in used}
        events += _named(core + 1, f"core {core}", threads)
    flow = 0
    for kernel, timing in timelines:
        start = timing["begin"]
        begin, end = round(start * nanoseconds), round(timing["end"] * nanoseconds)
        events.append(
            _slice(kernel.name, 0, 0, begin, end, {"lines": kernel.lines, "tiles": timing["tiles"]})
        )
        named = [one["name"] for one in timing["instructions"]]
        done = columns(timing["events"], EVENTS)
        begins = np.rint((done["begin"] + start) * nanoseconds).astype(np.int64)
        ends = np.rint((done["end"] + start) * nanoseconds).astype(np.int64)
        places: dict[tuple[int, int], list[int]] = {}
        rows = zip(
            *(done[key].tolist() for key in ("core", "pipe", "insn", "waits", "tile")),
            begins.tolist(),
            ends.tolist(),
            strict=True,
        )
        for k, (core, pipe, insn, waits, tile, first, last) in enumerate(rows):
            places.setdefault((core, pipe), []).append(k)
            name = named[insn] if insn >= 0 else "tiles"
            args = {"kernel": kernel.name, "instruction": insn, "tile": tile}
            shown = f"wait ({name})" if waits else name
            events.append(_slice(shown, core + 1, tids[pipe], first, last, args))
        flow = _arrows(events, timing, start, nanoseconds, places, (begins, ends), tids, flow)
    return events


def _arrows(
    events: list[Event],
    timing: dict[str, Any],
    start: float,
    nanoseconds: float,
    places: dict[tuple[int, int], list[int]],
    times: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
    tids: dict[int, int],
    flow: int,
) -> int:
    """Append the flags of a launch whose both ends lie in slices; return the next free id."""
    begins, ends = times
    flags = columns(timing["flags"], FLAGS)
    starts = {place: [int(begins[k]) for k in rows] for place, rows in places.items()}
    rows = zip(*(flags[key].tolist() for key in FLAGS), strict=True)
    for core, src, dst, event, when, seen in rows:
        there = places.get((core, src), [])
        # The last slice that had begun: the one that set it.
        setter = bisect_right(starts.get((core, src), []), round((when + start) * nanoseconds)) - 1
        waiter = bisect_right(starts[core, dst], round((seen + start) * nanoseconds)) - 1
        if setter < 0 or waiter < 0:
            continue
        flow += 1
        common = {"cat": "flag", "name": f"flag {event}", "id": flow, "pid": core + 1}
        at = int(begins[there[setter]])
        until = int(ends[places[core, dst][waiter]])
        events.append({"ph": "s", **common, "tid": tids[src], "ts": at / 1000})
        events.append({"ph": "f", "bp": "e", **common, "tid": tids[dst], "ts": until / 1000})
    return flow


def of_measurement(profile: MeasuredProfile) -> list[Event]:
    """Return the timeline of a measured call: a thread per thread that worked on it."""
    threads = {k: f"thread {k}" if k else "caller" for k in profile.threads}
    events = _named(1, f"{profile.target}, measured", threads)
    events.append(_slice(profile.function, 1, 0, 0, profile.wall, {}))
    for what, name, thread, begin, end, tiles in profile.slices:
        args = {"kernel": name, "tiles": tiles} if what == "tiles" else {"kernel": name}
        shown = name if what in ("step", "opaque", "tiles") else what
        events.append(_slice(shown, 1, thread, begin, end, args))
    return events
