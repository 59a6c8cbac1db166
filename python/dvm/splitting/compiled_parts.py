"""A compiled function in parts: which of them are compiled, and what becomes of those refused."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from dvm import _dvm, splitting


class Held:
    """A part that stays as it is, but for statements that are moved out of it and compiled."""

    def __init__(self, function: types.FunctionType, lines: set[int]) -> None:
        self.function = function
        self.flow = splitting.Flow(function.__code__)
        self.lines = lines
        self.moved: dict[tuple[int, int], Any] = {}  # by begin and end, as they are now
        self.left: set[tuple[int, int]] = set()  # what is not worth a call

    def outline(
        self, compile_part: Callable[[types.FunctionType], Any]
    ) -> tuple[types.FunctionType, int]:
        """The part with calls of all that none of its lines is in; and what `with_calls` says."""
        pieces = splitting.pieces_within(self.flow, self.lines, self.left)
        before, self.moved = self.moved, {}
        for piece in pieces:
            place = (piece.begin, piece.end)
            made = before.get(place)
            if made is None:
                made = compile_part(splitting.piece_function(self.function, self.flow, piece))
            self.moved[place] = made
        return splitting.with_calls(
            self.function, self.flow, list(zip(pieces, self.moved.values(), strict=True))
        )


class Cut:
    """A function that is cut around lines at which it cannot be compiled.

    What is before and behind runs as functions of their own, which may be cut again. What is moved
    out of the part between may not: where it is refused, it moves back in part. So exceptions that
    leave it lead through one frame.
    """

    def __init__(
        self,
        compiled: _dvm.Compiled[..., Any],
        lines: Iterable[int],
        compile_function: Callable[..., Any],
    ) -> None:
        function: Any = compiled.__wrapped__
        self.compiled = compiled
        self.code = function.__code__
        self.compile_function = compile_function
        self.runs: list[Any] = []  # compiled functions, and one Held
        lines = set(lines) & splitting.own_lines(self.code)
        flow = splitting.Flow(self.code)
        cuts = splitting.pieces_around(flow, lines) or [(flow.first, flow.last)]
        for begin, end in cuts if lines else ():
            part = splitting.part_of(function, flow, begin, end)
            if lines & splitting.own_lines(part.__code__):
                self.held = Held(part, lines)
                self.runs.append(self.held)
            else:
                self.runs.append(self._compile(part))
        self._install()

    def refuse(self, lines: Iterable[int]) -> None:
        """Something that was moved out is refused because of these lines, if they are its own."""
        more = set(lines) & splitting.own_lines(self.held.function.__code__) - self.held.lines
        if more and self.compiled.cut is self:
            self.held.lines |= more
            self._install()

    def has(self, moved: Any) -> bool:
        """Whether it is still a part; a call that began before may have it yet."""
        return any(part is moved for part in self.held.moved.values())

    def leave(self, moved: Any) -> None:
        """A part that was moved out moves back: a call of it does not pay."""
        places = {place for place, part in self.held.moved.items() if part is moved}
        if places and self.compiled.cut is self:
            self.held.left |= places
            self._install()

    def _compile(self, part: types.FunctionType) -> Any:
        there = splitting.own_lines(part.__code__)
        name = f"{self.compiled.label}, lines {min(there)} to {max(there)}"
        made = self.compile_function(part, name=name, **vars(self.compiled.options))
        made.loops = type(self.compiled.loops)(self.compiled.loops.hopeless)
        return made

    def _compile_moved(self, part: types.FunctionType) -> Any:
        made = self._compile(part)
        made.moved_from = self
        return made

    def _install(self) -> None:
        made: list[Any] = []
        parts: list[Any] = []
        for run in self.runs:
            if isinstance(run, Held):
                made.append(run.outline(self._compile_moved))
                parts += [made[-1][0], *run.moved.values()]
            else:
                made.append((run, 0))
                parts.append(run)
        self.compiled.cut = self
        self.compiled.parts = tuple(parts) if len(parts) > 1 else None
        _dvm.set_parts(self.compiled, (splitting.End, *made) if len(parts) > 1 else None)


__all__ = ["Cut"]
