"""Capture: from the recording of one real execution to a path (paper MagPy, sections 4-6).

The native tracer (cpp/capture) records; `lower` gives each recorded event its meaning and writes
the steps of the path. What it does not understand ends the path in a fallback with a reason.

The folders are layers, bottom up: each uses only those before it (docs/architecture.md).

recording  what was recorded, as data
values     what is known of each value
path       the steps of a path, its registers and guards; the graph and its segments; the ledger
tensors    arrays of any library: memory, views, writes, reductions
objects    objects of the caller and of the program: containers, instances, identity
meanings   what functions mean: Python's own, NumPy's and PyTorch's
walk       the way through the events: calls, operators, lookups, branches; the end of the path
loops      turns of a loop as one body
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dvm import _dvm
from dvm.annotating import annotated_leaves, leaf_packages
from dvm.magpy_capture.loops.histories import LoopHistories
from dvm.magpy_capture.lower import lower as lower_recording
from dvm.magpy_capture.lowering import Lowering
from dvm.magpy_capture.meanings.numpy.tables import leaves as numpys_leaves
from dvm.magpy_capture.meanings.python.leaves import leaves as pythons_leaves
from dvm.magpy_capture.meanings.torch import arrival
from dvm.magpy_capture.path.deadline import Deadline
from dvm.magpy_capture.path.spec import Example, NotCapturable, OutOfTime, PathSpec
from dvm.magpy_capture.path.varying import ValueHistory
from dvm.magpy_capture.registry import TRAMPOLINES

__all__ = [
    "Example",
    "Lowering",
    "NotCapturable",
    "OutOfTime",
    "PathSpec",
    "look_around",
    "lower",
    "refresh_leaves",
]


def refresh_leaves() -> None:
    """Tell the recorder which functions it must not enter, and which it passes over."""
    _dvm.set_leaf_packages(leaf_packages())
    _dvm.set_leaves([*numpys_leaves(), *pythons_leaves(), *arrival.leaves(), *annotated_leaves()])
    _dvm.set_trampolines([(function, asks) for function, (asks, _) in TRAMPOLINES.items()])


refresh_leaves()


def look_around() -> bool:
    """Whether PyTorch has come since; then its tensors are arrays from here on."""
    if not arrival.has_arrived():
        return False
    arrival.welcome()
    refresh_leaves()
    return True


def lower(
    compiled: Any,
    recording: dict[str, Any],
    nanos: int | None = None,
    *,
    example: Example | None = None,
    read: Callable[[Lowering], None] | None = None,
) -> PathSpec:
    """Turn a recording of a call of `compiled` into a path.

    example: the call, where the path is for a file.
    read: is given what is known of the path at its end, if it has one.

    Raises:
        OutOfTime: if that takes this thread longer than `nanos` nanoseconds.
    """
    options = compiled.options
    passes = None if options.passes is None else options.passes.captured
    spec = PathSpec(options.target, options.numerics, options.precision, passes, example=example)
    has_paths = compiled.stats.captures > 0
    loops = vars(compiled).setdefault("loops", LoopHistories())
    loops.recordings += 1
    lower_recording(
        spec,
        recording,
        compiled.__wrapped__,
        Deadline(nanos),
        has_paths=has_paths,
        loops=loops,
        varying=vars(compiled).setdefault("varying", ValueHistory()),
        read=read,
    )
    return spec
