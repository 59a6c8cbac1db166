"""The parts of loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.walk.layer import WalkPart

if TYPE_CHECKING:
    from dvm.magpy_capture.loops.held import HeldAttributes
    from dvm.magpy_capture.loops.lent import LentArrays
    from dvm.magpy_capture.loops.lists import LoopLists
    from dvm.magpy_capture.loops.rolling import Loops
    from dvm.magpy_capture.loops.written_beside import WrittenBeside


class LoopPart(WalkPart):
    """Has all others."""

    held: HeldAttributes
    lent: LentArrays
    loop_lists: LoopLists
    written_beside: WrittenBeside
    loops: Loops


__all__ = ["LoopPart"]
