"""What a call did, as one sentence."""

from __future__ import annotations

from typing import Any

from dvm import _dvm
from dvm.explaining.operations import NODE, fused_graphs, lines_within

#: calls that the sentence names
MOST = 3


def region_lines(path: _dvm.PathRecord, graphs: int) -> dict[str, list[str]]:
    """Region -> the lines of the user that it computes: "g0.r1" -> ["model.py:3"]."""
    lines: dict[str, list[str]] = {}
    for segment, graph in enumerate(fused_graphs(path)):
        within = lines_within(path, segment)
        at = {
            int(node): within.get(place, [place]) if op == "attention" else [place]
            for node, op, file, line in NODE.findall(graph)
            if file and (place := f"{file}:{line}")
        }
        for index, members in enumerate(_dvm.region_members(graph, path["target"])):
            found = dict.fromkeys(line for node in members for line in at.get(node, ()))
            lines[f"g{graphs + segment}.r{index}"] = list(found)
    return lines


def summary(
    compiled: _dvm.Compiled[..., Any], outcome: str, path: dict[str, Any] | None, missed: list[str]
) -> str:
    """Return what a person wants to know first."""
    if outcome == "refused":
        return f"runs uncompiled, never replayed: {missed[-1]}"
    if outcome == "drop":
        return f"this call ran uncompiled: {missed[-1]}"
    if path is None:
        why = never_replayed(compiled)  # with its price, if that is why
        waits = "" if why else _dvm.limit(compiled)
        return f"this call ran uncompiled{waits and ': '}{waits}{why}"
    if path["reason"]:
        where = _line(path["location"])
        if outcome == "split":
            parts = len(compiled.parts or ())
            return f"runs in {parts} parts, one uncompiled because of {where}{path['reason']}"
        return f"runs uncompiled because of {where}{path['reason']}{never_replayed(compiled)}"
    return _shares(path) + never_replayed(compiled)


def never_replayed(compiled: _dvm.Compiled[..., Any]) -> str:
    """Return what to add where many calls were made and none was replayed; or nothing."""
    stats = compiled.stats
    if stats.calls < 2 or stats.hits:
        return ""
    reasons = compiled.fallback_reasons or ["each call took another path; see f.why_recompiled()"]
    return f"; never replayed in {stats.calls} calls: {reasons[-1]}"


def _shares(path: dict[str, Any]) -> str:
    kernels = {name for name, ops in path["regions"].items() if ops}
    compiled = {line for lines in path["lines"].values() for line in lines}
    called = {call["location"]: call["name"] for call in path["opaque_calls"]}
    if not kernels:
        text = "runs compiled, without array work for kernels"
    else:
        among = len(compiled | called.keys())
        lines = f"{len(compiled)} of {among} line{'s' * (among != 1)}"
        text = f"{lines} of array work run as {_count(len(kernels), 'kernel')}"
    stays = [_stays(at, name) for at, name in called.items()]
    more = [f"{len(stays) - MOST} more calls are not compiled"] if len(stays) > MOST else []
    return "; ".join([text, *stays[:MOST], *more])


def _stays(location: str, name: str) -> str:
    owner = "NumPy's" if name.startswith("numpy.") else "as it is"
    where = _line(location).removesuffix(": ") or "a call"
    return f"{where} stays {owner}: {name} is not compiled"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _line(location: str) -> str:
    line = location.rpartition(":")[2]
    return f"line {line}: " if line else ""
