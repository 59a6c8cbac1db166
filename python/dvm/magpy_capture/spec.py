"""What a recording is lowered to: the steps of a path that the native core replays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Location = tuple[str, int]
NOWHERE: Location = ("", 0)

# One step of a replay over numbered registers: (name, operands ...); cpp/capture/steps.def lists
# them. Registers are written once.
Step = tuple[Any, ...]


class NotCapturable(Exception):
    """The recorded function does something this version does not compile.

    The function then runs uncompiled; `reason` and `at` (file, line) name what and where.
    """

    def __init__(self, reason: str, at: Location = NOWHERE) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


@dataclass
class PathSpec:
    """One path: guards, compiled segments, host operations and effects, in order of execution."""

    target: str = "cpu"
    numerics: str = "default"
    reason: str = ""
    reason_at: Location = NOWHERE
    steps: list[Step] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)  # of symbols, in the recorded call
