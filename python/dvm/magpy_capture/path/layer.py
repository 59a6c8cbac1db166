"""The parts of the path itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.recording.layer import RecordingPart

if TYPE_CHECKING:
    from dvm.magpy_capture.path.graphs import Graphs
    from dvm.magpy_capture.path.ledger import Ledger
    from dvm.magpy_capture.path.loop_policy import LoopPolicy
    from dvm.magpy_capture.path.materialiser import Materialiser
    from dvm.magpy_capture.path.program import Program
    from dvm.magpy_capture.path.recursion_policy import RecursionPolicy
    from dvm.magpy_capture.path.settled import Settled
    from dvm.magpy_capture.path.sizes import Sizes
    from dvm.magpy_capture.path.varying import Varying


class PathPart(RecordingPart):
    """Has the path: its steps, its graph, its changes."""

    loop_policy: LoopPolicy
    recursion_policy: RecursionPolicy
    materialiser: Materialiser
    program: Program
    ledger: Ledger
    settled: Settled
    graph: Graphs
    sizes: Sizes
    varying: Varying


__all__ = ["PathPart"]
