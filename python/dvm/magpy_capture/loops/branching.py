"""Whether the turns of a loop go their ways by numbers that came from the data.

`if crc & 1` asks a number that nobody compares. Where it comes from arrays, or changes from turn to
turn and began as an argument, unrolled turns are a path for each way through all of them. Where it
counts the turns, or is one that calls rarely change, each turn goes one way, and is known.
"""

from __future__ import annotations

from typing import Any

from dvm.magpy_capture.libraries import SCALARS, is_array
from dvm.magpy_capture.loops.recorded_loops import RecordedLoop, asks_value, variables_at
from dvm.magpy_capture.registry import OF_KINDS

#: what calls differ in, mostly, where turns have computed with it
DATA = (int, float, complex, str, bytes, *SCALARS)
SEQUENCES = (list, tuple)
#: whose items are numbers of turns
COUNTED = {type(iter(range(1))), type(iter(range(1 << 70)))}
#: attributes and methods whose result tells nothing of what an array holds
OF_SHAPES = frozenset(
    "shape size ndim T dtype dim numel device layout itemsize requires_grad is_cuda is_cpu "
    "is_nested is_floating_point".split()
)


def branches_on_data(recording: dict[str, Any], turns: RecordedLoop) -> bool:
    """Whether a branch of the first turn or the last one asks such a number."""
    events = recording["events"]
    origins = DataOrigins(recording, turns)
    return any(
        asks_value(events[number]) and origins.is_data(events[number][2][0])
        for turn in {0, turns.count - 1}
        for number in range(turns.first_event(turn), turns.event_behind(turn))
    )


def ways_shown(recording: dict[str, Any], turns: RecordedLoop, called: dict[int, int]) -> int:
    """How many ways the recorded turns went, loops and `called` activations within them aside."""
    events, ways = recording["events"], set()
    for turn in range(turns.count):
        answers, within, behind = [], 0, 0
        for number in range(turns.headers[turn] + 1, turns.event_behind(turn)):
            if number < behind:
                continue
            behind = called.get(number, behind)
            event = events[number]
            kind = event[0]
            if kind == "branch" and not within:
                answers.append((event[1], *event[3]))
            elif kind == "header":
                within += event[1].startswith("enter")
            elif kind == "out":
                within -= 1
        ways.add(tuple(answers))
    return len(ways)


class DataOrigins:
    """Which values of a recorded loop were computed of data."""

    def __init__(self, recording: dict[str, Any], turns: RecordedLoop) -> None:
        self._events, self._nodes = recording["events"], recording["nodes"]
        self._seen: set[tuple[int, bool]] = set()  # those that are not, so far
        # What stands for a variable in a turn: for what it was before, and whether turns set it.
        self._before: dict[int, tuple[int, bool]] = {
            new: (old, name in turns.loop.stored)
            for event in self._events[turns.enter : turns.out]
            if event[0] in ("header", "out")
            for name, old, new in variables_at(event)
        }

    def is_data(self, node: int) -> bool:
        """Whether it goes back to an array, or by what turns change to an argument."""
        waiting = [(node, False)]
        while waiting:
            each = waiting.pop()
            if each in self._seen:
                continue
            self._seen.add(each)
            node, changes = each
            if node in self._before:
                node, is_set = self._before[node]
                waiting.append((node, changes or is_set))
                continue
            origin, made, _, _, seen, _ = self._nodes[node]
            kind = type(seen)  # an object may see that somebody asks for its __class__
            if is_array(seen) or (
                origin == "argument" and changes and issubclass(kind, (*DATA, *SEQUENCES))
            ):
                return True
            if origin == "event":
                waiting += self._made_of(made, changes, seen)
        return False

    def _made_of(self, made: int, changes: bool, seen: Any) -> list[tuple[int, bool]]:
        """The values that an event has made it of, and whether turns change it."""
        kind, name, operands, *_ = self._events[made]
        if kind == "next":
            of_turns = type(self._nodes[operands[0]][4]) in COUNTED
            is_number = issubclass(type(seen), (*DATA, tuple))
            return [] if of_turns else [(operands[0], changes or is_number)]
        if kind == "attribute" and name in OF_SHAPES:
            return []
        if kind == "is":
            return []
        if kind == "call" and any(self._nodes[operands[0]][4] is each for each in OF_KINDS):
            return []
        if kind == "unpack" and self._is_number_of_turn(operands[0], name):
            return []
        return [(operand, changes) for operand in operands]

    def _is_number_of_turn(self, node: int, place: str) -> bool:
        """Whether that part of it is the one that `enumerate` puts first."""
        origin, made, *_ = self._nodes[node]
        if origin != "event" or self._events[made][0] != "next" or not place.startswith("0"):
            return False
        return type(self._nodes[self._events[made][2][0]][4]) is enumerate


__all__ = ["branches_on_data", "ways_shown"]
