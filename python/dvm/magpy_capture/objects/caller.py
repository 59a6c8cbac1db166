"""Who runs what C code calls back: the way up from a meaning to the recorded bodies."""

from __future__ import annotations

from typing import Any, Protocol

from dvm.magpy_capture.values import Abstract


class Caller(Protocol):
    """Calls of what the program gave to C code, within the event that runs it."""

    def apply(
        self,
        function: Abstract,
        arguments: list[Abstract],
        named: dict[str, Abstract] | None = None,
    ) -> Abstract:
        """What a function gives, the body of which may have been recorded next."""

    def operated(self, kind: str, name: str, a: Abstract, b: Abstract) -> Abstract:
        """What an operator gives, of which methods in Python were recorded next."""

    def calls_back(self, function: Abstract) -> bool:
        """Whether the body that comes next is run by calling this."""

    def call_back(
        self, callee: Abstract, positional: list[Abstract], named: dict[str, Abstract]
    ) -> Abstract:
        """`callee(*positional, **named)`, of which the body was recorded next."""

    def begun(
        self, callee: Abstract, positional: list[Abstract], named: dict[str, Abstract], seen: Any
    ) -> Abstract:
        """The generator that a call makes, whose body waits for its first item.

        seen: the generator; None of one that C code makes.
        """

    def next_callback(self) -> Any:
        """The function whose body C code ran next, or None."""

    def assume(self, value: Abstract, seen: Any) -> None:
        """The value of the lowering is the recorded object."""

    def pass_by_body(self) -> bool:
        """Pass by the body that C code ran next; False where it changed what it did not make."""

    def pass_by_bodies(self) -> None:
        """Pass by all bodies that C code ran."""


__all__ = ["Caller"]
