"""Who decides which loops are one body: what the walk and the values ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dvm.magpy_capture.path.spec import NotCapturable
    from dvm.magpy_capture.values import Abstract


class LoopPolicy(Protocol):
    """Loops that are lowered once for all counts of their turns."""

    rolled_events: int  # that are not lowered one by one
    given_up: set[int]  # first events of loops that turned out not to roll

    @property
    def has_rolled(self) -> bool:
        """Whether there is one before here."""

    def is_rolled_over(self, iterator: int, base: Abstract) -> bool:
        """Whether a loop over that iterator is rolled: nothing is pulled from it."""

    def need(self, number: int) -> None:
        """What an event made is wanted: where that lies within a rolled loop, it cannot be."""

    def give_up_all(self, refusal: NotCapturable) -> None:
        """All is lowered again without rolling the loops so far."""

    def check_hopes(self, enter: int | None = None) -> None:
        """A loop that each call goes through in a new way ends the path: the one there, or any."""

    def let_go(self) -> None:
        """The path is at its end: what the turn of a loop hands on it does not set itself."""


__all__ = ["LoopPolicy"]
