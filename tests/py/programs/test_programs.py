"""Compiled programs do what they do uncompiled, and are compiled as often as they must be."""

import pytest

from programs.outcomes import outcomes
from programs.registry import CALLS, Program, programs
from programs.running import run, shortfalls

each_program = pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)


def test_there_are_sixty_with_thirty_calls_each() -> None:
    assert len({program.name for program in programs()}) == 60
    assert all(sum(1 for _ in program.calls()) == CALLS for program in programs())


@each_program
def test_the_expected_captures_are_its_outcomes(program: Program) -> None:
    assert outcomes(program) == program.captures


@each_program
@pytest.mark.parametrize("first", [0, 1], ids=["ordinary_first", "awkward_first"])
def test_compiled_it_does_the_same(program: Program, first: int) -> None:
    assert run(program, first).differences == []


@each_program
def test_it_is_compiled_once_per_outcome(program: Program) -> None:
    assert shortfalls(program) == []
