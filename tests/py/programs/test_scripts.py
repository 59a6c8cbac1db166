"""The scripts of the benchmark, captured at once: they give and leave what plain calls do."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from benchmarks.scripts.programs import SCRIPTS

import dvm
from loops.check import compare_on


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts(name: str) -> None:
    script = SCRIPTS[name]
    compiled = dvm.compile(script.function)
    with np.errstate(all="warn"), dvm.stance("force_capture"):
        for number in range(3):
            given = script.arguments(number, script.small + number % 2)
            made = lambda given=given: copy.deepcopy(given)  # noqa: E731
            compare_on(script.function, compiled, made, f"call {number}")
