"""The parts that tensors of any library have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.path.layer import PathPart

if TYPE_CHECKING:
    from dvm.magpy_capture.tensors.arrays import Arrays
    from dvm.magpy_capture.tensors.contractions import Contractions
    from dvm.magpy_capture.tensors.elementwise import Elementwise
    from dvm.magpy_capture.tensors.indexing import Indexing
    from dvm.magpy_capture.tensors.layouts import Layouts
    from dvm.magpy_capture.tensors.maybe_views import MaybeViews
    from dvm.magpy_capture.tensors.reduced_axes import ReducedAxes
    from dvm.magpy_capture.tensors.rules import Rules
    from dvm.magpy_capture.tensors.shared_memory import SharedMemory
    from dvm.magpy_capture.tensors.writes import Writes
    from dvm.magpy_capture.tensors.written_parts import WrittenParts


class TensorPart(PathPart):
    """Has the path, and tensors."""

    rules: Rules
    updates: WrittenParts
    views: MaybeViews
    arrays: Arrays
    layouts: Layouts
    writes: Writes
    elementwise: Elementwise
    reduced_axes: ReducedAxes
    memory: SharedMemory
    indexing: Indexing
    contractions: Contractions


__all__ = ["TensorPart"]
