"""Parts of a recording that are lowered on their own: turns of loops, activations of functions."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dvm.magpy_capture.path.spec import NotCapturable, PathSpec
from dvm.magpy_capture.path.varying import ValueHistory

if TYPE_CHECKING:
    import types

    from dvm.magpy_capture.loops.histories import LoopHistories
    from dvm.magpy_capture.loops.recorded_loops import RecordedLoop
    from dvm.magpy_capture.path.program import Program
    from dvm.magpy_capture.recording.findings import Findings


def lower_part(
    lower: Callable[..., None],
    program: Program,
    recording: dict[str, Any],
    function: types.FunctionType,
    known: LoopHistories,
    found: Findings,
    varying: set[int],
) -> PathSpec:
    """The path of such a part, for the path that `program` has.

    varying: places of the arguments that are other texts in each run.

    Raises:
        NotCapturable: where it ends in a fallback.
    """
    own = program.spec
    spec = PathSpec(own.target, own.numerics, own.precision, own.passes)
    values = ValueHistory(varying={("argument", place) for place in varying})
    lower(spec, recording, function, program.deadline, loops=known, varying=values, found=found)
    if spec.reason:
        raise NotCapturable(spec.reason, spec.reason_at)  # type: ignore[arg-type]
    return spec


def cut_out(recording: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
    """What the recording of these events has besides its own nodes, events and result."""
    return {
        "dropped": recording["dropped"],
        "whole": recording.get("whole", recording),
        "layouts": [each for each in recording["layouts"] if begin <= each < end],
        "loops": loops_within(recording, begin, end),
        "activations": [
            each for each in recording["activations"] if begin <= each.enter and each.leave < end
        ],
        "aborted": "",
        "aborted_at": ("", 0),
    }


def loops_within(recording: dict[str, Any], begin: int, end: int) -> list[RecordedLoop]:
    """Those whose events are all among these."""
    loops: list[RecordedLoop] = recording["loops"]
    first, last = (
        bisect.bisect_left(loops, at, key=lambda each: each.enter) for at in (begin, end)
    )
    return [each for each in loops[first:last] if each.out < end]


__all__ = ["cut_out", "loops_within", "lower_part"]
