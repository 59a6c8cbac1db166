"""Loops as people write them: what they give, how many captures they take, what runs them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import dvm
from dvm import _dvm
from loops.check import compare_on
from loops.people import PROGRAMS, smith_waterman

#: captures of 12 calls
MOST = {
    "clamped": 3,
    "hamming": 2,
    "hamming_by_place": 2,
    "checksum": 2,
    "crc16": 1,
    "nussinov": 1,
    "controlled": 1,
    "walked": 1,
    "n_body": 1,
    "settled": 3,
    "relaxed": 3,
    "lattice_boltzmann": 1,
    "leapfrog": 1,
}
#: of which all turns but the first ones are numbers'
ON_THE_MACHINE = ("clamped", "hamming", "hamming_by_place", "checksum", "crc16", "nussinov")


@pytest.mark.parametrize("program", [each for each in PROGRAMS if each.__name__ in MOST])
def test_loops_as_people_write_them(program: Callable[..., Any]) -> None:
    compiled = dvm.compile(program)
    make: Callable[[int], Any] = program.make  # type: ignore[attr-defined]
    for number in range(12):
        given = make(number)
        compare_on(program, compiled, lambda given=given: copy.deepcopy(given), f"call {number}")
    stats = compiled.stats
    assert stats.captures <= MOST[program.__name__], stats
    assert stats.hits >= 12 - MOST[program.__name__], stats
    if program.__name__ in ON_THE_MACHINE:
        turns = [loop.turns for loop in vars(compiled)["loops"].values() if loop.rolled]
        assert sum(each["replayed"] for each in turns) < 200, turns


def test_the_best_of_several_is_one_way_and_no_text_is_known_by_value() -> None:
    compiled = dvm.compile(smith_waterman)
    make: Callable[[int], Any] = smith_waterman.make  # type: ignore[attr-defined]
    for number in (0, 0, 1, 1, 2, 2, 0, 1):
        given = make(number)
        compare_on(smith_waterman, compiled, lambda given=given: copy.deepcopy(given), f"{number}")
    loops = vars(compiled)["loops"].values()
    assert all(loop.reason is None for loop in loops)
    assert sum(loop.ways for loop in loops) <= 14  # types of `best` and of the score, equal or not
    assert sum(loop.turns["on_the_machine"] for loop in loops) > 3000
    assert compiled.stats.captures <= 3
    steps = "".join(path["steps"] for path in _dvm.paths(compiled))
    assert "guard_value r0" not in steps
