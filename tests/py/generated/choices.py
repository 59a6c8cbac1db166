"""Where the generator's decisions come from.

One generator serves two masters: Hypothesis, which shrinks by its own choice sequence, and a plain
seeded generator, which is ten times faster and names every program by one integer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Choices:
    """Decisions, all made of one primitive: an integer of a range."""

    def __init__(self, integer: Callable[[int, int], int]) -> None:
        self.integer = integer

    def pick(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        """Return True in about `percent` of a hundred; Hypothesis shrinks it towards False."""
        return self.integer(0, 99) >= 100 - percent

    def weighted(self, options: dict[T, int]) -> T:
        """Return a key, as often as its weight says."""
        at = self.integer(0, sum(options.values()) - 1)
        for option, weight in options.items():
            at -= weight
            if at < 0:
                return option
        raise AssertionError


def seeded(seed: object) -> Choices:
    return Choices(random.Random(str(seed)).randint)


def drawn(draw: Any) -> Choices:
    """Return choices drawn by Hypothesis; `draw` is that of `st.composite`."""
    from hypothesis import strategies as st

    return Choices(lambda low, high: draw(st.integers(low, high)))
