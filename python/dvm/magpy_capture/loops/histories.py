"""What is known of the loops of a function, from one recording to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dvm import _dvm
from dvm.magpy_capture.loops.bodies import LoopBody
from dvm.magpy_capture.loops.code import called
from dvm.magpy_capture.loops.recorded_loops import RecordedLoop
from dvm.magpy_capture.path.spec import Location
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    IteratorValue,
    Literal,
    RangeValue,
    Size,
    Tensor,
    resolve,
)

if TYPE_CHECKING:
    from dvm.reasons import Reason

#: What need not be the loop's own, for nobody can write into it.
PLAIN = (Literal, Host, Size)


@dataclass
class Rolled:
    """A loop that was rolled: its native object, what its turns do, and those lowered so far.

    recorded: of the text of each graph of a turn, the sizes that the turn had.
    recording: the last that turns were lowered of, as `LoopHistories.recordings` counts.
    """

    loop: Any
    body: LoopBody = field(default_factory=LoopBody)
    shapes: set[int] = field(default_factory=set)
    recorded: dict[str, dict[str, int]] = field(default_factory=dict)
    recording: int = -1

    @property
    def ways(self) -> int:
        """How many ways it goes, as far as is known."""
        return _dvm.count_ways(self.loop)

    def state(self) -> tuple[Any, ...]:
        """To compare with that of another time."""
        return self.ways, self.body.state()


@dataclass
class LoopHistory:
    """What recordings of a function have told of one of its loops.

    counts: of turns. reason, at: why it stays unrolled, and the line that says so.
    first: the recording that it was met in. ends_paths: unrolled it would be another path for each
        call, so that a path ends there.
    scope: the globals of its function, whose identity tells it from others of the same code.
    """

    begin: Location
    scope: dict[str, Any]
    first: int = 0
    counts: set[int] = field(default_factory=set)
    rolled: Rolled | None = None
    reason: Reason | None = None
    at: Location = ("", 0)
    ends_paths: bool = False

    @property
    def ways(self) -> int:
        """How many ways its turns go, as far as is known."""
        return 0 if self.rolled is None else self.rolled.ways

    @property
    def turns(self) -> dict[str, int]:
        """How many ran on the machine of numbers and small arrays, and how many were replayed."""
        state = {} if self.rolled is None else _dvm.loop_state(self.rolled.loop)
        return {
            "on_the_machine": state.get("turns_of_numbers", 0),
            "replayed": state.get("turns_replayed", 0),
        }

    @property
    def replayed_at(self) -> str:
        """The line that the machine has no instructions for; "" if it met none."""
        return "" if self.rolled is None else _dvm.loop_replayed_at(self.rolled.loop) or ""


@dataclass
class RecursionHistory:
    """What recordings of a function have told of one that calls itself.

    shapes: of its outermost activations, with all within. reason, at: why they are no steps.
    makes_arrays: whether it does more than what Python does as fast, object by object.
    """

    begin: Location
    shapes: set[int] = field(default_factory=set)
    makes_arrays: bool = False
    rolled: Rolled | None = None
    reason: Reason | None = None
    at: Location = ("", 0)

    @property
    def may_be_steps(self) -> bool:
        """Whether nothing is against it."""
        return self.reason is None and (self.makes_arrays or _dvm.stance() == "force_capture")

    @property
    def is_wanted(self) -> bool:
        """Whether its activations are steps: two calls have gone through it in different ways."""
        return self.may_be_steps and (self.rolled is not None or len(self.shapes) > 1)

    @property
    def ways(self) -> int:
        """How many ways its activations go, as far as is known."""
        return 0 if self.rolled is None else self.rolled.ways


class LoopHistories(dict[Any, LoopHistory]):
    """Those of one function, by `RecordedLoop.key`.

    recordings: how many have been lowered.
    recursions: those of functions that call themselves, by `Activation.key`.
    hopeless: those that end paths, by where they begin; parts of the function share them.
    """

    def __init__(self, hopeless: dict[Location, LoopHistory] | None = None) -> None:
        super().__init__()
        self.recordings = 0
        self.recursions: dict[Any, RecursionHistory] = {}
        self.hopeless = {} if hopeless is None else hopeless

    def meet(self, turns: RecordedLoop, begin: Location) -> LoopHistory:
        """What is known of a loop that a call has run."""
        if turns.key not in self:
            known = self[turns.key] = LoopHistory(
                begin, turns.function.__globals__, self.recordings
            )
            if (other := self.hopeless.get(begin)) is not None:
                known.reason, known.at, known.ends_paths = other.reason, other.at, True
        return self[turns.key]

    def meet_recursion(self, key: tuple[Any, ...]) -> RecursionHistory:
        """What is known of a recursive function that a call has run; first in `key` is its code."""
        code = key[0]
        if key not in self.recursions:
            self.recursions[key] = RecursionHistory((code.co_filename, code.co_firstlineno))
        return self.recursions[key]

    def changed(self, rolled: Rolled) -> None:
        """What its turns do is another thing: paths that hold the loop miss, activations, too."""
        _dvm.loop_changed(rolled.loop)
        for each in self.recursions.values():
            if each.rolled is not None:
                each.rolled.shapes.clear()

    def bodies(self) -> dict[int, LoopBody]:
        """What turns of the loops that were rolled do, by the ids of these."""
        return {id(each.rolled.loop): each.rolled.body for each in self.values() if each.rolled}


@dataclass
class Given:
    """An array that the loop was given: a variable or what it iterates over."""

    value: Tensor
    register: int
    private: bool
    version: int = -1  # of its memory behind the loop

    @property
    def is_the_callers(self) -> bool:
        """Whether it was given the very object that the program has."""
        return self.value.base is None and self.value.storage.register == self.register


def sources_of(value: Abstract) -> list[Abstract]:
    """What an iterator takes its items from, in the end."""
    value = resolve(value)
    if isinstance(value, IteratorValue):
        if value.source is None:
            return [value]
        return [base for part in value.source[1] for base in sources_of(part)]
    return [value]


def is_of_sizes(value: Abstract) -> bool:
    """Whether there are as many items as an array of the call has elements, and not always."""
    sources = [each for each in sources_of(value) if not _is_integer(each)]
    return bool(sources) and all(map(_has_open_length, sources))


def _is_integer(value: Abstract) -> bool:
    """As `enumerate` is given one, which is no source of items."""
    return isinstance(value, PLAIN) and (isinstance(value, Size) or type(value.object) is int)


def _has_open_length(source: Abstract) -> bool:
    if isinstance(source, RangeValue):
        parts = map(resolve, (source.start, source.stop, source.step))
        return any(isinstance(part, Size) and part.dim.constant is None for part in parts)
    return isinstance(source, Tensor) and not source.is_scalar and source.shape[0].constant is None


@dataclass
class Entry:
    """A loop that is rolled, where the program comes to it.

    values: of its variables. private: places of those whose arrays it must have to itself.
    source: what a `for` iterates over. apart: ids of objects of which all that the program has
        changed is among the variables.
    """

    turns: RecordedLoop
    body: LoopBody
    values: list[Abstract]
    private: set[int]
    source: IteratorValue | None
    apart: set[int]

    @property
    def bases(self) -> list[Abstract]:
        """What its items come from, in the end."""
        return [] if self.source is None else sources_of(self.source)

    def variable(self, place: int) -> tuple[str, Abstract]:
        """What it is called, and its value."""
        return called(self.turns.loop.variables[place]), self.values[place]
