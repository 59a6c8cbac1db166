"""The timeline: what it shows, packed for the script that draws it."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm.profiling.chrome_trace import EVENTS, FLAGS, ORDER, columns
from dvm.profiling.measured import MeasuredProfile
from dvm.profiling.simulated import UNITS, SimulatedProfile

if TYPE_CHECKING:
    from dvm.profiling.profile import Profile

#: events that a page holds: some 0.5 MB; of more, the cores that come first
MOST_EVENTS = 120_000

HELP = (
    "Ctrl and the wheel or + and - zoom, drag or the arrow keys move, 0 shows all, "
    "n and p go from one to the next; a click selects."
)


def timeline_section(profile: Profile) -> tuple[str, dict[str, Any]]:
    """Return the HTML of the timeline, and its packed events."""
    packed = _simulated(profile) if isinstance(profile, SimulatedProfile) else _measured(profile)
    if not packed["count"]:
        return "", packed
    left_out = f" {packed['left_out']} cores are left out." if packed["left_out"] else ""
    return (
        f'<p class="help">{HELP}{left_out}</p><div id="rows">'
        '<canvas id="axis" aria-hidden="true"></canvas>'
        '<canvas id="timeline" tabindex="0" role="application" '
        f'aria-label="timeline of {len(packed["rows"])} rows. {HELP}"></canvas></div>'
        '<p id="shown"></p>'
    ), packed


def pack(column: np.ndarray[Any, Any]) -> str:
    """Return a column of whole numbers as text: differences, compressed."""
    data = np.diff(column.astype(np.int32), prepend=np.int32(0)).astype("<i4").tobytes()
    return base64.b64encode(zlib.compress(data, 9)).decode()


def _packed(
    rows: list[str], names: list[str], kernels: list[str], unit: str, **given: Any
) -> dict[str, Any]:
    count = len(given["begin"])
    return {
        "rows": rows,
        "names": names,
        "kernels": kernels,
        "unit": unit,
        "count": count,
        "left_out": given.pop("left_out", 0),
        "flags": given.pop("flags", {"count": 0}),
        "columns": {key: pack(np.asarray(values)) for key, values in given.items()},
    }


def _simulated(profile: SimulatedProfile) -> dict[str, Any]:
    pipes = list(UNITS)
    order = np.array([ORDER.index(name) for name in pipes])
    timelines = profile.timelines()
    kernels = list(dict.fromkeys(kernel.name for kernel, _ in timelines))
    names: dict[str, int] = {}
    parts: dict[str, list[Any]] = {key: [] for key in ("row", "begin", "length", "name", "kernel")}
    flags: dict[str, list[Any]] = {key: [] for key in ("from", "to", "set", "seen")}
    total = sum(len(timing["events"]["core"]) // 4 for _, timing in timelines)
    cores = max((len(timing["cores"]) for _, timing in timelines), default=0)
    shown = cores if total <= MOST_EVENTS else max(1, cores * MOST_EVENTS // total)
    for kernel, timing in timelines:
        done = columns(timing["events"], EVENTS)
        keep = done["core"] < shown
        done = {key: column[keep] for key, column in done.items()}
        own = np.array(
            [names.setdefault(one["name"], len(names)) for one in timing["instructions"]]
            + [names.setdefault("tiles", len(names))]
        )
        wait = names.setdefault("wait", len(names))
        start = timing["begin"]
        begins = np.rint(done["begin"] + start).astype(np.int64)
        parts["begin"].append(begins)
        parts["length"].append(np.rint(done["end"] + start).astype(np.int64) - begins)
        parts["row"].append(done["core"] * len(pipes) + order[done["pipe"]])
        parts["name"].append(np.where(done["waits"] != 0, wait, own[done["insn"]]))
        parts["kernel"].append(np.full(len(begins), kernels.index(kernel.name)))
        sent = columns(timing["flags"], FLAGS)
        keep = sent["core"] < shown
        sent = {key: column[keep] for key, column in sent.items()}
        flags["from"].append(sent["core"] * len(pipes) + order[sent["src"]])
        flags["to"].append(sent["core"] * len(pipes) + order[sent["dst"]])
        flags["set"].append(np.rint(sent["set"] + start).astype(np.int64))
        flags["seen"].append(np.rint(sent["seen"] + start).astype(np.int64))
    if not timelines:
        return {"count": 0}
    joined = {key: np.concatenate(values) for key, values in parts.items()}
    arrows = {key: np.concatenate(values) for key, values in flags.items()}
    # A row in which a pipe only waits says nothing that the row it waits for does not.
    works = np.isin(joined["row"], joined["row"][joined["name"] != names["wait"]])
    joined = {key: column[works] for key, column in joined.items()}
    used, joined["row"] = np.unique(joined["row"], return_inverse=True)
    at = np.lexsort((joined["begin"], joined["row"]))
    joined = {key: column[at] for key, column in joined.items()}
    by_seen = np.lexsort((arrows["seen"], arrows["to"]))
    arrows = {key: column[by_seen] for key, column in arrows.items()}
    # Rows of pipes that did nothing but set flags are not shown, nor their arrows.
    known = np.isin(arrows["from"], used) & np.isin(arrows["to"], used)
    arrows = {key: column[known] for key, column in arrows.items()}
    arrows["from"] = np.searchsorted(used, arrows["from"])
    arrows["to"] = np.searchsorted(used, arrows["to"])
    rows = [f"core {row // len(pipes)} {UNITS[ORDER[row % len(pipes)]]}" for row in used.tolist()]
    packed_flags = {"count": len(arrows["set"]), **{key: pack(c) for key, c in arrows.items()}}
    return _packed(
        rows, list(names), kernels, "cycles", flags=packed_flags, left_out=cores - shown, **joined
    )


def _measured(profile: Profile) -> dict[str, Any]:
    assert isinstance(profile, MeasuredProfile)
    kernels = list(dict.fromkeys(kernel.name for kernel in profile.kernels)) or [""]
    names: dict[str, int] = {}
    places = {thread: k for k, thread in enumerate(profile.threads, 2)}
    events: dict[str, list[int]] = {key: [] for key in ("row", "begin", "length", "name", "kernel")}
    for what, name, thread, begin, end, _ in sorted(profile.slices, key=lambda one: one[3]):
        if what in ("plan", "launch"):
            continue
        shown = name if what in ("step", "opaque") else what
        events["row"].append({"tiles": places[thread], "encode": 1}.get(what, 0))
        events["begin"].append(begin)
        events["length"].append(end - begin)
        events["name"].append(names.setdefault(shown, len(names)))
        events["kernel"].append(kernels.index(name) if name in kernels else 0)
    if not events["row"]:
        return {"count": 0}
    at = np.lexsort((events["begin"], events["row"]))
    columns_ = {key: np.array(values)[at] for key, values in events.items()}
    # The caller's steps stand above what is within them; rows without anything go.
    rows = ["steps", "encode", *(f"thread {k} tiles" for k in profile.threads)]
    used, columns_["row"] = np.unique(columns_["row"], return_inverse=True)
    return _packed([rows[k] for k in used], list(names), kernels, "ns", **columns_)
