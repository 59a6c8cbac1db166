"""The events of the recorded call, and the objects that were seen at its nodes."""

from __future__ import annotations

from typing import Any

from dvm.magpy_capture.libraries import is_plain_array
from dvm.magpy_capture.recording.layer import RecordingPart


class Record(RecordingPart):
    """One recording. A node is a number; its object is that of the recorded call."""

    def __init__(self, recording: dict[str, Any]) -> None:
        self.recording = recording
        self.events: list[Any] = recording["events"]
        self.nodes = recording["nodes"]
        #: nodes of what the program has dropped, and the recording has let go
        self.dropped: list[int] = recording.get("dropped", [])
        # Of an array that the program gave another shape or dtype, by its id: a view of it as it
        # was before. The recorded object itself is as it was left.
        self.came: dict[int, Any] = {}
        self.shaped: set[int] = set()  # ids of both
        for number in recording["layouts"]:
            left = self.nodes[self.events[number][2][0]][4]
            if id(left) in recording["snapshots"] and is_plain_array(left):
                self.came[id(left)] = recording["snapshots"][id(left)]
                self.shaped |= {id(left), id(self.came[id(left)])}

    def seen(self, node: int) -> Any:
        """The object at a node, as it came."""
        if node < 0:
            return None
        seen = self.nodes[node][4]
        return self.came.get(id(seen), seen) if self.came else seen

    def has_kept(self, nodes: list[int]) -> bool:
        """Whether they still have their objects."""
        return not self.dropped or not any(node in self.dropped for node in nodes)

    def as_it_came(self, seen: Any) -> Any:
        return self.came.get(id(seen), seen) if self.came else seen


__all__ = ["Record"]
