"""Compiled programs do what they do uncompiled, and are compiled as often as they must be."""

import pytest

from programs.outcomes import outcomes
from programs.registry import CALLS, Program, programs
from programs.running import run, shortfalls

# Programs that dvm does not compile, or not as often as it should, for now.
NOT_YET: tuple[str, ...] = ()

# Programs with a result that differs from NumPy's, for now.
WRONG: tuple[str, ...] = ()

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
    found = run(program, first).differences
    if program.name in WRONG:
        assert found, f"{program.name} is right now: remove it from WRONG"
    else:
        assert found == []


@each_program
def test_it_is_compiled_once_per_outcome(program: Program) -> None:
    found = shortfalls(program)
    if program.name in NOT_YET:
        assert found, f"{program.name} is compiled now: remove it from NOT_YET"
    else:
        assert found == []
