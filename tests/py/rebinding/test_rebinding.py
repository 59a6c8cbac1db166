"""What a path reaches is replaced or changed between its calls: no answer may be an old one.

DVM_TEST_COUNT=20000 runs so many programs.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from rebinding.programs import Program
from whole import how_many

COUNT = how_many(120, 2000)
PARTS = 8
CALLS = 8


def answer_of(function: Any, program: Program, x: Any) -> Any:
    try:
        return np.asarray(function(x, *program.arguments.values())).tolist()
    except Exception as error:
        return type(error)


def run(seed: int) -> tuple[int, int]:
    """Compare all calls; how many repeated ones there were, and how many of them were hits."""
    program = Program(seed)
    repeated = hits = 0
    for call in range(CALLS):
        x = np.arange(3.0) + call
        history = []
        for again in range(2):
            before = program.compiled.stats
            wanted = answer_of(program.plain, program, x)
            given = answer_of(program.compiled, program, x)
            history.append(given)
            assert given == wanted, f"seed {seed}, call {call}.{again}:\n{program.text}"
            after = program.compiled.stats
            if again and not isinstance(given, type):
                repeated += 1
                hits += after.hits > before.hits
        program.change()
    return repeated, hits


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_replaced_between_calls_is_met(part: int) -> None:
    repeated = hits = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(part, COUNT, PARTS):
            more = run(seed)
            repeated, hits = repeated + more[0], hits + more[1]
    assert hits >= 0.9 * repeated, f"{hits} of {repeated} repeated calls were replayed"
