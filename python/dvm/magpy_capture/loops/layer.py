"""The parts of loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.walk.layer import WalkPart

if TYPE_CHECKING:
    from dvm.magpy_capture.loops.handed import HandedValues
    from dvm.magpy_capture.loops.held import HeldAttributes
    from dvm.magpy_capture.loops.left_behind import LeftBehind
    from dvm.magpy_capture.loops.lent import LentArrays
    from dvm.magpy_capture.loops.lists import LoopLists
    from dvm.magpy_capture.loops.recursion import Recursions
    from dvm.magpy_capture.loops.rolling import Loops
    from dvm.magpy_capture.loops.written_beside import WrittenBeside


class LoopPart(WalkPart):
    """Has all others."""

    held: HeldAttributes
    left_behind: LeftBehind
    lent: LentArrays
    loop_lists: LoopLists
    written_beside: WrittenBeside
    loops: Loops
    recursions: Recursions
    values_handed: HandedValues


__all__ = ["LoopPart"]
