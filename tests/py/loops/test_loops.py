"""Programs with loops do compiled what they do plain, whatever the sizes and trip counts."""

from __future__ import annotations

import os

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.corners import CORNERS
from loops.generated import Writer, arguments, function_of
from loops.programs import PROGRAMS

#: how many written programs run; the nightly figure is DVM_PROGRAMS=5000
PROGRAMS_WRITTEN = int(os.environ.get("DVM_PROGRAMS", "120"))
COUNTS = (3, 4, 0, 1, 2, 7, 20, 5, 0, 13, 1, 30)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_of_any_count_does_what_it_does_plain(name: str) -> None:
    program = PROGRAMS[name]
    compiled = dvm.compile(program.function)
    random = np.random.default_rng(7)
    for number, count in enumerate(COUNTS):
        args = program.make(random, (5, 1, 17, 8, 2, 40)[number % 6], count)
        compare(program.function, compiled, args)
    if program.captures is not None:
        reasons = [f"{loop.reason} at {loop.at}" for loop in vars(compiled)["loops"].values()]
        stats = compiled.stats
        assert stats.captures <= program.captures + 1, (stats, reasons)  # and the first, unrolled
        assert stats.fallbacks == 0, (stats, compiled.fallback_reasons)


@pytest.mark.parametrize("name", CORNERS)
def test_a_corner_of_loops_is_as_in_python(name: str) -> None:
    function, make = CORNERS[name]
    compiled = dvm.compile(function)
    for seed, count in enumerate((3, 3, 0, 1, 2, 3, 5, 8, 0, 1)):
        compare(function, compiled, make(np.random.default_rng(seed), count))


@pytest.mark.parametrize("part", range(4))
def test_written_programs_do_compiled_what_they_do_plain(part: int) -> None:
    for seed in range(part, PROGRAMS_WRITTEN, 4):
        source = Writer(seed).source()
        function = function_of(source, seed)
        compiled = dvm.compile(function)
        for number in range(6):
            with np.errstate(all="ignore"):
                compare(function, compiled, arguments(seed, number), source)
