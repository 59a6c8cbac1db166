"""Who knows what an operator means of any values: the way up from a meaning to the others."""

from __future__ import annotations

from typing import Any, Protocol

from dvm.magpy_capture.values import Abstract


class Operators(Protocol):
    """What instructions do with values, where a function does the same.

    seen: what the program got in the recorded call.
    """

    def binary(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        """`a + b` and its kin."""

    def combined(self, function: Abstract, a: Abstract, b: Abstract) -> Abstract:
        """`function(a, b)`, which may be an operator's own function."""

    def attribute(self, base: Abstract, name: str, seen: Any) -> Abstract:
        """`base.name`."""

    def subscript(self, base: Abstract, key: Abstract, seen: Any) -> Abstract:
        """`base[key]`."""

    def store_subscript(self, base: Abstract, key: Abstract, value: Abstract) -> None:
        """`base[key] = value`."""


__all__ = ["Operators"]
