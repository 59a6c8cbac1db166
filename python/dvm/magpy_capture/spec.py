"""What a recording is lowered to: the description of a path that the native core compiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dvm import _dvm

# Where a call finds an object:
# ("argument", position) | ("variable", dict, name) | ("cell", cell) | ("code", function)
Source = tuple[Any, ...]
Location = tuple[str, int]
NOWHERE: Location = ("", 0)


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
    """One path: its graph, where inputs come from, what must hold, how results are rebuilt."""

    target: str = "cpu"
    numerics: str = "default"
    reason: str = ""
    reason_at: Location = NOWHERE
    graph: _dvm.Graph | None = None
    tensors: list[Source] = field(default_factory=list)
    scalars: list[Source] = field(default_factory=list)
    callees: list[Any] = field(default_factory=list)
    identity_guards: list[tuple[Any, ...]] = field(default_factory=list)
    signature_guards: list[tuple[Source, Any]] = field(default_factory=list)
    value_guards: list[tuple[Source, Any]] = field(default_factory=list)
    mocks: list[tuple[str, int]] = field(default_factory=list)
    returned: list[Source] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
