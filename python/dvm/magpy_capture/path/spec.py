"""What a recording is lowered to: the steps of a path that the native core replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dvm.reasons import Reason, Row

Location = tuple[str, int]
NOWHERE: Location = ("", 0)

# One step of a replay over numbered registers: (name, operands ...); cpp/capture/path/steps.def
# lists them. Registers are written once.
Step = tuple[Any, ...]


class Located(tuple[Any, ...]):
    """A step that knows the line of the program it was emitted for."""

    at: Location = NOWHERE


class Steps(list[Step]):
    """Steps under construction; `at` is the line that the ones appended now belong to."""

    at: Location = NOWHERE

    def append(self, step: Step) -> None:
        located = Located(step)
        located.at = self.at
        super().append(located)

    def replace(self, index: int, step: Step) -> None:
        """Put a step in the place, and the line, of another."""
        located = Located(step)
        located.at = getattr(self[index], "at", NOWHERE)
        self[index] = located

    def move_to_end(self, index: int) -> None:
        super().append(self.pop(index))

    def with_lines(self) -> list[Step]:
        """The steps as the native core takes them: each change of line as a step `at`."""
        result: list[Step] = []
        at = NOWHERE
        for step in self:
            here = getattr(step, "at", NOWHERE)
            if here != at:
                result.append(("at", *here))
                at = here
            result.append(tuple(step))
        return result


class BodyRaised(Exception):
    """An exception left a recorded body that C code ran, and so leaves the C code, too."""


class HandedOn(Exception):
    """Something of the caller's that goes to a step which looks at it itself, by its register."""

    def __init__(self, register: int) -> None:
        super().__init__(register)
        self.register = register


class OutOfTime(Exception):
    """Turning the recording into a path takes longer than it may: it is given up.

    share: of the recording that was done.
    """

    share = 1.0


class NotCapturable(Exception):
    """The recorded function does something this version does not compile.

    The function then runs uncompiled; `reason` and `at` (file, line) name what and where.
    """

    def __init__(self, reason: Reason, at: Location = NOWHERE) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at

    def place(self, at: Location) -> None:
        """It is of that line, if it is not said yet of which."""
        if self.at == NOWHERE:
            self.at = at


def refuse(row: Row, *parameters: object) -> NotCapturable:
    """What to raise for a reason of that row; it is of the line that is being lowered."""
    return NotCapturable(row(*parameters))


@dataclass(frozen=True)
class Example:
    """The call that is saved: its arguments, by slot, and those of them, by name, that stay."""

    arguments: Sequence[tuple[str, Any]]
    pinned: frozenset[str] = frozenset()


@dataclass
class PathSpec:
    """One path: guards, compiled segments, host operations and effects, in order of execution.

    reason, reason_at: why it ends in a fallback, if it does, and where.
    refused_lines: lines at one of which the function itself was then, if they are its own.
    steps_before_loop: the steps, but for those of the loop in which it ends in a fallback.
    example: the call that is saved, of a path for a file (settled.py).
    """

    target: str = "cpu"
    numerics: str = "default"
    precision: str = "highest"
    passes: Any = None  # a _dvm.Passes
    reason: str = ""
    reason_at: Location = NOWHERE
    refused_lines: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    steps_before_loop: list[Step] | None = None
    example: Example | None = None
    sizes: dict[str, int] = field(default_factory=dict)  # of symbols, in the recorded call

    @property
    def recorded(self) -> dict[str, dict[str, int]]:
        """The sizes that its graphs had, by their text."""
        return {str(step[1]): self.sizes for step in self.steps if step[0] == "run"}

    @property
    def computes(self) -> bool:
        """Whether it has more than single objects to do: arrays, or turns of a loop."""
        return any(step[0] in ("run", "loop", "invoke") for step in self.steps)
