"""`Compiled.why_recompiled`: why calls were captured again, or not served by a path that took them.

The native core keeps one record per capture and per step that dropped a replay; this module puts
the user's source and an advice beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dvm import _dvm
from dvm.explaining.advice import advice_for_drop, advice_for_guard
from dvm.explaining.lines import Answers, quoted, source

#: what paths missed at one place is printed for so many
MOST = 3


@dataclass(frozen=True)
class Reason:
    """Why one step of a path did not take a call.

    guard: the kind of step, a row of cpp/capture/path/steps.def: "guard_signature", "guard_truth"
    what: what the user calls it: "argument x", "argument model.scale"; may be empty.
    wanted, seen: the value of the path and that of the call, where they can be told apart.
    text: all of that as one sentence.
    location, source: the line of the program that first relied on it, "file.py:12".
    advice: what to do about it.
    """

    guard: str
    what: str
    wanted: str
    seen: str
    text: str
    location: str
    source: str
    advice: str

    def __str__(self) -> str:
        return _together([self])


@dataclass(frozen=True)
class Recompilation:
    """One capture after the first, or one place where replays were dropped.

    kind: "capture" (the call got a compiled path of its own), "fallback" (it got a path that ends
        where the original runs) or "drop" (a path took the call, but could not finish it).
    path: index of the path that was added, or that dropped; -1 of one whose code was replaced.
    call: which call of the function it was (the first such one), counted from 1.
    count: how many calls were dropped there; 1 for captures.
    reasons: of captures what each known path missed; of drops the one reason.
    """

    kind: str
    path: int
    call: int
    count: int
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        what = {
            "capture": f"call {self.call} was captured as path {self.path}, because",
            "fallback": f"call {self.call} became path {self.path}, which ends uncompiled, because",
            "drop": f"call {self.call} (and {self.count - 1} more) left path {self.path} and ran "
            "uncompiled, because",
        }[self.kind]
        alike: dict[tuple[str, ...], list[Reason]] = {}
        for reason in self.reasons:
            key = (reason.guard, reason.what, reason.location, reason.advice)
            alike.setdefault(key, []).append(reason)
        return "\n".join([what, *map(_together, alike.values())])


def _together(reasons: Sequence[Reason]) -> str:
    """What paths missed at one place, with what is to be done about it once."""
    texts = Counter(reason.text for reason in reasons)
    named = [f"  {text}{of_paths(count)}" for text, count in list(texts.items())[:MOST]]
    beyond = sum(list(texts.values())[MOST:])
    more = [f"  likewise {beyond} more path{'s' * (beyond > 1)}"] if beyond else []
    first = reasons[0]
    where = [f"    {quoted(first.location)}"] if first.location else []
    return "\n".join([*named, *more, *where, f"    what to do: {first.advice}"])


def of_paths(count: int) -> str:
    """Return what is added where so many paths missed the same."""
    return f" ({count} paths)" if count > 1 else ""


def why_recompiled(compiled: _dvm.Compiled[..., Any]) -> Answers[Recompilation]:
    """See `Compiled.why_recompiled`."""
    return Answers(recompilation(event) for event in _dvm.history(compiled) if event["missed"])


def recompilation(event: _dvm.EventRecord) -> Recompilation:
    """Return one record of the core with source and advice."""
    drop = event["kind"] == "drop"
    return Recompilation(
        kind=event["kind"],
        path=event["path"],
        call=event["call"],
        count=event["count"],
        reasons=tuple(_reason(miss, drop=drop) for miss in event["missed"]),
    )


def _reason(miss: _dvm.MissRecord, *, drop: bool) -> Reason:
    advice = advice_for_drop(miss["code"]) if drop else advice_for_guard(miss["step"])
    return Reason(
        guard=miss["step"],
        what=miss["what"],
        wanted=miss["wanted"],
        seen=miss["seen"],
        text=miss["text"],
        location=miss["location"],
        source=source(miss["location"]),
        advice=advice,
    )
