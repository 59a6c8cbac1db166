"""What a script is: a function, what it is called with, and how much of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Random = np.random.Generator


class Script(NamedTuple):
    function: Callable[..., Any]
    make: Callable[[Random, int], tuple[Any, ...]]
    size: int
    small: int  # of which a call is quick

    def arguments(self, number: int, size: int) -> tuple[Any, ...]:
        """Those of a call: of each number others."""
        return self.make(np.random.default_rng(number), size)


SCRIPTS: dict[str, Script] = {}


def script(size: int, small: int, make: Callable[[Random, int], tuple[Any, ...]]) -> Any:
    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        SCRIPTS[function.__name__] = Script(function, make, size, small)
        return function

    return note


def letters(r: Random, alphabet: str, length: int) -> str:
    return "".join(alphabet[k] for k in r.integers(0, len(alphabet), length))
