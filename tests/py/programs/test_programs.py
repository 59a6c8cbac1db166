"""Compiled programs do what they do uncompiled, and are compiled as often as they must be."""

import pytest

from programs.registry import CALLS, Program, programs
from programs.running import run, shortfalls

# Programs that dvm does not compile, or not as often as it should, for now.
NOT_YET: tuple[str, ...] = (
    "statistics.describe",
    "statistics.standardize_columns",
    "statistics.moving_average",
    "statistics.trimmed_mean",
    "statistics.correlation_matrix",
    "statistics.bootstrap_interval",
    "signals.windowed_spectrum",
    "signals.fir_filter",
    "signals.smooth_channels",
    "signals.haar_transform",
    "signals.frame_features",
    "signals.normalize_peak",
)

each_program = pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)


@each_program
def test_compiled_it_does_the_same(program: Program) -> None:
    assert sum(1 for _ in program.calls()) == CALLS
    assert run(program).differences == []


@each_program
def test_it_is_compiled_once_per_outcome(program: Program) -> None:
    found = shortfalls(program)
    if program.name in NOT_YET:
        assert found, f"{program.name} is compiled now: remove it from NOT_YET"
    else:
        assert found == []
