"""How much is tried: samples in `make test`, all with DVM_TEST_WHOLE=1, as `make test-long` has it.

A case of its own code is always tried. Only where many cases run the same code (seeds of a
generator, dtypes that share a row, simulated targets that differ by the number of their cores) do
some of them stand for the others. DVM_TEST_COUNT=n is for whoever changed what a generator tries:
the test of it makes n programs, whatever is made elsewhere.
"""

import os
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")

WHOLE = bool(os.environ.get("DVM_TEST_WHOLE"))


def some(cases: Iterable[T], count: int) -> list[T]:
    """`count` of the cases, spread over all of them."""
    every = list(cases)
    if WHOLE or len(every) <= count:
        return every
    return [every[k * len(every) // count] for k in range(count)]


def by_turns(cases: Iterable[T], turn: int, count: int = 1) -> list[T]:
    """`count` of the cases, spread over all of them; others for the next turn."""
    every = list(cases)
    if WHOLE or len(every) <= count:
        return every
    return [every[(turn + k * len(every) // count) % len(every)] for k in range(count)]


def alternating(cases: Iterable[T], ways: Iterable[U]) -> list[tuple[T, U]]:
    """Each case one of the ways, the next case the next one."""
    every, each = list(cases), list(ways)
    if WHOLE:
        return [(case, way) for case in every for way in each]
    return [(case, each[k % len(each)]) for k, case in enumerate(every)]


def how_many(sample: int, whole: int) -> int:
    """How many cases a generator makes."""
    return int(os.environ.get("DVM_TEST_COUNT", whole if WHOLE else sample))
