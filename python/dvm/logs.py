"""Logs by topic: `dvm.set_logs("recompiles", "drops")`, or the environment variable DVM_LOGS.

Messages go through Python's `logging`, each topic to the logger "dvm.<topic>" at level INFO, so
that a program may send them where it likes; where it has configured no logging, to stderr. They are
made from the records that `explain` and `why_recompiled` read. While no topic is on, nothing is
made.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from dvm import _dvm, errors

#: topic -> what it prints; those of the native driver besides
TOPICS: dict[str, str] = {
    "captures": "each call that was captured, and how many steps and graphs it became",
    "recompiles": "why a call was captured although paths were known",
    "drops": "why a path that took a call could not finish it",
    "fallbacks": "what ends a path where the original runs, with a hint",
    "guards": "the guards of each new path",
    "opaque": "the opaque calls of each new path",
    "segments": "the graphs of each new path",
    "bytecode": "the bytecode of each new path, at the sizes of its capture",
    **dict(_dvm.log_topics),
}

_enabled: tuple[str, ...] = ()


def set_logs(*topics: str) -> tuple[str, ...]:
    """Turn on these topics and all others off; without arguments, all off.

    Args:
        topics: names of `dvm.logs.TOPICS`, or several in one string with commas between them, as
            in DVM_LOGS; "all" is every topic.

    Returns:
        The topics that were on before.

    Raises:
        UnsupportedError: for an unknown topic; the message lists them.
    """
    global _enabled
    names = [name.strip() for text in topics for name in text.split(",") if name.strip()]
    for name in names:
        if name != "all" and name not in TOPICS:
            raise errors.unknown("unknown_name", "log topic", name, [*TOPICS, "all"])
    before, _enabled = _enabled, tuple(TOPICS if "all" in names else dict.fromkeys(names))
    if _enabled:
        _listen()
    _dvm.enable_logs(list(_enabled))
    _dvm.set_observer(_report if set(_enabled) & set(REPORTS) else None)
    return before


def from_environment() -> None:
    """Turn on the topics that DVM_LOGS names."""
    if topics := os.environ.get("DVM_LOGS", ""):
        set_logs(topics)


def _listen() -> None:
    import logging  # not before anybody asks for it: importing it takes time

    logger = logging.getLogger("dvm")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
        logger.addHandler(handler)
    _dvm.send_logs_to(_log)


def _log(topic: str, message: str) -> None:
    import logging

    logging.getLogger(f"dvm.{topic}").info("%s", message)


def _report(compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> None:
    """Log one event of a compiled function; the core calls it."""
    for topic in _enabled:
        if report := REPORTS.get(topic):
            for message in report(compiled, event):
                _log(topic, f"{compiled.label}: {message}")


def _path(compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> _dvm.PathRecord | None:
    """Return the path that the event added."""
    added = event["kind"] != "drop" and event["path"] >= 0
    return _dvm.paths(compiled)[event["path"]] if added else None


def _captures(compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> list[str]:
    path = _path(compiled, event)
    if path is None:
        return []
    steps = path["steps"].splitlines()
    graphs = sum(" segment " in f" {line} " for line in steps)
    what = "a fallback" if path["reason"] else f"{len(steps)} steps, {graphs} graphs"
    return [f"call {event['call']} became path {event['path']}: {what}"]


def _why(event: _dvm.EventRecord) -> list[str]:
    from dvm.explaining.why_recompiled import recompilation

    return [str(recompilation(event))] if event["missed"] else []


def _recompiles(_compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> list[str]:
    return _why(event) if event["kind"] != "drop" else []


def _drops(_compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> list[str]:
    return _why(event) if event["kind"] == "drop" else []


def _fallbacks(compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> list[str]:
    path = _path(compiled, event)
    if path is None or not path["reason"]:
        return []
    where = f"{path['location']}: " if path["location"] else ""
    never = "" if compiled.stats.hits else "; no call has been replayed so far"
    return [f"{where}{path['reason']}; hint: {path['reason'].advice}{never}"]


def _guards(compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> list[str]:
    path = _path(compiled, event)
    steps = path["steps"].splitlines() if path else []
    return [line for line in steps if line.startswith("guard_")]


def _opaque(compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> list[str]:
    path = _path(compiled, event)
    calls = path["opaque_calls"] if path and not path["reason"] else []
    return [f"{call['location']}: {call['name']} is called as it is" for call in calls]


def _segments(compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> list[str]:
    path = _path(compiled, event)
    return [path["graph"]] if path and not path["reason"] and path["graph"] else []


def _bytecode(compiled: _dvm.Compiled[..., Any], event: _dvm.EventRecord) -> list[str]:
    from dvm.explaining import inspection

    path = _path(compiled, event)
    return inspection.texts_of(compiled, [path], "bytecode") if path else []


#: topic -> what it says of an event: (compiled, event) -> messages
REPORTS: dict[str, Callable[..., list[str]]] = {
    "captures": _captures,
    "recompiles": _recompiles,
    "drops": _drops,
    "fallbacks": _fallbacks,
    "guards": _guards,
    "opaque": _opaque,
    "segments": _segments,
    "bytecode": _bytecode,
}
