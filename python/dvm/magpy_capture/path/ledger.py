"""What the program does that others see: each change and output, in the order in which it does it.

Attributes and containers of the caller's keep their own changes (values.py), with the number of
each in this order; what has no value to keep it is entered here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from dvm.magpy_capture.path.layer import PathPart
from dvm.magpy_capture.values import Abstract, next_order

Scope = Literal["variable", "cell", "attribute", "context"]


@dataclass(eq=False)
class Stored:
    """A variable of a module or a context, a cell, an attribute of a class or a function."""

    scope: Scope
    holder: Any
    name: str
    value: Abstract
    order: int = field(default_factory=next_order)


@dataclass(eq=False)
class Called:
    """A call that is made behind the commit: an output, or a look-up that a cache counts.

    arguments: values, or registers.
    """

    function: Any
    arguments: list[Any]
    names: tuple[str, ...]
    order: int = field(default_factory=next_order)


class Ledger(PathPart):
    """The entries of one path."""

    needs = ""

    def __init__(self) -> None:
        self.stores: dict[tuple[Scope, int, str], Stored] = {}  # of each place the last
        self.called: list[Called] = []

    def store(self, scope: Scope, holder: Any, name: str, value: Abstract) -> None:
        self.stores[scope, id(holder), name] = Stored(scope, holder, name, value)

    def forget(self, scope: Scope, holder: Any, name: str) -> None:
        """What was there before the path is there again."""
        del self.stores[scope, id(holder), name]

    def call(self, function: Any, arguments: list[Any], names: tuple[str, ...] = ()) -> None:
        self.called.append(Called(function, arguments, names))

    def stored(self, scope: Scope, holder: Any, name: str) -> Stored | None:
        """What the program has stored there, if it has."""
        return self.stores.get((scope, id(holder), name))

    def changed_attributes(self) -> list[Stored]:
        """Those of classes and functions."""
        return [each for each in self.stores.values() if each.scope == "attribute"]


__all__ = ["Called", "Ledger", "Stored"]
