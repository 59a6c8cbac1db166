"""From a recording to a path: it is lowered, and again where that found out what matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.libraries import LIBRARIES
from dvm.magpy_capture.loops.histories import LoopHistories
from dvm.magpy_capture.lowering import Lowering
from dvm.magpy_capture.path.deadline import NEVER, Deadline
from dvm.magpy_capture.path.graphs import Modes
from dvm.magpy_capture.path.spec import NotCapturable, OutOfTime, PathSpec, Steps
from dvm.magpy_capture.path.varying import ValueHistory
from dvm.magpy_capture.recording.findings import Findings


def lower(
    spec: PathSpec,
    recording: dict[str, Any],
    function: Any,
    deadline: Deadline = NEVER,
    *,
    has_paths: bool = False,
    loops: LoopHistories | None = None,
    varying: ValueHistory | None = None,
    found: Findings | None = None,
    read: Callable[[Lowering], None] | None = None,
) -> None:
    """Fill `spec` with the steps of the recorded path of `function`; it may end in a fallback.

    Where the body of one of NumPy's own functions cannot be lowered, all is lowered again with that
    function called as it is: innermost first. Likewise a loop that cannot be rolled is unrolled.

    loops: what is known of the function's loops, which grows.
    varying: what is known of texts and lengths that its calls have brought, which grows.
    found: what lowerings of the recording, of which it may be a turn, have found out; it grows.
    read: is given what is known of the path at its end.
    """
    entry: Modes = LIBRARIES[0].error_state()
    found = Findings() if found is None else found
    known = LoopHistories() if loops is None else loops
    known_values = ValueHistory() if varying is None else varying
    while True:
        lowering = Lowering.begin(
            spec, recording, function, entry, found, deadline, has_paths, known, known_values, lower
        )
        refusal = refusal_of(lowering)
        if refusal is None or not (lowering.varying.pin() or lowering.walk.found_out(found)):
            break
        lowering.close()
        spec.steps.clear()
    if refusal is not None:
        spec.reason, spec.reason_at = refusal.reason, refusal.at
        spec.refused_lines = [lowering.walk.own_line, refusal.at[1]]
    steps = lowering.program.steps
    if refusal is not None:
        _end_in_fallback(steps, refusal)
    lowering.graph.finish_segments()
    spec.steps = steps.with_lines()
    if refusal is not None and lowering.loops.steps_before is not None:
        before = Steps(steps[: lowering.loops.steps_before])
        _end_in_fallback(before, refusal)
        spec.steps_before_loop = before.with_lines()
    spec.sizes = lowering.graph.symbol_values
    if read is not None and refusal is None:
        read(lowering)
    lowering.close()


def _end_in_fallback(steps: Steps, refusal: NotCapturable) -> None:
    """Keep of the steps of a call that was refused what must hold for a call to be like it."""
    if ("commit",) in steps:
        del steps[steps.index(("commit",)) :]
    while steps and not steps[-1][0].startswith("guard"):
        steps.pop()
    steps.append(("fallback", refusal.reason, refusal.at))


def refusal_of(lowering: Lowering) -> NotCapturable | None:
    """Lower, and return why that was given up, if it was.

    The exception raised would keep alive, by its traceback, what the program has dropped.
    """
    try:
        lowering.walk.run()
        return None
    except NotCapturable as refusal:
        refusal.place(lowering.program.at)
        reason, at = refusal.reason, refusal.at
    except _dvm.Error as error:  # a limit of the core: rank, number of symbols ...
        reason, at = reasons.CORE(error), lowering.program.at
    except RecursionError:
        reason, at = reasons.NESTED_TOO_DEEP(), lowering.program.at
    except OutOfTime as over:  # the outermost says it last
        over.share = lowering.walk.share_done
        lowering.close()
        raise
    return NotCapturable(reason, at)


__all__ = ["lower"]
