"""Who decides which calls of recursive functions are steps: what the walk asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dvm.magpy_capture.values import Abstract


class RecursionPolicy(Protocol):
    """Functions that call themselves, whose activations are lowered once for all calls."""

    skipped_events: int  # that are not lowered one by one
    given_up: set[int]  # first events of activations that turned out to be no steps
    handed: set[int]  # nodes of what is given to such steps and not looked at otherwise

    def invoke(self) -> None:
        """The walk has come to an activation: where it is a step, its events are over."""

    def invoke_all(self) -> Abstract | None:
        """What the path returns, where all of it is such a step."""

    def take_returned(self) -> Abstract | None:
        """What the activation gives of which the walk has come to the end, if it was a step."""

    def need(self, number: int) -> None:
        """What an event made is wanted: where that lies within such a step, it cannot be."""


__all__ = ["RecursionPolicy"]
