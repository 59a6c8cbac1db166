"""The parts of the recording itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm.magpy_capture.part import Part

if TYPE_CHECKING:
    from dvm.magpy_capture.recording.record import Record


class RecordingPart(Part):
    """Has the recording."""

    record: Record


__all__ = ["RecordingPart"]
